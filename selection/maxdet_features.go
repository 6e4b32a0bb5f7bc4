package selection

// MaxDet in feature space (paper, algorithm "MaxDet pseudocode implementation in
// feature space"), without rewriting the features (internal/posterior):
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
	"github.com/nextbatch/nextbatch/selection/internal/posterior"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

type maxDetFeatures struct {
	space    *Space
	name     string
	rows     space.Variances
	selected []int
	cov      *posterior.Covariance
	w        []float64
	largest  float64   // the largest k(x, x)
	scales   []float64 // the largest number of each feature
	best     float64   // the largest known variance
	accuracy accuracy
}

// manyRows is the number of rows from which a matrix product pays.
const manyRows = 16

func newMaxDetFeatures(s *Space, name string, sigma2 float64) (Forward, error) {
	rows, err := s.rows.Variances(sigma2)
	if err != nil {
		return nil, err
	}
	f := &maxDetFeatures{space: s, name: name, rows: rows, cov: s.rows.Covariance(sigma2),
		w: make([]float64, s.rows.Cols())}
	f.largest = rows.Prior()
	f.best = f.largest
	f.accuracy = accuracy{start: roundingsEach * unitRoundoff * f.largest, each: roundingsEach * unitRoundoff * f.largest}
	return f, nil
}

// Next returns the row of largest variance, which is its score.
func (f *maxDetFeatures) Next() (Choice, error) {
	best, err := f.rows.Best()
	if err == nil && f.accuracy.lost(best.Score) {
		if err := f.refresh(); err != nil {
			return Choice{}, err
		}
		best, err = f.rows.Best()
	}
	if err != nil {
		return Choice{}, err
	}
	f.lower(best.Score)
	return Choice{Row: best.Row, Score: f.space.price.per(best.Row, best.Score), Tied: best.Score == 0}, nil
}

// lower says what the largest variance has fallen to. Per cost, another row than that is
// the best, and the largest variance is only known to be no more than before.
func (f *maxDetFeatures) lower(best float64) {
	if f.space.price == nil {
		f.best = best
	}
}

// refresh recomputes all variances from all selected rows, with more digits where
// float64 has too few.
func (f *maxDetFeatures) refresh() error {
	rows := f.space.rows.Float64(f.selected)
	if f.cov.Observe(rows) && f.recompute(rows) {
		return nil
	}
	if f.cov.ObservePrecisely(rows) && f.recompute(rows) || f.space.Cancelled() {
		return nil
	}
	return &PrecisionError{Method: f.name, Largest: f.largest}
}

// recompute computes the variances from the base, and reports whether they are
// accurate.
func (f *maxDetFeatures) recompute(rows matrix.Dense[float64]) bool {
	f.rows.Rebase(f.cov)
	best, err := f.rows.Best()
	if err != nil || best.Row < 0 {
		return err == nil
	}
	f.lower(best.Score)
	off := 0.0
	for _, row := range sampleOf(best.Row, f.space.limits.open) {
		off = max(off, math.Abs(f.rows.At(row)-f.cov.Variance(f.space.rows.Float64([]int{row}).Row(0), rows)))
	}
	if f.scales == nil {
		f.scales = f.rows.Scales()
	}
	f.accuracy = accuracy{start: sampleMargin * off,
		each: 2 * roundingsEach * unitRoundoff * f.cov.Reach(f.scales) * math.Sqrt(best.Score)}
	return !f.accuracy.lost(best.Score)
}

// Add conditions on many rows as matrix products, on few one by one.
func (f *maxDetFeatures) Add(candidates []int) error {
	f.selected = append(f.selected, candidates...)
	if len(candidates) >= manyRows {
		return f.refresh()
	}
	for i, x := range candidates {
		if x < f.space.PoolSize() {
			if variance, done := f.rows.AddRow(x); done {
				f.accuracy.step(f.best, f.cov.Sigma2+variance)
				continue
			}
		}
		phi := f.space.rows.Float64(candidates[i : i+1]).Row(0)
		f.cov.Apply(f.w, phi)
		gamma2 := f.cov.Sigma2 + max(simd.For[float64]().Dot(phi, f.w), 0)
		f.cov.Update(f.w, -1, gamma2)
		f.accuracy.step(f.best, gamma2)
		if x >= f.space.PoolSize() {
			x = -1
		}
		f.rows.Step(f.cov, x)
	}
	return nil
}
