package merge

import (
	"maps"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
)

// withSides returns the table with some labels marked as limits, in rows that had no label, in a column of their own.
func withSides(t *dataset.Table, target string, sides map[int]int8) *dataset.Table {
	if len(sides) == 0 {
		return t
	}
	all := maps.Clone(sides)
	for row := range t.Rows() {
		if side := t.Side(target, row); side != 0 {
			all[row] = side
		}
	}
	marks := dataset.NewCensored(target, t.Rows(), all)
	columns := slices.DeleteFunc(slices.Clone(t.Columns()),
		func(c dataset.Column) bool { return c.Name() == marks.Name() })
	at := slices.IndexFunc(columns, func(c dataset.Column) bool { return c.Name() == target })
	return t.With(slices.Insert(columns, at+1, dataset.Column(marks)), t.Rows())
}

// MarkLimits returns the table with a column of marks for each target that has limits, so that they stay with their
// rows.
func MarkLimits(t *dataset.Table, targets ...string) *dataset.Table {
	origin := t.Origin()
	for _, target := range targets {
		if t.Has(target) && !t.Has(dataset.CensoredColumn(target)) {
			if marked := withSides(t, target, t.Origin().Censored[target]); marked != t {
				marked.SetOrigin(origin)
				t = marked
			}
		}
	}
	return t
}
