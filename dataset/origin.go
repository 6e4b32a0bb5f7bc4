package dataset

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Style is how a text file with separated fields is written.
type Style struct {
	Delimiter byte     // between fields; 0 if there are none to separate
	Decimal   byte     // the decimal mark; 0 if no number tells
	Thousands byte     // between groups of three digits; 0 if digits are not grouped
	Encoding  string   // empty for that of the byte-order mark, or UTF-8
	CRLF      bool     // lines end as in files of Windows
	Mark      bool     // the text starts with a byte-order mark
	Unnamed   []int    // columns, from 0, that have no name in the header
	Units     []string // the second line of the file, if it has the units of the columns
}

// Origin is what the reader of a file knows about a table besides its values.
type Origin struct {
	Style
	Headless bool     // the file has no line with the names of the columns
	Stored   bool     // numbers are stored as programs write them, besides those that people typed as text
	Notes    []string // how the file is written, and what was assumed about it
	Warnings []string // cells that are taken for something else than they say
	Lines    Lines

	// Censored are the labels of which only a limit is known, by column and row: -1 below the value, 1 above it.
	Censored map[string]map[int]int8
}

// MarkCensored adds the labels of a column of which only a limit is known.
func (o *Origin) MarkCensored(column string, sides map[int]int8) {
	if o.Censored == nil {
		o.Censored = map[string]map[int]int8{}
	}
	o.Censored[column] = sides
}

// Lines are the lines of a file that the rows of a table start on.
type Lines struct {
	breaks []lineBreak
	rows   int
	next   int  // line after that of the last row
	lost   bool // there are too many breaks
}

// lineBreak says that the rows from one on follow each other line by line.
type lineBreak struct{ row, line int }

// mostBreaks bounds the memory that Lines takes: a table may have line ends in every row.
const mostBreaks = 1 << 16

// Add adds a row that starts on a line.
func (l *Lines) Add(line int) {
	if line != l.next {
		if len(l.breaks) == mostBreaks {
			l.lost = true
		} else {
			l.breaks = append(l.breaks, lineBreak{l.rows, line})
		}
	}
	l.next = line + 1
	l.rows++
}

// Of returns the line of a row, from 1; 0 if it is unknown.
func (l *Lines) Of(row int) int {
	if l.lost || row < 0 || row >= l.rows {
		return 0
	}
	after := sort.Search(len(l.breaks), func(i int) bool { return l.breaks[i].row > row })
	if after == 0 {
		return 0
	}
	from := l.breaks[after-1]
	return from.line + row - from.row
}

// Origin returns where the table comes from. It is empty for a table that no file holds.
func (t *Table) Origin() Origin {
	if t == nil || t.origin == nil {
		return Origin{}
	}
	return *t.origin
}

// SetOrigin says where the table comes from.
func (t *Table) SetOrigin(o Origin) { t.origin = &o }

// WrittenLike makes the table one that is written as another one was: with the same separator of
// fields, decimal mark and encoding, as far as writers keep it.
func (t *Table) WrittenLike(other Style) *Table {
	t.origin = &Origin{Style: Style{Delimiter: other.Delimiter, Decimal: other.Decimal, Mark: other.Mark,
		Encoding: other.Encoding}}
	return t
}

// Place is what messages call a row: its line in the file and its id, as far as there are such.
// A table without lines counts its rows from 0.
func (t *Table) Place(row int, id string) string {
	place := fmt.Sprintf("row %d (from 0", row)
	separator := ", "
	if t.origin != nil && t.origin.Lines.Of(row) > 0 {
		place, separator = fmt.Sprintf("line %d", t.origin.Lines.Of(row)), " ("
	}
	name := ""
	if id != "" && t.Has(id) {
		name = t.columns[t.index[id]].Format(row)
	}
	switch {
	case name != "":
		return place + separator + "id " + name + ")"
	case separator == ", ":
		return place + ")"
	}
	return place
}

// Places lists the first of some rows as Place does.
func (t *Table) Places(rows []int, id string) []string {
	const most = 5
	list := make([]string, 0, most+1)
	for _, row := range rows[:min(len(rows), most)] {
		list = append(list, t.Place(row, id))
	}
	if len(rows) > most {
		list = append(list, "…")
	}
	return list
}

// CensoredColumn is the name of the column that marks the values of another one of which only a
// limit is known: -1 where the value is below it, 1 where it is above, 0 elsewhere.
func CensoredColumn(name string) string { return name + " censored" }

// Marked returns a table that has a column of that name, which says that nothing is
// censored, if it has the column that it marks but not the marks themselves.
func (t *Table) Marked(name string) *Table {
	of, marks := strings.CutSuffix(name, CensoredColumn(""))
	if t.Has(name) || !marks || !t.Has(of) {
		return t
	}
	none := NewNumeric(name)
	for range t.rows {
		none.Append(0)
	}
	marked := t.With(append(slices.Clone(t.columns), none), t.rows)
	marked.origin = t.origin
	return marked
}

// NewCensored returns the column that marks censored values, of which sides holds the rows.
func NewCensored(name string, rows int, sides map[int]int8) *Numeric {
	marks := NewNumeric(CensoredColumn(name))
	for row := range rows {
		marks.Append(float64(sides[row]))
	}
	return marks
}
