package merge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Filled is labels that come back for rows of a table.
type Filled struct {
	Rows   []int     // of the table, that had no label
	Labels []float64 // of each of them
	From   []int     // the rows of the filled table with these labels
	Sides  []int8    // of each of them: -1 where the true label lies below it, 1 above, 0 where it is the true one
	Known  int       // labels that the table has already, with the same value, or that an identical row of filled has
	Empty  int       // rows that still have no label
	Unit   string    // of the labels, if their cells say one; it is that of the table's labels, if there are any
	Said   []string  // what was converted

	// Text spells a label in a column of text; nil means in its shortest form.
	Text func(label float64) string
}

// Fill finds the rows of a table that the rows of another one, filled in by hand, are
// the labels of. Rows belong together by the id column or, if id is empty, by the column
// number, which holds rows of the table, from 0. All other columns that both tables have
// must agree as SameCell tells, except for others, which are further target columns. Identical rows of filled count
// once. An error joins a *ColumnError for each row of filled that is wrong: an id that is missing, unknown or repeated,
// another value of an input, a label that is not finite, or another label than the table has.
func Fill(table, filled *dataset.Table, id, number, target string, others ...string) (Filled, error) {
	f := filling{table: table, filled: filled, target: target, others: others}
	find, err := f.finder(id, number)
	if err != nil {
		return Filled{}, err
	}
	return f.fill(find, id, number)
}

// FillRows is Fill for a table with replicates, in which row i of filled belongs to row at[i], as MakeRoom returns it.
func FillRows(table, filled *dataset.Table, at []int, id, target string, others ...string) (Filled, error) {
	f := filling{table: table, filled: filled, target: target, others: others}
	return f.fill(func(row int) (int, error) { return at[row], nil }, id, "")
}

// fill takes the labels of all rows, which find finds in the table.
func (f *filling) fill(find func(row int) (int, error), id, number string) (Filled, error) {
	filled, target := f.filled, f.target
	if err := f.shared(id, number); err != nil {
		return Filled{}, err
	}
	labels, err := filled.Numeric(target)
	if err != nil {
		return Filled{}, err
	}
	var (
		result Filled
		wrong  []error
	)
	if there, err := f.table.Numeric(target); err == nil && there.HasValues() {
		in, said, err := dataset.InUnit(labels, there.Unit().Name)
		if err != nil {
			return Filled{}, err
		}
		if labels.Unit().Name != "" && said != "" {
			result.Said = append(result.Said, said)
		}
		labels = in.(*dataset.Numeric)
	}
	result.Unit = labels.OwnUnit.Name
	again := repeats(filled, cmp.Or(id, number))
	for row := range filled.Rows() {
		if again[row] {
			if !labels.Missing(row) {
				result.Known++
			}
			continue
		}
		at, err := find(row)
		if err == nil {
			err = f.compare(row, at)
		}
		if err == nil {
			err = f.take(&result, row, at, labels.Float(row), filled.Side(target, row))
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

// repeats returns the rows that are identical to one before them. Only those with the same value of a key are compared.
func repeats(t *dataset.Table, key string) map[int]bool {
	keys, err := t.Column(key)
	if err != nil {
		return nil
	}
	rows := map[string]int{}
	for row := range t.Rows() {
		rows[keys.Format(row)]++
	}
	seen, again := map[string]bool{}, map[int]bool{}
	for row := range t.Rows() {
		if rows[keys.Format(row)] == 1 {
			continue
		}
		var text strings.Builder
		for _, c := range t.Columns() {
			fmt.Fprintf(&text, "%q,", c.Format(row))
		}
		again[row] = seen[text.String()]
		seen[text.String()] = true
	}
	return again
}

// take adds the label of a row of filled, which is that of a row of the table.
func (f *filling) take(result *Filled, row, at int, label float64, side int8) error {
	known, knownSide := f.known(at), f.table.Side(f.target, at)
	switch {
	case math.IsNaN(label):
		result.Empty++
	case math.IsInf(label, 0):
		return &dataset.ColumnError{Column: f.target, Row: row,
			Problem: "a label must be finite; correct it, or leave it empty"}
	case math.IsNaN(known):
		result.Rows, result.From = append(result.Rows, at), append(result.From, row)
		result.Labels, result.Sides = append(result.Labels, label), append(result.Sides, side)
	case encode.SameNumber(label, known) && side == knownSide:
		result.Known++
	default:
		return &dataset.ColumnError{Column: f.target, Row: row,
			Problem: fmt.Sprintf("the label is %s, but the table has %s in %s; write the right one in both files",
				dataset.Spell(label, side), dataset.Spell(known, knownSide), f.table.Place(at, ""))}
	}
	return nil
}

// filling is one call of Fill.
type filling struct {
	table, filled *dataset.Table
	target        string
	others        []string            // further target columns, which need not agree
	pairs         [][2]dataset.Column // of both tables, with the same name
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
		return 0, &dataset.ColumnError{Column: id, Row: row, Problem: problem}
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
			return 0,
				&dataset.ColumnError{Column: column, Row: row,
					Problem: fmt.Sprintf("the table has no row %q; it has rows 0 to %d; correct the number, or delete the row",
						numbers.Format(row), f.table.Rows()-1)}
		}
		if first, twice := seen[int(v)]; twice {
			return 0,
				&dataset.ColumnError{Column: column, Row: row,
					Problem: fmt.Sprintf("row %d of the table is also that of %s; delete one of the two rows", int(v),
						f.filled.Place(first, ""))}
		}
		seen[int(v)] = row
		return int(v), nil
	}, nil
}

// shared finds the columns that must agree, in the units of the table where cells say theirs.
func (f *filling) shared(id, number string) error {
	for _, c := range f.filled.Columns() {
		name := c.Name()
		if f.isLabel(name) || name == id || id == "" && name == number {
			continue
		}
		other, err := f.table.Column(name)
		if err != nil {
			continue
		}
		own, isNumeric := c.(*dataset.Numeric)
		if known, ok := other.(*dataset.Numeric); ok && isNumeric && own.Unit().Name != "" {
			if c, _, err = dataset.InUnit(c, known.Unit().Name); err != nil {
				return err
			}
		}
		f.pairs = append(f.pairs, [2]dataset.Column{c, other})
	}
	return nil
}

// isLabel reports whether a column is that of a target, or of its marks.
func (f *filling) isLabel(name string) bool {
	is := func(target string) bool { return name == target || name == dataset.CensoredColumn(target) }
	return is(f.target) || slices.ContainsFunc(f.others, is)
}

// compare rejects a row that differs from that of the table.
func (f *filling) compare(row, at int) error {
	for _, pair := range f.pairs {
		if !encode.SameCell(pair[0].Format(row), pair[1].Format(at)) {
			return &dataset.ColumnError{Column: pair[0].Name(), Row: row,
				Problem: fmt.Sprintf(
					"the value is %q, but the table has %q in %s; write the right one in both files, or delete the column here",
					pair[0].Format(row), pair[1].Format(at), f.table.Place(at, ""))}
		}
	}
	return nil
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
// is new. A column of text gets them as text, such as <0.5 where they are limits; those of a column of numbers are
// marked in one of their own.
func (f Filled) Into(table *dataset.Table, target string) *dataset.Table {
	labels, sides := make(map[int]float64, len(f.Rows)), map[int]int8{}
	for i, row := range f.Rows {
		if labels[row] = f.Labels[i]; f.Sides[i] != 0 {
			sides[row] = f.Sides[i]
		}
	}
	columns, found := make([]dataset.Column, 0, len(table.Columns())+1), false
	for _, c := range table.Columns() {
		if c.Name() == target {
			c, found = f.withLabels(c, labels, sides), true
		}
		columns = append(columns, c)
	}
	if !found {
		empty := dataset.NewNumeric(target)
		for range table.Rows() {
			empty.Append(math.NaN())
		}
		columns = append(columns, f.withLabels(empty, labels, sides))
	}
	into := table.With(columns, table.Rows())
	if _, err := into.Numeric(target); err != nil {
		return into
	}
	return withSides(into, target, sides)
}

// like returns a column without rows for numbers like those of another one.
func like(c *dataset.Numeric) *dataset.Numeric {
	blank := dataset.NewNumeric(c.Name())
	blank.FromSingle = c.FromSingle
	blank.OwnUnit = dataset.Unit{Name: c.OwnUnit.Name, Row: -1, Mixed: c.OwnUnit.Mixed}
	return blank
}

// WithCells returns the table with other values in some rows of a column. A column that cannot have one of them becomes
// text.
func WithCells(table *dataset.Table, name string, cells map[int]string) *dataset.Table {
	columns := slices.Clone(table.Columns())
	for i, c := range columns {
		if c.Name() == name {
			columns[i] = withCells(c, cells)
		}
	}
	return table.With(columns, table.Rows())
}

func withCells(c dataset.Column, cells map[int]string) dataset.Column {
	numbers, isNumeric := c.(*dataset.Numeric)
	text := dataset.NewText(c.Name())
	changed := dataset.NewNumeric(c.Name())
	if isNumeric {
		changed = like(numbers)
	}
	for row := range c.Len() {
		cell, filled := cells[row]
		if !filled {
			cell = c.Format(row)
		}
		text.Append([]byte(cell))
		v, err := strconv.ParseFloat(cell, 64)
		switch {
		case !isNumeric:
		case !filled:
			changed.Append(numbers.Float(row))
		case err != nil && cell != "":
			isNumeric = false
		case err != nil:
			changed.Append(math.NaN())
		default:
			changed.Append(v)
		}
	}
	if isNumeric {
		return changed
	}
	return text
}

func (f Filled) withLabels(c dataset.Column, labels map[int]float64, sides map[int]int8) dataset.Column {
	spell := f.Text
	if spell == nil {
		spell = func(v float64) string { return dataset.Spell(v, 0) }
	}
	numbers, isNumeric := c.(*dataset.Numeric)
	text, changed := dataset.NewText(c.Name()), dataset.NewNumeric(c.Name())
	if isNumeric {
		changed = like(numbers)
		changed.OwnUnit.Name = cmp.Or(changed.OwnUnit.Name, f.Unit)
	}
	for row := range c.Len() {
		v, filled := labels[row]
		switch {
		case isNumeric && filled:
			changed.Append(v)
		case isNumeric:
			changed.Append(numbers.Float(row))
		case filled:
			text.Append([]byte(words.Sign(sides[row]) + spell(v)))
		default:
			text.Append([]byte(c.Format(row)))
		}
	}
	if isNumeric {
		return changed
	}
	return text
}
