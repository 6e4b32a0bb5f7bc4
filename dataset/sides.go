package dataset

import (
	"maps"
	"slices"

	"github.com/nextbatch/nextbatch/internal/words"
)

// Side returns on which side of a label the true one lies: -1 below, 1 above, 0 where the label is the true one. The
// column that marks limits (CensoredColumn) says it, or else the reader of the table.
func (t *Table) Side(target string, row int) int8 {
	marks, err := t.Numeric(CensoredColumn(target))
	if err != nil {
		return t.Origin().Censored[target][row]
	}
	switch v := marks.Float(row); {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

// Spell writes a number with the sign of the limit that it is.
func Spell(v float64, side int8) string { return words.Sign(side) + formatFloat(v) }

// withSides returns the table with some labels marked as limits, in rows that had no label, in a column of their own.
func (t *Table) withSides(target string, sides map[int]int8) *Table {
	if len(sides) == 0 {
		return t
	}
	all := maps.Clone(sides)
	for row := range t.rows {
		if side := t.Side(target, row); side != 0 {
			all[row] = side
		}
	}
	marks := NewCensored(target, t.rows, all)
	columns := slices.DeleteFunc(slices.Clone(t.columns), func(c Column) bool { return c.Name() == marks.Name() })
	at := slices.IndexFunc(columns, func(c Column) bool { return c.Name() == target })
	return t.with(slices.Insert(columns, at+1, Column(marks)), t.rows)
}

// MarkLimits returns the table with a column of marks for each target that has limits, so that they stay with their
// rows.
func (t *Table) MarkLimits(targets ...string) *Table {
	origin := t.origin
	for _, target := range targets {
		if t.Has(target) && !t.Has(CensoredColumn(target)) {
			t = t.withSides(target, t.Origin().Censored[target])
			t.origin = origin
		}
	}
	return t
}
