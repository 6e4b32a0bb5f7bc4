package dataset

import (
	"fmt"

	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Kind is the kind of a column's values.
type Kind uint8

const (
	KindNumeric     Kind = iota + 1 // numbers
	KindCategorical                 // one of a list of levels
	KindText                        // any text, such as the id of a row
)

func (k Kind) String() string {
	switch k {
	case KindNumeric:
		return "numeric"
	case KindCategorical:
		return "categorical"
	case KindText:
		return "text"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Column is a *Numeric, a *Categorical or a *Text. Rows count from 0; a row out
// of range panics. Concurrent reading is safe, appending is not.
type Column interface {
	Name() string
	Kind() Kind
	Len() int
	Missing(row int) bool
	// Format returns the value as text, "" where it is missing.
	Format(row int) string
	// Select returns a copy of the named rows, in that order.
	Select(rows []int) Column
	// DropLast removes the row that was appended last.
	DropLast()
	// Bytes returns the memory that the column takes, to within a few percent. Rows in
	// a file take none.
	Bytes() int64
	// MoveTo moves the rows to a file that is mapped into memory, except for the last
	// ones. The column is used as before, until the file is closed. Rows that find no
	// space there stay in memory, and the error says why.
	MoveTo(file *rowfile.Store) error

	file() *rowfile.Store // that MoveTo moved rows to, or nil
}

// columnBytes is what an empty column takes, including its entry in a table.
const columnBytes int64 = 256

// Table is a list of columns of equal length with distinct names.
type Table struct {
	columns []Column
	index   map[string]int
	rows    int
	origin  *Origin // nil if no file holds the table
}

// MostColumns is how many columns a table may have that is read from a file or comes from another
// program: more than measurements of all genes have, and few enough that what takes memory and time
// per column stays bearable. A column takes memory even without rows, and a header of a few
// kilobytes, compressed, can name millions.
const MostColumns = 1 << 17

// NewTable returns a table of the columns and takes them over: they must not
// grow after that.
func NewTable(columns ...Column) (*Table, error) {
	t := &Table{columns: columns, index: make(map[string]int, len(columns))}
	for i, c := range columns {
		if i == 0 {
			t.rows = c.Len()
		}
		if c.Len() != t.rows {
			return nil, &ColumnError{Column: c.Name(), Row: -1,
				Problem: fmt.Sprintf("has %d rows where column %q has %d", c.Len(), columns[0].Name(), t.rows)}
		}
		if first, taken := t.index[c.Name()]; taken {
			return nil, &ColumnError{Column: c.Name(), Row: -1,
				Problem: fmt.Sprintf("is the name of columns %d and %d; rename one", first+1, i+1)}
		}
		t.index[c.Name()] = i
	}
	return t, nil
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return t.rows }

// Bytes returns the memory that the table takes, to within a few percent. Rows in a file
// take none (Column.MoveTo).
func (t *Table) Bytes() int64 {
	total := int64(0)
	for _, c := range t.columns {
		total += c.Bytes()
	}
	return total
}

// Columns returns the columns in order. Do not modify the slice.
func (t *Table) Columns() []Column { return t.columns }

// Names returns the names of the columns in order.
func (t *Table) Names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.Name()
	}
	return names
}

// Has reports whether there is a column with the given name.
func (t *Table) Has(name string) bool {
	_, ok := t.index[name]
	return ok
}

// Column returns the column with the given name, or an error that lists the
// existing names.
func (t *Table) Column(name string) (Column, error) {
	if i, ok := t.index[name]; ok {
		return t.columns[i], nil
	}
	return nil, &ColumnError{Column: name, Row: -1, Problem: t.absent(name) + words.FirstQuoted(len(t.columns),
		func(i int) string { return t.columns[i].Name() })}
}

// absent begins the message about a column that is not there.
func (t *Table) absent(name string) string {
	if meant := words.DidYouMean(name, t.firstNames()); meant != "" {
		return "is not in the table; " + meant + "it has "
	}
	return "is not in the table, which has "
}

// firstNames returns the names of some columns. It takes no longer where there are many.
func (t *Table) firstNames() []string {
	const most = 500
	names := make([]string, min(most, len(t.columns)))
	for i := range names {
		names[i] = t.columns[i].Name()
	}
	return names
}

// Numeric returns the numeric column with the given name.
func (t *Table) Numeric(name string) (*Numeric, error) {
	c, err := t.Column(name)
	if err != nil {
		return nil, err
	}
	numbers, ok := c.(*Numeric)
	if !ok {
		return nil, &ColumnError{Column: name, Row: -1, Problem: fmt.Sprintf("is %v, not numeric", c.Kind())}
	}
	return numbers, nil
}

// Without returns the table without the named columns, which must exist. The
// columns are shared, not copied.
func (t *Table) Without(names ...string) (*Table, error) {
	drop := make(map[string]bool, len(names))
	for _, name := range names {
		if _, err := t.Column(name); err != nil {
			return nil, err
		}
		drop[name] = true
	}
	var kept []Column
	for _, c := range t.columns {
		if !drop[c.Name()] {
			kept = append(kept, c)
		}
	}
	s := t.With(kept, t.rows)
	s.origin = t.origin
	return s, nil
}

// Select returns a copy of the named rows, in that order.
func (t *Table) Select(rows []int) *Table {
	columns := make([]Column, len(t.columns))
	for i, c := range t.columns {
		columns[i] = c.Select(rows)
	}
	return t.With(columns, len(rows))
}

// CompleteRows returns, in order, the rows without a missing value.
func (t *Table) CompleteRows() []int {
	rows := make([]int, 0, t.rows)
	for row := range t.rows {
		if t.complete(row) {
			rows = append(rows, row)
		}
	}
	return rows
}

func (t *Table) complete(row int) bool {
	for _, c := range t.columns {
		if c.Missing(row) {
			return false
		}
	}
	return true
}

// With returns a table of other columns with distinct names, all with so many rows.
func (t *Table) With(columns []Column, rows int) *Table {
	s := &Table{columns: columns, rows: rows, index: make(map[string]int, len(columns))}
	for i, c := range columns {
		s.index[c.Name()] = i
	}
	return s
}
