package selection

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
)

// TestBAITMayWait compares picks and their scores with those of the version
// that does each step for every row, to the last bit.
func TestBAITMayWait(t *testing.T) {
	for name, f := range hardRows() {
		p := Problem[float64]{Pool: hardMatrix[float64](f, 2100, 1), Train: hardMatrix[float64](f, 40, 2), Batch: 40}
		for _, mode := range []Mode{P, TP} {
			for _, m := range []Method{BAIT{}, BAIT{Backward: true, Sigma2: 1e-3}} {
				p.Mode, p.Plain, p.InFile = mode, true, false
				p.Constraints = Constraints{Exclude: []int{1, 700}, Require: []int{4, 2}}
				want, err := selectCounted(t.Context(), m, p)
				if refused(t, name, err) {
					p.Plain = false
					if _, again := selectCounted(t.Context(), m, p); fmt.Sprint(again) != err.Error() {
						t.Errorf("%s, %s-%s: %v, plain %v", name, m.Name(), mode, again, err)
					}
					continue
				}
				p.Plain = false
				for threads := range 4 {
					p.InFile = threads >= 2
					got, err := selectCounted(linalg.WithThreads(t.Context(), threads%2), m, p)
					must(t, err)
					if !slices.Equal(got.Picks, want.Picks) || !slices.Equal(got.Removed, want.Removed) {
						t.Errorf("%s, %s-%s: %v, plain %v", name, m.Name(), mode, got.Rows(), want.Rows())
					}
					if got.Computed() > want.Computed() {
						t.Errorf("%s, %s-%s: a share of %v was computed", name, m.Name(), mode, got.Computed())
					}
				}
			}
		}
	}
}

// refused reports whether float64 has too few digits, which may happen for large rows only.
func refused(t *testing.T, name string, err error) bool {
	t.Helper()
	var precision *PrecisionError
	if errors.As(err, &precision) && precision.Largest > 1e8 {
		t.Logf("%s: %v", name, err)
		return true
	}
	must(t, err)
	return false
}
