package sheets

import (
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
)

// CheckIDs makes sure that the column identifies every row and has no duplicates. The error names the row at fault.
func CheckIDs(t *dataset.Table, column string) error {
	ids, err := t.Column(column)
	if err != nil {
		return &Error{Kind: ErrColumn, Name: column, Detail: column, Advice: "the columns are " + ShortList(t.Names())}
	}
	refuse := func(row int, detail string) error {
		return &Error{Row: row + 1, Column: slices.Index(t.Names(), column) + 1, Name: column, Kind: ErrID,
			Detail: detail, Advice: "give each row a unique id, or name another column"}
	}
	rows := make(map[string]int, t.Rows())
	for row := range t.Rows() {
		if ids.Missing(row) {
			return refuse(row, "it is missing")
		}
		id := ids.Format(row)
		if other, taken := rows[id]; taken {
			return refuse(row, fmt.Sprintf("%s is also the id of row %d", cells.QuoteShort([]byte(id)), other))
		}
		rows[id] = row
	}
	return nil
}

// WithIDs checks the ids of a table just read.
func WithIDs(o Options, t *dataset.Table) (*dataset.Table, error) {
	if o.ID == "" {
		return t, nil
	}
	if err := CheckIDs(t, o.ID); err != nil {
		return nil, err
	}
	return t, nil
}
