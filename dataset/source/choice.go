package source

// Choice decides, while a text file is read, which of its rows stay: those that
// are not wanted take no memory. Only complete rows can be wanted. Rows and columns
// count from 0.
type Choice struct {
	// MayLack says whether a complete row may lack a value in the column; nil
	// means that it may not.
	MayLack func(column int, name string) bool
	// Begin returns the function that says whether the next complete row stays.
	// It is called when a pass over the file begins.
	Begin func() func() bool

	// What the last pass has found.
	Seen     int   // rows of the file
	Complete int   // those that are complete
	Rows     []int // those that stay

	wants  func() bool
	counts []bool // by column: whether it must not lack a value
}

// restart forgets what an earlier pass over the file has seen.
func (c *Choice) restart() *Choice {
	if c == nil {
		return nil
	}
	*c = Choice{MayLack: c.MayLack, Begin: c.Begin, wants: c.Begin()}
	return c
}

// choose takes back the row that was just added, unless it is wanted.
func (r *rows) choose() {
	if r.choice != nil && !r.choice.stays(r) {
		for _, s := range r.sinks {
			if s != nil {
				s.soFar().DropLast()
			}
		}
	}
}

func (c *Choice) stays(r *rows) bool {
	if c.counts == nil {
		c.counts = make([]bool, len(r.names))
		for j, name := range r.names {
			c.counts[j] = c.MayLack == nil || !c.MayLack(j, name)
		}
	}
	row := c.Seen
	c.Seen++
	for j, s := range r.sinks {
		if s == nil || !c.counts[j] {
			continue
		}
		if column := s.soFar(); column.Missing(column.Len() - 1) {
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
