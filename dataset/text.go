package dataset

import "github.com/nextbatch/nextbatch/internal/rowfile"

// Text is a column of arbitrary text, such as the ids of the rows. The bytes of
// many rows share one block, so that a row costs its bytes and eight more. The
// empty text is a missing value.
type Text struct {
	name   string
	parts  [][]byte       // part i starts at row i·chunkLen
	moved  int            // how many of the first parts are in a file
	ends   chunks[int]    // where a row ends in its part
	inFile *rowfile.Store // see MoveTo
}

// NewText returns a column of the given values.
func NewText(name string, values ...string) *Text {
	c := &Text{name: name}
	for _, v := range values {
		c.Append([]byte(v))
	}
	return c
}

// Append adds a row with a copy of value.
func (c *Text) Append(value []byte) {
	if c.Len()&chunkMask == 0 {
		c.parts = append(c.parts, nil)
	}
	last := &c.parts[len(c.parts)-1]
	*last = append(*last, value...)
	c.ends.append(len(*last))
}

// DropLast removes the last row.
func (c *Text) DropLast() {
	last := &c.parts[len(c.parts)-1]
	*last = (*last)[:len(*last)-len(c.value(c.Len()-1))]
	c.ends.drop()
	if c.Len()&chunkMask == 0 {
		c.parts = c.parts[:len(c.parts)-1]
		c.moved = min(c.moved, len(c.parts))
	}
}

func (c *Text) value(row int) []byte {
	start := 0
	if row&chunkMask != 0 {
		start = c.ends.at(row - 1)
	}
	return c.parts[row>>chunkBits][start:c.ends.at(row)]
}

func (c *Text) Name() string          { return c.name }
func (c *Text) Kind() Kind            { return KindText }
func (c *Text) Len() int              { return c.ends.len() }
func (c *Text) Missing(row int) bool  { return len(c.value(row)) == 0 }
func (c *Text) Format(row int) string { return string(c.value(row)) }

func (c *Text) Bytes() int64 {
	total := columnBytes + c.ends.bytes()
	for _, part := range c.parts[c.moved:] {
		total += int64(cap(part))
	}
	return total
}

func (c *Text) MoveTo(file *rowfile.Store) (err error) {
	for ; c.moved < len(c.parts)-1; c.moved++ { // the last may grow
		if c.parts[c.moved], err = moved(file, c.parts[c.moved]); err != nil {
			return err
		}
	}
	if err = c.ends.moveTo(file); err == nil {
		c.inFile = file
	}
	return err
}

func (c *Text) file() *rowfile.Store { return c.inFile }

func (c *Text) Select(rows []int) Column {
	s := NewText(c.name)
	for _, row := range rows {
		s.Append(c.value(row))
	}
	return s
}
