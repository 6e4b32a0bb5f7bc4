package cli

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/merge"
)

// isWorkbook reports whether a file is one of Excel, by its name.
func isWorkbook(path string) bool {
	path, _ = splitArray(path)
	return slices.Contains([]string{".xlsx", ".xlsm"}, strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz"))))
}

// withNumbers returns a table of text with numbers in the columns that are numbers in the table as it was read and
// whose spelling says no more than the number does. Marks such as <0.5 or n.d. and leading zeros say more, and so such
// a column remains text.
func withNumbers(spelled, read *dataset.Table) (*dataset.Table, error) {
	columns := slices.Clone(spelled.Columns())
	for j, c := range columns {
		numbers, err := read.Numeric(c.Name())
		if err != nil {
			numbers = dataset.NewNumeric(c.Name()) // of ids, which are read as text
			for row := range c.Len() {
				if v, err := strconv.ParseInt(c.Format(row), 10, 32); err == nil {
					numbers.Append(float64(v))
				}
			}
		}
		if numbers.Len() == c.Len() && onlyNumbers(c, numbers) {
			columns[j] = numbers
		}
	}
	return dataset.NewTable(columns...)
}

// onlyNumbers reports whether the spelling of numbers says no more than they do.
func onlyNumbers(spelled dataset.Column, numbers *dataset.Numeric) bool {
	for row := range spelled.Len() {
		text := spelled.Format(row)
		if numbers.Missing(row) != (text == "") || strings.Trim(text, "0123456789+-.,eE' ") != "" {
			return false
		}
		if digits := strings.TrimLeft(text, "+-"); len(digits) > 1 && digits[0] == '0' &&
			'0' <= digits[1] && digits[1] <= '9' {
			return false
		}
	}
	return true
}

// withLabels is withNumbers for files that keep text and numbers apart: columns of labels are numbers there, and limits
// are marked in columns of their own.
func withLabels(spelled, read *dataset.Table, targets []string) (*dataset.Table, error) {
	numbers, err := withNumbers(spelled, read)
	if err != nil {
		return nil, err
	}
	marked := merge.MarkLimits(read, targets...)
	columns := slices.Clone(numbers.Columns())
	for _, target := range targets {
		at := slices.IndexFunc(columns, func(c dataset.Column) bool { return c.Name() == target })
		if at < 0 {
			continue
		}
		if columns[at], err = marked.Column(target); err != nil {
			return nil, err
		}
		if marks := dataset.CensoredColumn(target); marked.Has(marks) && !spelled.Has(marks) {
			added, err := marked.Column(marks)
			if err != nil {
				return nil, err
			}
			columns = slices.Insert(columns, at+1, added)
		}
	}
	return dataset.NewTable(columns...)
}
