package cli

import (
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
)

// noCandidate says why a row of --must cannot be picked.
func (s *selecting) noCandidate(name string) error {
	row := s.rowOf(s.poolT, name)
	switch {
	case row >= 0 && s.trainT == s.poolT && !s.missingLabel(row):
		return dataError{errorf("--must: row %q is no candidate, because it has a label in column %q", name, s.columns.target)}
	case row >= 0:
		return dataError{errorf("--must: row %q is no candidate, because it lacks an input and is left out; fill it in", name)}
	case s.trainT != s.poolT && s.columns.id != "" && s.rowOf(s.trainT, name) >= 0:
		return dataError{errorf("--must: row %q is in the labelled rows, %s, and not among the candidates, %s", name, s.train, s.pool)}
	case s.columns.id != "":
		return dataError{errorf("--must: there is no candidate %q in column %q", name, s.columns.id)}
	case s.poolT != nil:
		return dataError{errorf("--must: there is no row %q; without --id rows go by number, from 0", name)}
	}
	return dataError{errorf("--must: there is no row %q; the %d candidates go by number, from 0", name, len(s.poolRows))}
}

// rowOf finds a row of a table by the name that the user gave it; -1 if there is
// none.
func (s *selecting) rowOf(t *dataset.Table, name string) int {
	if t == nil {
		return -1
	}
	if s.columns.id == "" {
		if row, err := strconv.Atoi(name); err == nil && row >= 0 && row < t.Rows() {
			return row
		}
		return -1
	}
	ids, err := t.Column(s.columns.id)
	if err != nil {
		return -1
	}
	for row := range t.Rows() {
		if ids.Format(row) == name {
			return row
		}
	}
	return -1
}

func (s *selecting) missingLabel(row int) bool {
	labels, err := s.poolT.Column(s.columns.target)
	return err != nil || labels.Missing(row)
}

// checkMust refuses rows of --must that do not fit into the budget or their
// groups together.
func (s *selecting) checkMust(names []string) error {
	c := &s.problem.Constraints
	if n := c.Affordable(c.Require); n < len(c.Require) {
		cost := 0.0
		for _, row := range c.Require[:n+1] {
			cost += c.Cost[row]
		}
		return usagef("--must: with row %q the rows cost %.12g, and --budget is %.12g", names[n], cost, c.Budget)
	}
	inGroup := map[int]int{}
	for i, row := range c.Require {
		if c.Group != nil {
			group := c.Group[row]
			if inGroup[group]++; inGroup[group] > c.PerGroup {
				return usagef("--must: row %q is number %d of its group in column %q, and --per-group is %d", names[i], inGroup[group], s.group, c.PerGroup)
			}
		}
	}
	return nil
}
