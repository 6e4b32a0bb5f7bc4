package learner

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/matrix"
)

// Column is a column of the user's table among the features of encoded rows.
type Column struct {
	Name         string
	First, Width int  // its features
	Category     bool // these are the levels of a category, one-hot; a single one is 1 for the second of two levels
	// the feature that is 1 where the value is missing; 0 or less means none (the first feature is never a mark)
	Mark int
}

// columnsOf returns the columns whose features an encoder returns. The features of a time are
// columns of their own.
func columnsOf(e *encode.Encoder) (columns []Column) {
	add := func(c Column) { columns = append(columns, c) }
	at := len(e.Numeric)
	for j, name := range e.Numeric {
		add(Column{Name: name, First: j, Width: 1})
	}
	for _, k := range e.Categories {
		c := Column{Name: k.Column, First: at, Width: len(k.Levels), Category: true}
		if len(k.Levels) == 2 {
			c.Width = 1
		}
		at += c.Width
		order := Column{Name: k.Column, First: at, Width: 1}
		if k.Order != nil {
			at++
		}
		if k.Missing || e.MissingColumns {
			c.Mark, order.Mark = at, at
			at++
		}
		add(c)
		if k.Order != nil {
			add(order)
		}
	}
	times := map[string]int{}
	for _, f := range e.Times {
		times[f.Column] = len(columns)
		for range 1 + 2*len(f.Cycles) {
			add(Column{Name: f.Column, First: at, Width: 1})
			at++
		}
	}
	for _, name := range e.Indicators {
		if j := slices.Index(e.Numeric, name); j >= 0 {
			columns[j].Mark = at
		} else if j, ok := times[name]; ok {
			columns[j].Mark = at
		}
		at++
	}
	return columns
}

// folding turns scaled features into one number for each of the user's columns: the scaled number,
// the code of a level, or NaN where the value is missing. Trees take such rows.
type folding struct {
	columns []Column
	off, on []float32 // of each feature: 0 and 1 as they are scaled
}

// newFolding returns the folding of features that are scaled like this.
func newFolding(columns []Column, s encode.Scaler) *folding {
	inputs := len(s.Mean)
	if columns == nil {
		for j := range inputs {
			columns = append(columns, Column{First: j, Width: 1})
		}
	}
	ends := matrix.New[float32](2, inputs)
	for j := range inputs {
		ends.Set(1, j, 1)
	}
	ends = scaledBy(s, ends).Scaled
	return &folding{columns: columns, off: ends.Row(0), on: ends.Row(1)}
}

// is reports whether a feature that is 0, 1 or between is 1. One that never varied is not.
func (f *folding) is(feature int, row []float32) bool {
	return row[feature] == f.on[feature] && f.on[feature] != f.off[feature]
}

// rows returns the folded rows.
func (f *folding) rows(scaled matrix.Dense[float32]) matrix.Dense[float32] {
	list := matrix.New[float32](scaled.Rows, len(f.columns))
	for i := range scaled.Rows {
		from, to := scaled.Row(i), list.Row(i)
		for j, c := range f.columns {
			to[j] = f.value(c, from)
		}
	}
	return list
}

var missing = float32(math.NaN())

// value returns the value of a column.
func (f *folding) value(c Column, row []float32) float32 {
	if c.Mark > 0 && f.is(c.Mark, row) {
		return missing
	}
	if !c.Category {
		return row[c.First]
	}
	if c.Width == 1 {
		switch {
		case f.is(c.First, row):
			return 1
		case row[c.First] == f.off[c.First]:
			return 0
		}
		return missing // an encoder puts it between the two levels
	}
	for k := range c.Width {
		if f.is(c.First+k, row) {
			return float32(k)
		}
	}
	return missing
}

// levels returns how many levels a column has; 0 means that it is a number.
func (c Column) levels() int {
	switch {
	case !c.Category:
		return 0
	case c.Width == 1:
		return 2
	}
	return c.Width
}
