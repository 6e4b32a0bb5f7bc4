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

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

type maxDetKernel[T matrix.Float] struct {
	space    *Space[T]
	name     string
	sigma2   float64
	pool     pivotSearch
	selected []int
	largest  float64 // the largest k(x, x)
	best     float64 // the largest known variance
	accuracy accuracy
	precise  *preciseKernel[T] // replaces pool, once set
	features Forward           // replaces everything, once set
}

func newMaxDetKernel[T matrix.Float](s *Space[T], name string, sigma2 float64) (Forward, error) {
	pool, err := s.rows.Pivots(sigma2)
	if err != nil {
		return nil, err
	}
	f := &maxDetKernel[T]{space: s, name: name, sigma2: sigma2, pool: pool, largest: pool.Prior()}
	f.best = f.largest
	// The variance is what c has beyond σ², so errors of both count.
	off := roundingsEach * unitRoundoff * (f.largest + sigma2)
	f.accuracy = accuracy{start: off, each: off}
	return f, nil
}

// Next returns the row of largest variance; its score is the variance without
// the noise.
func (f *maxDetKernel[T]) Next() (Choice, error) {
	if f.features != nil {
		return f.features.Next()
	}
	if f.precise != nil {
		return f.nextPrecisely()
	}
	top, err := f.pool.Best()
	if err != nil {
		return Choice{}, err
	}
	best := max(top.score-f.sigma2, 0)
	f.lower(best)
	if f.accuracy.lost(best) {
		if err := f.refresh(); err != nil {
			return Choice{}, err
		}
		return f.Next()
	}
	return Choice{Row: top.row, Score: f.space.perCost(top.row, best), Tied: best == 0}, nil
}

// lower is that of maxDetFeatures.
func (f *maxDetKernel[T]) lower(best float64) {
	if f.space.price == nil {
		f.best = best
	}
}

func (f *maxDetKernel[T]) nextPrecisely() (Choice, error) {
	best, err := f.precise.pool.Best()
	if err != nil {
		return Choice{}, err
	}
	if unitRoundoff*f.largest > tolerance*best.score {
		return Choice{}, f.refusal()
	}
	return Choice{Row: best.row, Score: f.space.perCost(best.row, best.score), Tied: best.score == 0}, nil
}

func (f *maxDetKernel[T]) refusal() error {
	return &PrecisionError{Method: f.name, Largest: f.largest}
}

// refresh starts over with all selected rows and more digits.
func (f *maxDetKernel[T]) refresh() (err error) {
	f.pool = nil
	if f.space.kernel == nil {
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

func (f *maxDetKernel[T]) addPrecisely(candidates []int) error {
	done, err := f.precise.add(candidates)
	if err == nil && !done {
		err = f.refusal()
	}
	return err
}

// Add adds the training rows, which come first, as one block.
func (f *maxDetKernel[T]) Add(candidates []int) error {
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

func (f *maxDetKernel[T]) addTrain(candidates []int) error {
	rows := f.space.float64Rows(candidates)
	l, err := f.space.gram(rows)
	if err != nil {
		return err
	}
	if !choleskyOf(f.space.team, l, f.sigma2) {
		return f.refresh()
	}
	for i := range l.Rows {
		f.accuracy.step(f.best, l.At(i, i)*l.At(i, i))
	}
	return f.pool.AddMany(rows, l)
}

func (f *maxDetKernel[T]) add(x int) error {
	column, c := f.pool.Column(x)
	gamma2 := max(c, f.sigma2) // less than σ² is a rounding error
	f.accuracy.step(f.best, gamma2)
	return f.pool.Add(f.space.float64Rows([]int{x}), x, column, 1/math.Sqrt(gamma2))
}

// gram returns the kernel matrix of rows in float64, which is then the type of the space.
func (s *Space[T]) gram(rows matrix.Dense[float64]) (matrix.Dense[float64], error) {
	k := matrix.New[float64](rows.Rows, rows.Rows)
	in64 := any(s).(*Space[float64])
	return k, in64.cross(k, rows, rows)
}

// cross computes kernel values; without a kernel rows are features.
func (s *Space[T]) cross(dst, a, b matrix.Dense[T]) error {
	if s.kernel != nil {
		return s.kernel.Cross(s.ctx, dst, a, b)
	}
	linalg.Gemm(s.team, dst, 1, a, linalg.NoTrans, b, linalg.Trans, 0)
	return nil
}
