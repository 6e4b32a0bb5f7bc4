package selection

import (
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
)

// TestMaxDetMayWait compares picks and their scores with those of the version
// that does each step for every row, to the last bit.
func TestMaxDetMayWait(t *testing.T) {
	for name, f := range hardRows() {
		p := Problem[float64]{Pool: hardMatrix[float64](f, 1200, 1), Train: hardMatrix[float64](f, 40, 2), Batch: 100}
		for _, mode := range []Mode{P, TP} {
			p.Mode, p.Plain = mode, true
			p.Constraints = Constraints{Exclude: []int{1, 700}, Require: []int{4, 2}}
			want, err := selectCounted(t.Context(), MaxDet{}, p)
			must(t, err)
			p.Plain = false
			for threads := range 2 {
				got, err := selectCounted(linalg.WithThreads(t.Context(), threads), MaxDet{}, p)
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
