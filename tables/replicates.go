package tables

import (
	"fmt"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
)

// average makes one row of labelled rows with the same id. For each target,
// its label is the mean of those that they have; its inputs are those of the row that lacks fewest of them, the first
// if there are several. Rows with the same id must not contradict each other.
func (t Tables) average(parts []part, offsets []int, all *dataset.Table, labels matrix.Dense[float64], r *Rows) error {
	p := &parts[0]
	if t.IDColumn == "" || p.table == nil || labels.Cols == 0 {
		return nil
	}
	ids, err := p.table.Column(t.IDColumn)
	if err != nil {
		return nil // reported where ids are needed
	}
	byID := make(map[string][]int, len(p.rows))
	for _, row := range p.rows {
		if !ids.Missing(row) {
			byID[ids.Format(row)] = append(byID[ids.Format(row)], row)
		}
	}
	if len(byID) == len(p.rows) {
		return nil
	}
	m := merging{table: p.table, offset: offsets[0]}
	for _, name := range r.Encoder.Columns() {
		c, err := all.Column(name)
		if err != nil {
			return err
		}
		m.columns = append(m.columns, c)
	}
	var kept []int
	merged, several := 0, 0
	for _, row := range p.rows {
		group := byID[ids.Format(row)]
		if ids.Missing(row) || len(group) == 1 {
			kept = append(kept, row)
			continue
		}
		if row != group[0] {
			continue
		}
		best, err := m.merge(group)
		if err != nil {
			return fmt.Errorf("%s: id %q: %w", p.name, ids.Format(row), err)
		}
		averageLabels(labels, best, group)
		if r.merged == nil {
			r.merged = map[int][]int{}
		}
		r.merged[best] = group
		kept = append(kept, best)
		several++
		merged += len(group)
	}
	p.rows = kept
	if several > 0 {
		//warning:same-id
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%s: %s several labels, in %d rows; each such id counts as one row with the mean of its labels", p.name,
				words.Count(several, "id has", "ids have"), merged))
	}
	return nil
}

// averageLabels writes the mean label of a group of rows to one of them, for each target.
func averageLabels(labels matrix.Dense[float64], to int, group []int) {
	for k := range labels.Cols {
		sum, n := 0.0, 0
		for _, row := range group {
			if y := labels.At(row, k); present(y) {
				sum, n = sum+y, n+1
			}
		}
		labels.Set(to, k, sum/float64(n)) // NaN where none has a label
	}
}

// MergeReplicates returns which of the rows of a table with the same id, each with labels, counts as one row: the one
// that lacks the fewest of the columns. Rows that contradict each other in one of them are an error.
func MergeReplicates(t *dataset.Table, columns []dataset.Column, group []int) (int, error) {
	return merging{table: t, columns: columns}.merge(group)
}

// merging compares the inputs of labelled rows with the same id.
type merging struct {
	table   *dataset.Table
	columns []dataset.Column
	offset  int
}

// merge returns the row of a group that lacks the fewest inputs.
func (m merging) merge(group []int) (int, error) {
	best, fewest := group[0], len(m.columns)+1
	for _, row := range group {
		if _, count := countMissing(m.columns, m.offset+row); count < fewest {
			best, fewest = row, count
		}
	}
	for _, row := range group {
		for _, c := range m.columns {
			at, other := m.offset+best, m.offset+row
			if !c.Missing(at) && !c.Missing(other) && c.Format(at) != c.Format(other) {
				return 0,
					fmt.Errorf(
						"%s and %s have labels but differ in column %q: %s and %s; give rows with different inputs different ids",
						m.table.Place(min(best, row), ""), m.table.Place(max(best, row), ""), c.Name(), c.Format(m.offset+min(best, row)),
						c.Format(m.offset+max(best, row)))
			}
		}
	}
	return best, nil
}
