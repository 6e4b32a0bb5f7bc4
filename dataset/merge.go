package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Filled is labels that come back for rows of a table.
type Filled struct {
	Rows   []int     // of the table, that had no label
	Labels []float64 // of each of them
	Known  int       // labels that the table has already, with the same value
	Empty  int       // rows that still have no label

	// Text spells a label in a column of text; nil means in its shortest form.
	Text func(label float64) string
}

// Fill finds the rows of a table that the rows of another one, filled in by hand, are
// the labels of. Rows belong together by the id column or, if id is empty, by the column
// number, which holds rows of the table, from 0. All other columns that both tables have
// must agree, except for others, which are further target columns. An error joins a *ColumnError for each row of filled that is
// wrong: an id that is missing, unknown or repeated, another value of an input, a label that is not finite, or another label
// than the table has.
func Fill(table, filled *Table, id, number, target string, others ...string) (Filled, error) {
	f := filling{table: table, filled: filled, target: target, others: others}
	find, err := f.finder(id, number)
	if err != nil {
		return Filled{}, err
	}
	return f.fill(find, id, number)
}

// FillRows is Fill for a table with replicates, in which row i of filled belongs to row at[i], as MakeRoom returns it.
func FillRows(table, filled *Table, at []int, id, target string, others ...string) (Filled, error) {
	f := filling{table: table, filled: filled, target: target, others: others}
	return f.fill(func(row int) (int, error) { return at[row], nil }, id, "")
}

// fill takes the labels of all rows, which find finds in the table.
func (f *filling) fill(find func(row int) (int, error), id, number string) (Filled, error) {
	filled, target := f.filled, f.target
	f.shared(id, number)
	labels, err := filled.Numeric(target)
	if err != nil {
		return Filled{}, err
	}
	var (
		result Filled
		wrong  []error
	)
	for row := range filled.Rows() {
		at, err := find(row)
		if err == nil {
			err = f.compare(row, at)
		}
		if err == nil {
			err = f.take(&result, row, at, labels.Float(row))
		}
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	if wrong != nil {
		return Filled{}, errors.Join(wrong...)
	}
	return result, nil
}

// take adds the label of a row of filled, which is that of a row of the table.
func (f *filling) take(result *Filled, row, at int, label float64) error {
	known := f.known(at)
	switch {
	case math.IsNaN(label):
		result.Empty++
	case math.IsInf(label, 0):
		return &ColumnError{Column: f.target, Row: row, Problem: "a label must be finite; correct it, or leave it empty"}
	case math.IsNaN(known):
		result.Rows, result.Labels = append(result.Rows, at), append(result.Labels, label)
	case known == label:
		result.Known++
	default:
		return &ColumnError{Column: f.target, Row: row,
			Problem: fmt.Sprintf("the label is %s, but the table has %s in %s; write the right one in both files", formatFloat(label), formatFloat(known), f.table.Place(at, ""))}
	}
	return nil
}

// filling is one call of Fill.
type filling struct {
	table, filled *Table
	target        string
	others        []string    // further target columns, which need not agree
	pairs         [][2]Column // of both tables, with the same name
}

// finder returns what finds the row of the table for a row of filled.
func (f *filling) finder(id, number string) (func(row int) (int, error), error) {
	if id == "" {
		return f.byNumber(number)
	}
	here, err := f.filled.Column(id)
	if err != nil {
		return nil, err
	}
	there, err := f.table.Column(id)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]int, there.Len())
	for row := range there.Len() {
		name := there.Format(row)
		if _, twice := rows[name]; twice {
			rows[name] = -1
			continue
		}
		rows[name] = row
	}
	seen := map[string]int{}
	return func(row int) (int, error) {
		name := here.Format(row)
		at, known := rows[name]
		first, twice := seen[name]
		seen[name] = row
		problem := ""
		switch {
		case here.Missing(row):
			problem = "the id is missing; fill it in, or delete the row"
		case !known:
			problem = fmt.Sprintf("the table has no row with the id %q; correct the id, or delete the row", name)
		case at < 0:
			problem = fmt.Sprintf("the table has several rows with the id %q; give each an id of its own", name)
		case twice:
			problem = fmt.Sprintf("the id %q is also that of %s; delete one of the two rows", name, f.filled.Place(first, ""))
		default:
			return at, nil
		}
		return 0, &ColumnError{Column: id, Row: row, Problem: problem}
	}, nil
}

func (f *filling) byNumber(column string) (func(row int) (int, error), error) {
	numbers, err := f.filled.Numeric(column)
	if err != nil {
		return nil, err
	}
	seen := map[int]int{}
	return func(row int) (int, error) {
		v := numbers.Float(row)
		if !(v >= 0) || v != math.Trunc(v) || v >= float64(f.table.Rows()) {
			return 0, &ColumnError{Column: column, Row: row, Problem: fmt.Sprintf("the table has no row %q; it has rows 0 to %d; correct the number, or delete the row", numbers.Format(row), f.table.Rows()-1)}
		}
		if first, twice := seen[int(v)]; twice {
			return 0, &ColumnError{Column: column, Row: row, Problem: fmt.Sprintf("row %d of the table is also that of %s; delete one of the two rows", int(v), f.filled.Place(first, ""))}
		}
		seen[int(v)] = row
		return int(v), nil
	}, nil
}

// shared finds the columns that must agree.
func (f *filling) shared(id, number string) {
	for _, c := range f.filled.Columns() {
		name := c.Name()
		if name == f.target || slices.Contains(f.others, name) || name == id || id == "" && name == number {
			continue
		}
		if other, err := f.table.Column(name); err == nil {
			f.pairs = append(f.pairs, [2]Column{c, other})
		}
	}
}

// compare rejects a row that differs from that of the table.
func (f *filling) compare(row, at int) error {
	for _, pair := range f.pairs {
		if !sameValue(pair[0], row, pair[1], at) {
			return &ColumnError{Column: pair[0].Name(), Row: row,
				Problem: fmt.Sprintf("the value is %q, but the table has %q in %s; write the right one in both files, or delete the column here", pair[0].Format(row), pair[1].Format(at), f.table.Place(at, ""))}
		}
	}
	return nil
}

// sameValue compares values of columns whose kinds may have been guessed differently:
// as numbers if both are numbers.
func sameValue(a Column, row int, b Column, at int) bool {
	x, y := a.Format(row), b.Format(at)
	if x == y {
		return true
	}
	v, errV := strconv.ParseFloat(x, 64)
	w, errW := strconv.ParseFloat(y, 64)
	return errV == nil && errW == nil && v == w
}

// known returns the label that the table has, NaN if it has none.
func (f *filling) known(row int) float64 {
	labels, err := f.table.Numeric(f.target)
	if err != nil {
		return math.NaN()
	}
	return labels.Float(row)
}

// Into returns the table with the labels in the target column, which comes last if it
// is new. A column of text gets them as text.
func (f Filled) Into(table *Table, target string) *Table {
	labels := make(map[int]float64, len(f.Rows))
	for i, row := range f.Rows {
		labels[row] = f.Labels[i]
	}
	columns, found := make([]Column, 0, len(table.columns)+1), false
	for _, c := range table.columns {
		if c.Name() == target {
			c, found = f.withLabels(c, labels), true
		}
		columns = append(columns, c)
	}
	if !found {
		empty := NewNumeric(target)
		for range table.rows {
			empty.Append(math.NaN())
		}
		columns = append(columns, f.withLabels(empty, labels))
	}
	return table.with(columns, table.rows)
}

func (f Filled) withLabels(c Column, labels map[int]float64) Column {
	spell := f.Text
	if spell == nil {
		spell = formatFloat
	}
	numbers, isNumeric := c.(*Numeric)
	text, changed := NewText(c.Name()), NewNumeric(c.Name())
	for row := range c.Len() {
		v, filled := labels[row]
		switch {
		case isNumeric && filled:
			changed.Append(v)
		case isNumeric:
			changed.Append(numbers.Float(row))
		case filled:
			text.Append([]byte(spell(v)))
		default:
			text.Append([]byte(c.Format(row)))
		}
	}
	if isNumeric {
		return changed
	}
	return text
}
