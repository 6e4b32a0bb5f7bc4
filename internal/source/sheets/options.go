package sheets

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Options configure how to read a table.
type Options struct {
	// Format is the file's format, named as its extension without the dot: csv, tsv, jsonl, xlsx, parquet, arff, npy,
	// npz or mat. Empty means the one of the file's name or, where there is no name, of its first bytes.
	Format string
	// Delimiter separates the fields of a CSV file; a blank stands for any number
	// of blanks and tabs. 0 means the one of comma, semicolon, tab and bar that the file suggests.
	Delimiter byte
	// Decimal is the decimal mark of the numbers in a CSV file, a point or a
	// comma; 0 means the one that the file suggests, for each column.
	Decimal byte
	// Thousands separates groups of three digits in the numbers of a CSV file:
	// a comma, point, blank, apostrophe or underscore; 0 means what the file suggests.
	Thousands byte
	// Encoding is that of a text file: utf-8, utf-16le, utf-16be, latin1 or windows-1252. Empty means that of its
	// byte-order mark, or else UTF-8, or in a CSV file that is not UTF-8 what it suggests.
	Encoding string
	// Censored is how values of which only a limit is known, such as <0.5, are read in CSV files and workbooks.
	Censored cells.Censored
	// Label, unless nil, reports whether a column holds labels. No column marks those that are
	// censored, because no model may see it; dataset.Origin has them.
	Label func(column string) bool
	// History, unless nil, returns what is known of a column of labels that began in another file; nil if nothing is.
	History func(column string) *dataset.History
	// Lod are limits of detection by column of labels, or under an empty name that of all others. A label such as <LOD or
	// n.d. is one below the limit. Without a limit, <LOD is an error.
	Lod map[string]float64
	// Header determines whether the first row of a CSV file holds the column names.
	// Without a header the columns are named column0, column1, …
	Header Header
	// Kinds declares the kinds of columns by name, instead of the kinds that their values suggest. A text column keeps
	// the spelling of its values, such as ids with leading zeros.
	Kinds map[string]dataset.Kind
	// KindOf, unless nil, declares the kinds of columns that Kinds does not name, such
	// as those whose names have a pattern. It returns false where it declares none.
	KindOf func(column string) (dataset.Kind, bool)
	// ID names the column with the ids of the rows. It is text, and a missing or duplicate id is an error.
	ID string
	// RowNames is a column that messages about cells name their rows by, besides ID. Nothing is demanded of its
	// values, and the table need not have it.
	RowNames string
	// Ignore names columns to skip.
	Ignore []string
	// Lenient lets Ignore and Kinds name columns that the table does not have, for options that several tables share.
	Lenient bool
	// Missing lists the spellings of a missing value, besides the empty one;
	// nil means those of DefaultMissing, or ? in an ARFF file.
	Missing []string
	// Setting, unless nil, is what messages call an option, with a value if one is given, as in censored="drop" for the
	// field Censored; empty means that the user cannot set it. Missing is MissingMarks there. Nil means the flags of the
	// command line.
	Setting func(field string, value ...string) string
	// Choice drops rows while a text file is read; nil keeps all.
	Choice *Choice
	// Array names the array, or the sheet of a workbook, to read in a file with several. Empty means the only one.
	Array string
	// MaxMemory limits the bytes that reading may take: the table or the matrix, and whatever is held besides it
	// meanwhile. A reader that needs more reports how much (ErrMemory) before it allocates it. 0 means no limit. Garbage
	// not yet collected does not count.
	MaxMemory int64
	// Overflow, unless nil, is a file that takes the rows of tables that are large for MaxMemory, so that a table may
	// exceed it. The table is used as any other until the file is closed. Arrays (.npy, .npz, .mat) do not go there.
	Overflow *rowfile.Store
}

// DeclaredKind returns the declared kind of a column, if there is one.
func DeclaredKind(o Options, name string) (dataset.Kind, bool) {
	if o.ID != "" && name == o.ID {
		return dataset.KindText, true
	}
	kind, declared := o.Kinds[name]
	if !declared && o.KindOf != nil {
		if kind, declared = o.KindOf(name); !declared {
			kind = 0
		}
	}
	return kind, declared
}

// setting is what messages call an option, with a value if one is given.
func (o Options) setting(field string, value ...string) string {
	if o.Setting != nil {
		return o.Setting(field, value...)
	}
	return options.Flag(field, value...)
}

// lodOf returns the limit of detection of a column of labels; NaN if it is not known.
func (o Options) lodOf(name string) float64 {
	for _, name := range []string{name, ""} {
		if limit, known := o.Lod[name]; known {
			return limit
		}
	}
	return math.NaN()
}

// ParseLod reads limits of detection: one number for all labels, or a number for each of several columns, as in
// a=0.5,b=2.
func ParseLod(text string) (map[string]float64, error) {
	limits := map[string]float64{}
	for _, item := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		at := strings.LastIndexByte(item, '=') + 1
		limit, err := strconv.ParseFloat(strings.TrimSpace(item[at:]), 64)
		name := strings.TrimSpace(item[:max(0, at-1)])
		if _, twice := limits[name]; twice || err != nil || math.IsNaN(limit) || math.IsInf(limit, 0) { // 0,5 is 0 and 5
			return nil, fmt.Errorf("must be a number such as 0.5, or a number for each column as in a=0.5,b=2, not %q", text)
		}
		limits[name] = limit
	}
	return limits, nil
}

// WithLabels returns the options with columns of labels, which are numbers. A table may lack them.
func (o Options) WithLabels(columns []string) Options {
	o.Label = func(column string) bool { return slices.Contains(columns, column) }
	o.KindOf = func(column string) (dataset.Kind, bool) { return dataset.KindNumeric, o.Label(column) }
	return o
}

// Header determines whether a CSV file starts with the names of its columns.
type Header uint8

const (
	// HeaderGuess takes the first row as a header if one of its fields is not a number although the rest of the column
	// is numeric, or if it has no number at all, or if it counts 0, 1, 2, …
	HeaderGuess Header = iota
	HeaderPresent
	HeaderAbsent
)

// DefaultMissing returns the spellings of a missing value in a CSV file.
func DefaultMissing() []string {
	return []string{"NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None", "<NA>", "?"}
}

// MissingSet returns the spellings as a set, or otherwise if the options have none.
func MissingSet(o Options, otherwise []string) map[string]bool {
	spellings := o.Missing
	if spellings == nil {
		spellings = otherwise
	}
	set := map[string]bool{"": true}
	for _, s := range spellings {
		set[s] = true
	}
	return set
}

// IgnoredSet returns the columns to skip as a set.
func IgnoredSet(o Options) map[string]bool { return cells.SetOf(o.Ignore) }

// CheckNames rejects options for columns that the table does not have: a misspelt name would silently have no effect.
func CheckNames(o Options, names []string) error {
	var asked []string
	if !o.Lenient {
		asked = slices.AppendSeq(slices.Clone(o.Ignore), maps.Keys(o.Kinds))
	}
	if o.ID != "" {
		asked = append(asked, o.ID)
		if slices.Contains(o.Ignore, o.ID) {
			return &Error{Kind: ErrColumn, Name: o.ID, Detail: o.ID + " is the id column, but also ignored",
				Advice: "name another column, or do not ignore it"}
		}
	}
	slices.Sort(asked)
	known := cells.SetOf(names)
	for _, name := range asked {
		if !known[name] {
			return &Error{Kind: ErrColumn, Name: name, Detail: name, Advice: words.DidYouMean(name,
				names[:min(len(names), 500)]) + "the columns are " + ShortList(names)}
		}
	}
	return nil
}

func ShortList(names []string) string {
	const most = 30
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// checkNumerals rejects marks that numbers cannot have.
func (o Options) checkNumerals() error {
	refuse := func(mark byte, what, advice string) error {
		return &Error{Kind: ErrFormat, Detail: fmt.Sprintf("%q cannot %s", mark, what), Advice: advice}
	}
	switch {
	case !slices.Contains([]byte{0, '.', ','}, o.Decimal):
		return refuse(o.Decimal, "be the decimal mark", "use a point or a comma")
	case !slices.Contains([]byte{0, ',', '.', ' ', '\'', '_'}, o.Thousands):
		return refuse(o.Thousands, "separate thousands", "use a comma, a point, a blank, an apostrophe or an underscore")
	case o.Thousands != 0 && o.Thousands == o.Decimal:
		return refuse(o.Decimal, "be the decimal mark and separate thousands, too", "declare one of them differently")
	}
	return nil
}
