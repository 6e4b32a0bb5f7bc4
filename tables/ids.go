package tables

import (
	"fmt"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
)

// IDs names the rows of a table by a column or, without one, by their numbers from 0.
type IDs struct {
	Table  *dataset.Table // nil has no rows
	Column string
}

// Name returns the name of a row. One without an id has its number.
func (i IDs) Name(row int) string {
	if i.Column != "" && i.Table != nil {
		if ids, err := i.Table.Column(i.Column); err == nil && !ids.Missing(row) {
			return ids.Format(row)
		}
	}
	return strconv.Itoa(row)
}

// Row finds a row by its name, or returns -1.
func (i IDs) Row(name string) int {
	if i.Table == nil {
		return -1
	}
	if i.Column == "" {
		if row, err := strconv.Atoi(name); err == nil && row >= 0 && row < i.Table.Rows() {
			return row
		}
		return -1
	}
	ids, err := i.Table.Column(i.Column)
	if err != nil {
		return -1
	}
	for row := range i.Table.Rows() {
		if ids.Format(row) == name {
			return row
		}
	}
	return -1
}

// Check rejects rows without an id, and two with the same unless both are replicated. Field is what
// messages call the choice of the column.
func (i IDs) Check(replicated func(row int) bool, field string) error {
	ids, err := i.Table.Column(i.Column)
	if err != nil {
		return err
	}
	seen := make(map[string]int, ids.Len())
	for row := range ids.Len() {
		problem := ""
		first, twice := seen[ids.Format(row)]
		switch {
		case ids.Missing(row):
			problem = fmt.Sprintf("the id is missing; fill it in, or leave out %s to number the rows", field)
		case twice && replicated(first) && replicated(row):
		case twice:
			problem = fmt.Sprintf("%s has the same id, %q; give each row an id of its own, or leave out %s to number the rows",
				i.Table.Place(first, ""), ids.Format(row), field)
		}
		if problem != "" {
			return &dataset.ColumnError{Column: i.Column, Row: row, Place: i.Table.Place(row, ""), Problem: problem}
		}
		seen[ids.Format(row)] = row
	}
	return nil
}
