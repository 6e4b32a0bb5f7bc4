package dataset

import (
	"fmt"
	"math"
)

// Concat returns a table with the rows of all tables, in order. It has the
// named columns, which every table must have; a categorical column gets the
// levels of all tables. It is an error if a column is numeric in one table and
// not in another, unless all its values are missing there.
func Concat(names []string, tables ...*Table) (*Table, error) {
	columns := make([]Column, len(names))
	for i, name := range names {
		parts := make([]Column, len(tables))
		for k, t := range tables {
			c, err := t.Column(name)
			if err != nil {
				return nil, err
			}
			parts[k] = c
		}
		if len(parts) == 1 {
			columns[i] = parts[0]
			continue
		}
		c, err := concatColumns(name, parts)
		if err != nil {
			return nil, err
		}
		columns[i] = c
	}
	t, err := NewTable(columns...)
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 {
		for _, part := range tables {
			t.rows += part.Rows()
		}
	}
	return t, nil
}

func concatColumns(name string, parts []Column) (Column, error) {
	kind := Kind(0)
	for _, c := range parts {
		switch {
		case allMissing(c) || c.Kind() == kind:
		case kind == 0:
			kind = c.Kind()
		case kind == KindNumeric || c.Kind() == KindNumeric:
			return nil, &ColumnError{Column: name, Row: -1,
				Problem: fmt.Sprintf("is %v in one table and %v in another; choose one kind for both", kind, c.Kind())}
		default:
			kind = KindText
		}
	}
	switch kind {
	case KindCategorical:
		return concatLevels(name, parts), nil
	case KindText:
		all := NewText(name)
		for _, c := range parts {
			for row := range c.Len() {
				all.Append([]byte(c.Format(row)))
			}
		}
		return all, nil
	}
	return concatNumbers(name, parts), nil
}

func concatNumbers(name string, parts []Column) Column {
	all := NewNumeric(name)
	for _, c := range parts {
		numbers, ok := c.(*Numeric)
		for row := range c.Len() {
			if ok {
				all.Append(numbers.Float(row))
			} else {
				all.Append(math.NaN())
			}
		}
	}
	return all
}

func concatLevels(name string, parts []Column) Column {
	all := NewCategorical(name)
	for _, c := range parts {
		for row := range c.Len() {
			if c.Missing(row) {
				all.Append(missingCode)
			} else {
				all.Append(all.AddLevel(c.Format(row)))
			}
		}
	}
	all.SortLevels()
	return all
}

func allMissing(c Column) bool {
	for row := range c.Len() {
		if !c.Missing(row) {
			return false
		}
	}
	return true
}
