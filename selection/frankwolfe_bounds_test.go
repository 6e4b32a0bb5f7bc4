package selection

import (
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
)

// TestFrankWolfeLeavesOut compares picks and their scores with those of the
// version that computes all scores, to the last bit.
func TestFrankWolfeLeavesOut(t *testing.T) {
	for name, f := range hardRows() {
		p := Problem[float64]{Pool: hardMatrix[float64](f, 2100, 1), Train: hardMatrix[float64](f, 40, 2), Batch: 60}
		clear(p.Pool.Row(5))
		for _, mode := range []Mode{P, TP} {
			p.Mode, p.Plain = mode, true
			p.Constraints = Constraints{Exclude: []int{1, 700}, Require: []int{4, 2}}
			want, err := selectCounted(t.Context(), FrankWolfe{}, p)
			must(t, err)
			p.Plain = false
			for threads := range 2 {
				got, err := selectCounted(linalg.WithThreads(t.Context(), threads), FrankWolfe{}, p)
				must(t, err)
				if !slices.Equal(got.Picks, want.Picks) {
					t.Errorf("%s, %s: %v, plain %v", name, mode, got.Rows(), want.Rows())
				}
				if got.Computed() > want.Computed() {
					t.Errorf("%s, %s: a share of %v was computed", name, mode, got.Computed())
				}
			}
		}
	}
}
