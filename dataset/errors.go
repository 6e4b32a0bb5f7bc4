package dataset

import (
	"errors"
	"fmt"
)

// ColumnError reports what is wrong with a column, or with one value of it.
type ColumnError struct {
	Column  string
	Row     int    // from 0; -1 for the whole column
	Place   string // what messages call the row (Table.Place); empty for its number
	Problem string
}

func (e *ColumnError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("column %q %s", e.Column, e.Problem)
	}
	if e.Place != "" {
		return fmt.Sprintf("column %q, %s: %s", e.Column, e.Place, e.Problem)
	}
	return fmt.Sprintf("column %q, row %d (from 0): %s", e.Column, e.Row, e.Problem)
}

// Placed returns an error about a column of a table, or several that are joined, that says where in its file the row
// is.
func (t *Table) Placed(err error, id string) error {
	if joined, several := err.(interface{ Unwrap() []error }); several {
		for _, err := range joined.Unwrap() {
			_ = t.Placed(err, id)
		}
		return err
	}
	at := (*ColumnError)(nil)
	if t != nil && errors.As(err, &at) && at.Place == "" && at.Row >= 0 && at.Row < t.rows {
		at.Place = t.Place(at.Row, id)
	}
	return err
}
