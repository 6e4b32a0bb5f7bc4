package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
)

// Options configure how to read a table.
type Options struct {
	// Delimiter separates the fields of a CSV file. 0 means a comma, or a tab
	// in files named .tsv or .tab.
	Delimiter byte
	// Header says whether the first row of a CSV file holds the column names.
	// Without a header the columns are named column0, column1, …
	Header Header
	// Kinds declares the kinds of columns by name, instead of the kinds that
	// their values suggest. A text column keeps the spelling of its values,
	// such as ids with leading zeros.
	Kinds map[string]dataset.Kind
	// ID names the column with the ids of the rows. It is text, and a missing
	// or duplicate id is an error.
	ID string
	// Ignore names columns to skip.
	Ignore []string
	// Missing lists the spellings of a missing value, besides the empty one;
	// nil means those of DefaultMissing, or ? in an ARFF file.
	Missing []string
	// Choice drops rows while a text file is read; nil keeps all.
	Choice *Choice
	// Array names the array to read in a file with several. Empty means the
	// only one.
	Array string
	// MaxMemory limits the bytes that reading may take: the table or the
	// matrix, and whatever is held besides it meanwhile. A reader that needs
	// more reports how much (ErrMemory) before it allocates it. 0 means no
	// limit. Garbage not yet collected does not count.
	MaxMemory int64
}

// kind returns the declared kind of a column, if there is one.
func (o Options) kind(name string) (dataset.Kind, bool) {
	if o.ID != "" && name == o.ID {
		return dataset.KindText, true
	}
	kind, declared := o.Kinds[name]
	return kind, declared
}

// Header says whether a CSV file starts with the names of its columns.
type Header uint8

const (
	// HeaderGuess takes the first row as a header if one of its fields is not a
	// number although the rest of the column is numeric, or if it has no number
	// at all, or if it counts 0, 1, 2, …
	HeaderGuess Header = iota
	HeaderPresent
	HeaderAbsent
)

// DefaultMissing returns the spellings of a missing value in a CSV file.
func DefaultMissing() []string {
	return []string{"NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None", "<NA>", "?"}
}

// delimiter refuses characters that cannot separate fields: parts of numbers
// and words, quotes, line ends, and the blank, which is ignored next to a
// field.
func (o Options) delimiter() (byte, error) {
	d := o.Delimiter
	if d == 0 {
		return ',', nil
	}
	if d >= utf8.RuneSelf || unicode.IsLetter(rune(d)) || unicode.IsDigit(rune(d)) || strings.IndexByte("\"\r\n .+-", d) >= 0 {
		return 0, &Error{Kind: ErrFormat, Detail: fmt.Sprintf("%q cannot be the delimiter", d), Advice: "use a comma, semicolon, tab or bar"}
	}
	return d, nil
}

// missingSet returns the spellings as a set, or otherwise if the options have none.
func (o Options) missingSet(otherwise []string) map[string]bool {
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

// check refuses options for columns that the table does not have: a misspelt
// name would silently have no effect.
func (o Options) check(names []string) error {
	var asked []string
	asked = append(asked, o.Ignore...)
	for name := range o.Kinds {
		asked = append(asked, name)
	}
	if o.ID != "" {
		asked = append(asked, o.ID)
		if slices.Contains(o.Ignore, o.ID) {
			return &Error{Kind: ErrColumn, Name: o.ID, Detail: o.ID + " is the id column, but also ignored", Advice: "name another column, or do not ignore it"}
		}
	}
	slices.Sort(asked)
	for _, name := range asked {
		if !slices.Contains(names, name) {
			return &Error{Kind: ErrColumn, Name: name, Detail: name, Advice: "the columns are " + shortList(names)}
		}
	}
	return nil
}

func shortList(names []string) string {
	const most = 30
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
