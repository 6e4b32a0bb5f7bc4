package selection

// MaxDet in feature space (paper, algorithm "MaxDet pseudocode implementation in
// feature space"), without rewriting the features (covariance.go):
//
//	INIT    c[x] = ⟨φ(x), φ(x)⟩
//	ADD(x)  w = S·φ(x)/γ,  γ² = σ² + ⟨φ(x), S·φ(x)⟩
//	        c[y] = c[y] − ⟨φ(y), w⟩² for all y,  S = S − w·wᵀ
//	NEXT    argmax c
//
// When rounding may decide, c is recomputed from all selected rows (accuracy.go).

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

type maxDetFeatures[T matrix.Float] struct {
	space    *Space[T]
	name     string
	pool     varianceSearch
	selected []int
	cov      *covariance
	w        []float64
	largest  float64   // the largest k(x, x)
	scales   []float64 // the largest number of each feature
	best     float64   // the largest known variance
	accuracy accuracy
}

// manyRows is the number of rows from which a matrix product pays.
const manyRows = 16

func newMaxDetFeatures[T matrix.Float](s *Space[T], name string, sigma2 float64) (Forward, error) {
	pool, err := s.rows.Variances(sigma2)
	if err != nil {
		return nil, err
	}
	d := s.pool.rows.Cols
	f := &maxDetFeatures[T]{space: s, name: name, pool: pool, cov: newCovariance(s, d, sigma2), w: make([]float64, d)}
	f.largest = pool.Prior()
	f.best = f.largest
	f.accuracy = accuracy{start: roundingsEach * unitRoundoff * f.largest, each: roundingsEach * unitRoundoff * f.largest}
	return f, nil
}

// Next returns the row of largest variance, which is its score.
func (f *maxDetFeatures[T]) Next() (Choice, error) {
	best, err := f.pool.Best()
	if err == nil && f.accuracy.lost(best.score) {
		if err := f.refresh(); err != nil {
			return Choice{}, err
		}
		best, err = f.pool.Best()
	}
	if err != nil {
		return Choice{}, err
	}
	f.lower(best.score)
	return Choice{Row: best.row, Score: f.space.perCost(best.row, best.score), Tied: best.score == 0}, nil
}

// lower says what the largest variance has fallen to. Per cost, another row than that is
// the best, and the largest variance is only known to be no more than before.
func (f *maxDetFeatures[T]) lower(best float64) {
	if f.space.price == nil {
		f.best = best
	}
}

// refresh recomputes all variances from all selected rows, with more digits where
// float64 has too few.
func (f *maxDetFeatures[T]) refresh() error {
	rows := f.space.float64Rows(f.selected)
	if f.cov.observe(rows) && f.recompute(rows) {
		return nil
	}
	if f.cov.observePrecisely(rows) && f.recompute(rows) || f.space.Cancelled() {
		return nil
	}
	return &PrecisionError{Method: f.name, Largest: f.largest}
}

// recompute computes the variances from the base, and reports whether they are
// accurate.
func (f *maxDetFeatures[T]) recompute(rows matrix.Dense[float64]) bool {
	f.pool.Rebase(f.cov)
	best, err := f.pool.Best()
	if err != nil || best.row < 0 {
		return err == nil
	}
	f.lower(best.score)
	off := 0.0
	for _, row := range sampleOf(best.row, f.space.limits.open) {
		off = max(off, math.Abs(f.pool.At(row)-f.cov.variance(f.space.float64Rows([]int{row}).Row(0), rows)))
	}
	if f.scales == nil {
		f.scales = f.pool.Scales()
	}
	f.accuracy = accuracy{start: sampleMargin * off,
		each: 2 * roundingsEach * unitRoundoff * f.cov.reach(f.scales) * math.Sqrt(best.score)}
	return !f.accuracy.lost(best.score)
}

// Add conditions on many rows as matrix products, on few one by one.
func (f *maxDetFeatures[T]) Add(candidates []int) error {
	f.selected = append(f.selected, candidates...)
	if len(candidates) >= manyRows {
		return f.refresh()
	}
	adder, _ := f.pool.(rowAdder)
	for i, x := range candidates {
		if adder != nil && x < f.space.PoolSize() {
			variance := f.pool.At(x)
			if adder.addRow(x) {
				f.accuracy.step(f.best, f.cov.sigma2+variance)
				continue
			}
		}
		phi := f.space.float64Rows(candidates[i : i+1]).Row(0)
		f.cov.apply(f.w, phi)
		gamma2 := f.cov.sigma2 + max(simd.For[float64]().Dot(phi, f.w), 0)
		f.cov.update(f.w, -1, gamma2)
		f.accuracy.step(f.best, gamma2)
		if x >= f.space.PoolSize() {
			x = -1
		}
		f.pool.Step(f.cov, x)
	}
	return nil
}
