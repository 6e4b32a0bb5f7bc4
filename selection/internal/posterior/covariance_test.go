package posterior

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestPreciseCovarianceIsCancelled: the computation with twice as many digits checks the
// context once per block of rows and once per column, and stops at the next check.
func TestPreciseCovarianceIsCancelled(t *testing.T) {
	const d, n = 20, 3*preciseBlock + 5
	rows := matrix.New[float64](n, d)
	rng.FillNormal(rng.New(1, "covariance test"), rows.Data)
	observe := func(limit int) (bool, int) {
		checks := 0
		cov := New(nil, func() bool { checks++; return checks > limit }, d, 1e-3)
		return cov.ObservePrecisely(rows), checks
	}
	done, all := observe(1 << 30)
	if !done || all != 4+d {
		t.Fatalf("%d checks, done: %v", all, done)
	}
	for limit := range all {
		if done, checks := observe(limit); done || checks > limit+2 {
			t.Errorf("cancelled after %d checks: done: %v after %d", limit, done, checks)
		}
	}
}
