package dataset

import (
	"math"
	"strconv"

	"github.com/nextbatch/nextbatch/internal/rowfile"
)

// Numeric is a column of numbers; NaN is a missing one. As long as float32
// holds every number exactly, as it does for counts and small integers, the
// column takes four bytes per row, otherwise eight: nothing is ever rounded.
type Numeric struct {
	name     string
	single   chunks[float32] // used until isDouble
	double   chunks[float64]
	isDouble bool
	inFile   *rowfile.Store // see MoveTo

	// FromSingle records that the numbers were float32 before they came here, such as those of a
	// file of float32, so that digits may be lost that float64 would have kept (Coarse).
	FromSingle bool
	// OwnUnit is the unit that a file says; Unit looks at the name of the column, too.
	OwnUnit Unit
}

// NewNumeric returns a column of the given values.
func NewNumeric(name string, values ...float64) *Numeric {
	c := &Numeric{name: name}
	for _, v := range values {
		c.Append(v)
	}
	return c
}

// Append adds a row.
func (c *Numeric) Append(v float64) {
	if !c.isDouble {
		if s := float32(v); float64(s) == v || math.IsNaN(v) {
			c.single.append(s)
			return
		}
		c.toDouble()
	}
	c.double.append(v)
}

// blank returns a column without rows for numbers like those of c.
func (c *Numeric) blank() *Numeric {
	return &Numeric{name: c.name, FromSingle: c.FromSingle,
		OwnUnit: Unit{Name: c.OwnUnit.Name, Row: -1, Mixed: c.OwnUnit.Mixed}}
}

// toDouble widens all numbers. Those in a file stay there, as far as they find space; the next
// MoveTo says if they do not.
func (c *Numeric) toDouble() {
	for i := range c.single.len() {
		c.double.append(float64(c.single.at(i)))
		if c.inFile != nil && i&chunkMask == 0 {
			_ = c.double.moveTo(c.inFile)
		}
	}
	c.single = chunks[float32]{}
	c.isDouble = true
}

// DropLast removes the last row.
func (c *Numeric) DropLast() {
	if c.isDouble {
		c.double.drop()
	} else {
		c.single.drop()
	}
}

// Float returns the number in the given row, NaN where it is missing.
func (c *Numeric) Float(row int) float64 {
	if c.isDouble {
		return c.double.at(row)
	}
	return float64(c.single.at(row))
}

// Categorical returns the column as a categorical one in memory, whose levels are the
// distinct numbers in ascending order.
func (c *Numeric) Categorical() *Categorical {
	levels := NewCategorical(c.name)
	code := c.coder(levels)
	for row := range c.Len() {
		levels.Append(code(row))
	}
	levels.SortLevels()
	return levels
}

// coder returns a function that adds the number in a row to the levels and returns its code.
func (c *Numeric) coder(levels *Categorical) func(row int) int32 {
	codes := map[float64]int32{}
	return func(row int) int32 {
		v := c.Float(row)
		if math.IsNaN(v) {
			return missingCode
		}
		code, seen := codes[v]
		if !seen {
			code = levels.AddLevel(formatFloat(v))
			codes[v] = code
		}
		return code
	}
}

func (c *Numeric) Name() string         { return c.name }
func (c *Numeric) Kind() Kind           { return KindNumeric }
func (c *Numeric) Missing(row int) bool { return math.IsNaN(c.Float(row)) }

func (c *Numeric) Bytes() int64 { return columnBytes + c.single.bytes() + c.double.bytes() }

func (c *Numeric) MoveTo(file *rowfile.Store) (err error) {
	if c.isDouble {
		err = c.double.moveTo(file)
	} else {
		err = c.single.moveTo(file)
	}
	if err == nil {
		c.inFile = file
	}
	return err
}

func (c *Numeric) file() *rowfile.Store { return c.inFile }

func (c *Numeric) Len() int {
	if c.isDouble {
		return c.double.len()
	}
	return c.single.len()
}

func (c *Numeric) Format(row int) string {
	v := c.Float(row)
	if math.IsNaN(v) {
		return ""
	}
	return formatFloat(v)
}

func (c *Numeric) Select(rows []int) Column {
	s := c.blank()
	for _, row := range rows {
		s.Append(c.Float(row))
	}
	return s
}

// formatFloat writes the shortest text that parses back to v.
func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
