package selection_test

import (
	"flag"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

var full = flag.Bool("full", false,
	"compare batches of 256 of 100000 rows with those of the plain versions: about a minute")

// TestFullSize compares picks and their scores at the size that the methods were
// made for: features as they are after conditioning on a training set, with
// variances below the noise variance.
func TestFullSize(t *testing.T) {
	if !*full {
		t.Skip("takes a minute; run it with -full")
	}
	p := selection.Problem[float64]{Pool: decaying[float64](100_000, 512, 1),
		Train: matrix.New[float64](0, 512), Batch: 256, Seed: 1}
	for i := range p.Pool.Data {
		p.Pool.Data[i] *= 1e-4
	}
	for _, m := range []selection.Method{selection.MaxDet{}, selection.BAIT{},
		selection.BAIT{Backward: true}, selection.FrankWolfe{}} {
		p.Plain = false
		got := mustSelect(t, m, p)
		p.Plain = true
		want := mustSelect(t, m, p)
		if !slices.Equal(got.Picks, want.Picks) || !slices.Equal(got.Removed, want.Removed) {
			t.Errorf("%s: %v, plain %v", m.Name(), got.Rows(), want.Rows())
		}
		t.Logf("%s: %.2f s, plain %.2f s", m.Name(), got.Timing.Total.Seconds(), want.Timing.Total.Seconds())
	}
}
