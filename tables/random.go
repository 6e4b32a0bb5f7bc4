package tables

import (
	"fmt"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
)

// randomFlags reads which rows of a table a column marks as drawn at random. A missing
// value means no.
func randomFlags(t *dataset.Table, column string, rows []int) ([]bool, error) {
	c, err := t.Column(column)
	if err != nil {
		return nil, err
	}
	flags := make([]bool, len(rows))
	for i, row := range rows {
		if c.Missing(row) {
			continue
		}
		switch strings.ToLower(c.Format(row)) {
		case "true", "1", "yes":
			flags[i] = true
		case "false", "0", "no":
		default:
			return nil, &dataset.ColumnError{Column: column, Row: row,
				Problem: fmt.Sprintf("%q does not say whether the row was drawn at random: write true or false, or 1 or 0",
					c.Format(row))}
		}
	}
	return flags, nil
}
