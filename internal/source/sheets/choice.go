package sheets

import "github.com/nextbatch/nextbatch/internal/source/cells"

// Choice decides, while a text file is read, which of its rows to keep; the others take no memory. Only complete rows
// can be kept. Rows and columns count from 0.
type Choice struct {
	// MayLack reports whether a complete row may lack a value in the column; nil means that it may not.
	MayLack func(column int, name string) bool
	// Begin returns the function that reports whether to keep the next complete
	// row. It is called at the start of each pass over the file.
	Begin func() func() bool

	// Results of the last pass.
	Seen     int   // rows of the file
	Complete int   // the complete ones
	Rows     []int // the ones kept

	wants  func() bool
	counts []bool // by column: whether a value is required
}

// Restarted resets the results of an earlier pass over the file.
func Restarted(c *Choice) *Choice {
	if c == nil {
		return nil
	}
	*c = Choice{MayLack: c.MayLack, Begin: c.Begin, wants: c.Begin()}
	return c
}

// choose removes the row that was just added from a record, unless it was chosen.
func (r *Rows) choose(rec cells.Record) {
	if r.Choice == nil || r.Choice.stays(r) {
		r.Lines.Add(rec.Line)
		return
	}
	for _, s := range r.Sinks {
		if s == nil {
			continue
		}
		s.SoFar().DropLast()
		if numbers, ok := s.(*NumberSink); ok && numbers.cells != nil {
			delete(numbers.cells.Sides, numbers.Into.Len())
		}
	}
}

func (c *Choice) stays(r *Rows) bool {
	if c.counts == nil {
		c.counts = make([]bool, len(r.Names))
		for j, name := range r.Names {
			c.counts[j] = c.MayLack == nil || !c.MayLack(j, name)
		}
	}
	row := c.Seen
	c.Seen++
	for j, s := range r.Sinks {
		if s == nil || !c.counts[j] {
			continue
		}
		if column := s.SoFar(); column.Missing(column.Len() - 1) {
			return false
		}
	}
	c.Complete++
	if !c.wants() {
		return false
	}
	c.Rows = append(c.Rows, row)
	return true
}
