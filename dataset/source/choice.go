package source

import "slices"

// choice decides, while a text file is read, which of its rows stay: those that
// are not wanted take no memory. Only complete rows can be wanted.
type choice struct {
	unused Columns            // may lack values
	begin  func() func() bool // makes the function that says whether the next complete row stays

	wants    func() bool
	counts   []bool // by column: whether it must not lack a value
	seen     int    // rows of the file so far
	complete int
	rows     []int // those that stay, from 0
}

// restart forgets what an earlier attempt to read the file has seen.
func (c *choice) restart() *choice {
	if c == nil {
		return nil
	}
	*c = choice{unused: c.unused, begin: c.begin, wants: c.begin()}
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

func (c *choice) stays(r *rows) bool {
	if c.counts == nil {
		c.counts = c.unused.others(r.names)
	}
	row := c.seen
	c.seen++
	for j, s := range r.sinks {
		if s == nil || !c.counts[j] {
			continue
		}
		if column := s.soFar(); column.Missing(column.Len() - 1) {
			return false
		}
	}
	c.complete++
	if !c.wants() {
		return false
	}
	c.rows = append(c.rows, row)
	return true
}

// others says which of the named columns are not among c.
func (c Columns) others(names []string) []bool {
	others := make([]bool, len(names))
	for j, name := range names {
		others[j] = !slices.Contains(c.Index, j) && !slices.Contains(c.Names, name)
	}
	return others
}
