package dataset

import "github.com/nextbatch/nextbatch/internal/words"

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
