package learner

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/matrix"
)

// Column is a column of the user's table among the features of encoded rows.
type Column struct {
	First, Width int  // its features
	Category     bool // these are the levels of a category, one-hot; a single one is 1 for the second of two levels
	Mark         int  // the feature that is 1 where the value is missing; 0 or less means none (the first feature is no mark)
}

// ColumnsOf returns the columns whose features an encoder returns. The features of a time are
// columns of their own.
func ColumnsOf(e *dataset.Encoder) (columns []Column) {
	add := func(c Column) { columns = append(columns, c) }
	at := len(e.Numeric)
	for j := range e.Numeric {
		add(Column{First: j, Width: 1})
	}
	for _, k := range e.Categories {
		c := Column{First: at, Width: len(k.Levels), Category: true}
		if len(k.Levels) == 2 {
			c.Width = 1
		}
		at += c.Width
		if k.Missing || e.MissingColumns {
			c.Mark = at
			at++
		}
		add(c)
	}
	times := map[string]int{}
	for _, f := range e.Times {
		times[f.Column] = len(columns)
		for range 1 + 2*len(f.Cycles) {
			add(Column{First: at, Width: 1})
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
	columns   []Column
	low, high []float32 // of each feature: scaled values that tell 0 from ½ from 1
}

// newFolding returns the folding of features that are scaled like this.
func newFolding(columns []Column, s dataset.Scaler) *folding {
	inputs := len(s.Mean)
	if columns == nil {
		for j := range inputs {
			columns = append(columns, Column{First: j, Width: 1})
		}
	}
	ends := matrix.New[float32](2, inputs)
	for j := range inputs {
		ends.Set(0, j, 0.25)
		ends.Set(1, j, 0.75)
	}
	ends = scaledBy(s, ends).Scaled
	f := &folding{columns: columns, low: ends.Row(0), high: ends.Row(1)}
	for j, d := range s.Deviation {
		if d == 0 { // the feature never varied: no level, no mark
			f.low[j], f.high[j] = float32(math.Inf(1)), float32(math.Inf(1))
		}
	}
	return f
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
	if c.Mark > 0 && row[c.Mark] > f.high[c.Mark] {
		return missing
	}
	if !c.Category {
		return row[c.First]
	}
	if c.Width == 1 {
		switch v := row[c.First]; {
		case v > f.high[c.First]:
			return 1
		case v < f.low[c.First]:
			return 0
		}
		return missing // an encoder puts it between the two levels
	}
	for k := range c.Width {
		if row[c.First+k] > f.high[c.First+k] {
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
