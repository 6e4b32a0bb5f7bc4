package dataset

import (
	"fmt"
	"math"
)

// Concat returns a table with the rows of all tables, in order. It has the
// named columns, which every table must have; a categorical column gets the
// levels of all tables. It is an error if a column is numeric in one table and
// not in another, unless all its values are missing there. Numbers are taken as they are; InUnit brings
// them to one unit.
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
		return concatLevels(name, parts)
	case KindText:
		return concatText(name, parts)
	}
	return concatNumbers(name, parts)
}

func concatNumbers(name string, parts []Column) (Column, error) {
	all := NewNumeric(name)
	for _, c := range parts {
		numbers, ok := c.(*Numeric)
		if !ok {
			continue
		}
		if numbers.FromSingle {
			all.FromSingle = true
		}
		if all.OwnUnit.Name == "" {
			all.OwnUnit = numbers.blank().OwnUnit
		}
	}
	return all, appendAll(all, parts, func(c Column, row int) {
		if numbers, ok := c.(*Numeric); ok {
			all.Append(numbers.Float(row))
		} else {
			all.Append(math.NaN())
		}
	})
}

func concatLevels(name string, parts []Column) (Column, error) {
	all := NewCategorical(name)
	err := appendAll(all, parts, func(c Column, row int) {
		if c.Missing(row) {
			all.Append(missingCode)
		} else {
			all.Append(all.AddLevel(c.Format(row)))
		}
	})
	all.SortLevels()
	return all, err
}

func concatText(name string, parts []Column) (Column, error) {
	all := NewText(name)
	return all, appendAll(all, parts, func(c Column, row int) { all.Append([]byte(c.Format(row))) })
}

// appendAll adds the rows of all parts to a column. Those of a part in a file go to the
// same file, as they are added.
func appendAll(all Column, parts []Column, add func(c Column, row int)) error {
	for _, c := range parts {
		for from := 0; from < c.Len(); from += chunkLen {
			for row := from; row < min(from+chunkLen, c.Len()); row++ {
				add(c, row)
			}
			if c.file() == nil {
				continue
			}
			if err := all.MoveTo(c.file()); err != nil {
				return err
			}
		}
	}
	return nil
}

func allMissing(c Column) bool {
	for row := range c.Len() {
		if !c.Missing(row) {
			return false
		}
	}
	return true
}
