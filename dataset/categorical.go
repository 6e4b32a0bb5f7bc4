package dataset

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch/internal/rowfile"
)

// levelBytes is what a level takes besides its text: its entries in the list
// and in the index, which is at most half full.
const levelBytes = 80

// missingCode is the code of a missing value.
const missingCode = -1

// Categorical is a column whose values come from a list of levels. A row holds
// the index of its level, four bytes, or -1 where it is missing.
type Categorical struct {
	name   string
	levels []string
	index  map[string]int32
	codes  chunks[int32]
	names  int64          // bytes of the levels and of the index
	inFile *rowfile.Store // see MoveTo
}

// NewCategorical returns an empty column with the given levels; repeated levels
// count once.
func NewCategorical(name string, levels ...string) *Categorical {
	c := &Categorical{name: name, index: make(map[string]int32, len(levels))}
	for _, level := range levels {
		c.AddLevel(level)
	}
	return c
}

// AddLevel returns the code of the level, adding the level if it is new.
func (c *Categorical) AddLevel(level string) int32 {
	if code, ok := c.index[level]; ok {
		return code
	}
	code := int32(len(c.levels))
	c.levels = append(c.levels, level)
	c.index[level] = code
	c.names += int64(len(level)) + levelBytes
	return code
}

// Lookup returns the code of a level, and whether there is such a level. It
// takes bytes because that is what readers have: a string would cost a copy per row.
func (c *Categorical) Lookup(level []byte) (code int32, ok bool) {
	code, ok = c.index[string(level)]
	return code, ok
}

// Append adds a row with the code of a level, -1 for a missing value.
func (c *Categorical) Append(code int32) {
	if code < missingCode || int(code) >= len(c.levels) {
		panic(&ColumnError{Column: c.name, Row: c.Len(), Problem: "the code " + strconv.Itoa(int(code)) + " has no level"})
	}
	c.codes.append(code)
}

// DropLast removes the last row. Its level stays, even if no other row has it.
func (c *Categorical) DropLast() { c.codes.drop() }

// Code returns the code in the given row, -1 where it is missing.
func (c *Categorical) Code(row int) int32 { return c.codes.at(row) }

// Levels returns the levels by code. Do not modify the slice.
func (c *Categorical) Levels() []string { return c.levels }

// SortLevels sorts the levels, as numbers if all of them are numbers and as
// text otherwise, so that their order does not depend on that of the rows.
func (c *Categorical) SortLevels() {
	order := make([]int32, len(c.levels))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, c.comparison())
	renamed := make([]int32, len(order))
	sorted := make([]string, len(order))
	for to, from := range order {
		renamed[from] = int32(to)
		sorted[to] = c.levels[from]
		c.index[sorted[to]] = int32(to)
	}
	c.levels = sorted
	for row := range c.Len() {
		if code := c.codes.ref(row); *code != missingCode {
			*code = renamed[*code]
		}
	}
}

func (c *Categorical) comparison() func(a, b int32) int {
	numbers := make([]float64, len(c.levels))
	for i, level := range c.levels {
		v, err := strconv.ParseFloat(level, 64)
		if err != nil {
			return func(a, b int32) int { return cmp.Compare(c.levels[a], c.levels[b]) }
		}
		numbers[i] = v
	}
	return func(a, b int32) int { return cmp.Compare(numbers[a], numbers[b]) }
}

// Text returns the column as text. Rows in a file stay there, as far as they find space; the
// next MoveTo says if they do not.
func (c *Categorical) Text() *Text {
	t := NewText(c.name)
	for row := range c.Len() {
		t.Append([]byte(c.Format(row)))
		if c.inFile != nil && row&chunkMask == 0 {
			_ = t.MoveTo(c.inFile)
		}
	}
	return t
}

func (c *Categorical) Name() string         { return c.name }
func (c *Categorical) Kind() Kind           { return KindCategorical }
func (c *Categorical) Len() int             { return c.codes.len() }
func (c *Categorical) Missing(row int) bool { return c.Code(row) == missingCode }
func (c *Categorical) Bytes() int64         { return columnBytes + c.names + c.codes.bytes() }

func (c *Categorical) MoveTo(file *rowfile.Store) error {
	err := c.codes.moveTo(file)
	if err == nil {
		c.inFile = file
	}
	return err
}

func (c *Categorical) file() *rowfile.Store { return c.inFile }

func (c *Categorical) Format(row int) string {
	if code := c.Code(row); code != missingCode {
		return c.levels[code]
	}
	return ""
}

func (c *Categorical) Select(rows []int) Column {
	s := NewCategorical(c.name, c.levels...)
	for _, row := range rows {
		s.codes.append(c.Code(row))
	}
	return s
}
