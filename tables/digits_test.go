package tables

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// TestLostDigitsAreAWarning: of inputs and labels that were rounded before they came here, and
// of a network that was saved before it knew centres.
func TestLostDigitsAreAWarning(t *testing.T) {
	t.Parallel()
	stream := rng.New(2, "lost digits")
	single, huge, y := dataset.NewNumeric("single"), dataset.NewNumeric("huge"), dataset.NewNumeric("y")
	for i := range 60 {
		single.Append(float64(float32(1.7e9 + 500*stream.NormFloat64())))
		huge.Append(1e16 + 10*stream.NormFloat64())
		y.Append([]float64{float64(float32(3e9 + 100*stream.NormFloat64())), math.NaN()}[i%2])
	}
	single.FromSingle = true
	y.FromSingle = true
	rows := rowsOf(t, Tables{Input: Input{Table: tableOf(t, single, huge, y), TargetColumns: []string{"y"}}})
	mustSay(t, rows.Warnings,
		`column "single" may have lost digits: its numbers lie around 1.7e+09 with a deviation of `,
		`column "huge" may have lost digits: its numbers lie around 1e+16 with a deviation of `,
		`column "y" may have lost digits: its numbers lie around 3e+09 with a deviation of `)
	for i, advice := range []string{"save it as float64, or subtract an offset before that, such as 1.7e+09",
		"subtract an offset before the column is saved, such as 1e+16", "save it as float64"} {
		if !strings.Contains(rows.Warnings[i], advice) {
			t.Errorf("%q does not say %q", rows.Warnings[i], advice)
		}
	}
	far, b, label := dataset.NewNumeric("far"), dataset.NewNumeric("b"), dataset.NewNumeric("y")
	for range 60 {
		far.Append(1.7e9 + stream.NormFloat64())
		b.Append(stream.NormFloat64())
		label.Append(stream.NormFloat64())
	}
	pool := tableOf(t, far, b)
	both := rowsOf(t, Tables{Input: Input{Train: tableOf(t, far, b, label), Pool: pool, TargetColumns: []string{"y"}}})
	old := both.Encoder
	old.Centres = nil
	found := slices.DeleteFunc(rowsOf(t, Tables{Input: Input{Pool: pool}, Encoder: &old}).Warnings,
		func(w string) bool { return !strings.Contains(w, "digits") })
	mustSay(t, found, "fit it again")
}
