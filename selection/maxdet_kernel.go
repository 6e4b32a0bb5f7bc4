package selection

// MaxDet in kernel space, a partial pivoted Cholesky factorisation of
// k(X_cand, X_cand) + σ²I (paper, algorithm "MaxDet pseudocode implementation in
// kernel space"; the square root there belongs into the denominator):
//
//	INIT    B = empty, c[x] = k(x, x) + σ²
//	ADD(x)  v = (k(·, x) + σ²e_x − BᵀB[·, x]) / √c[x],  B = [B; vᵀ],  c = c − v⊙v
//	NEXT    argmax c
//
// Training rows are never picked, so B has columns for the pool alone:
// many rows X at once give B = L⁻¹k(X, pool) with L·Lᵀ = k(X, X) + σ²I.
//
// When rounding may decide, B and c are recomputed from all selected rows with twice as
// many digits, and so are all further steps, as if the values of the kernel were exact,
// up to where their own rounding would decide. Where rows are features, feature space
// takes over, because products of features have lost digits.

import (
	"math"

	"github.com/nextbatch/nextbatch/selection/internal/posterior"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

type maxDetKernel struct {
	space    *Space
	name     string
	sigma2   float64
	rows     space.Pivots
	selected []int
	largest  float64 // the largest k(x, x)
	best     float64 // the largest known variance
	accuracy accuracy
	precise  *preciseKernel // replaces rows, once set
	features Forward        // replaces everything, once set
}

func newMaxDetKernel(s *Space, name string, sigma2 float64) (Forward, error) {
	rows, err := s.rows.Pivots(sigma2)
	if err != nil {
		return nil, err
	}
	f := &maxDetKernel{space: s, name: name, sigma2: sigma2, rows: rows, largest: rows.Prior()}
	f.best = f.largest
	// The variance is what c has beyond σ², so errors of both count.
	off := roundingsEach * unitRoundoff * (f.largest + sigma2)
	f.accuracy = accuracy{start: off, each: off}
	return f, nil
}

// Next returns the row of largest variance; its score is the variance without
// the noise.
func (f *maxDetKernel) Next() (Choice, error) {
	if f.features != nil {
		return f.features.Next()
	}
	if f.precise != nil {
		return f.nextPrecisely()
	}
	top, err := f.rows.Best()
	if err != nil {
		return Choice{}, err
	}
	best := max(top.Score-f.sigma2, 0)
	f.lower(best)
	if f.accuracy.lost(best) {
		if err := f.refresh(); err != nil {
			return Choice{}, err
		}
		return f.Next()
	}
	return Choice{Row: top.Row, Score: f.space.price.per(top.Row, best), Tied: best == 0}, nil
}

// lower is that of maxDetFeatures.
func (f *maxDetKernel) lower(best float64) {
	if f.space.price == nil {
		f.best = best
	}
}

func (f *maxDetKernel) nextPrecisely() (Choice, error) {
	best, err := f.precise.rows.Best()
	if err != nil {
		return Choice{}, err
	}
	if unitRoundoff*f.largest > tolerance*best.Score {
		return Choice{}, f.refusal()
	}
	return Choice{Row: best.Row, Score: f.space.price.per(best.Row, best.Score), Tied: best.Score == 0}, nil
}

func (f *maxDetKernel) refusal() error {
	return &PrecisionError{Method: f.name, Largest: f.largest}
}

// refresh starts over with all selected rows and more digits.
func (f *maxDetKernel) refresh() (err error) {
	f.rows = nil
	if f.space.rows.Explicit() {
		if f.features, err = newMaxDetFeatures(f.space, f.name, f.sigma2); err != nil {
			return err
		}
		return f.features.Add(f.selected)
	}
	if f.precise, err = newPreciseKernel(f.space, f.sigma2); err != nil {
		return err
	}
	return f.addPrecisely(f.selected)
}

func (f *maxDetKernel) addPrecisely(candidates []int) error {
	done, err := f.precise.add(candidates)
	if err == nil && !done {
		err = f.refusal()
	}
	return err
}

// Add adds the training rows, which come first, as one block.
func (f *maxDetKernel) Add(candidates []int) error {
	f.selected = append(f.selected, candidates...)
	switch {
	case f.features != nil:
		return f.features.Add(candidates)
	case f.precise != nil:
		return f.addPrecisely(candidates)
	case len(candidates) > 0 && candidates[0] >= f.space.PoolSize():
		return f.addTrain(candidates)
	}
	for _, x := range candidates {
		if err := f.add(x); err != nil {
			return err
		}
	}
	return nil
}

func (f *maxDetKernel) addTrain(candidates []int) error {
	rows := f.space.rows.Float64(candidates)
	l, err := f.space.rows.Gram(rows)
	if err != nil {
		return err
	}
	if !posterior.Cholesky(f.space.rows.Team(), l, f.sigma2) {
		return f.refresh()
	}
	for i := range l.Rows {
		f.accuracy.step(f.best, l.At(i, i)*l.At(i, i))
	}
	return f.rows.AddMany(rows, l)
}

func (f *maxDetKernel) add(x int) error {
	column, c := f.rows.Column(x)
	gamma2 := max(c, f.sigma2) // less than σ² is a rounding error
	f.accuracy.step(f.best, gamma2)
	return f.rows.Add(f.space.rows.Float64([]int{x}), x, column, 1/math.Sqrt(gamma2))
}
