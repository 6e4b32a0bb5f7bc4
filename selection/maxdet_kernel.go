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
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

type maxDetKernel struct {
	space    *Space[float64]
	name     string
	sigma2   float64
	selected []int
	b        [][]float64 // rows of B
	c        []float64
	largest  float64 // the largest k(x, x)
	best     float64 // the largest known variance
	accuracy accuracy
	precise  *preciseKernel // replaces b, once set
	features Forward        // replaces everything, once set
}

func newMaxDetKernel[T matrix.Float](s *Space[T], name string, sigma2 float64) (Forward, error) {
	in64, ok := any(s).(*Space[float64])
	if !ok {
		return nil, &MethodError{name, "float32 loses σ²: in kernel space it needs a kernel in float64"}
	}
	f := &maxDetKernel{space: in64, name: name, sigma2: sigma2, c: matrix.Alloc[float64](in64.PoolSize())}
	for i, v := range in64.Diag() {
		f.c[i] = v + sigma2
	}
	f.largest = largestOf(in64.Diag())
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
	row, err := bestOpen(f.space.team, f.c, f.space.limits.open)
	if err != nil {
		return Choice{}, err
	}
	f.best = max(f.c[row]-f.sigma2, 0)
	if f.accuracy.lost(f.best) {
		if err := f.refresh(); err != nil {
			return Choice{}, err
		}
		return f.Next()
	}
	return Choice{Row: row, Score: f.best, Tied: f.best == 0}, nil
}

func (f *maxDetKernel) nextPrecisely() (Choice, error) {
	f.precise.variances(f.c)
	row, err := bestOpen(f.space.team, f.c, f.space.limits.open)
	if err != nil {
		return Choice{}, err
	}
	f.best = f.c[row]
	if unitRoundoff*f.largest > tolerance*f.best {
		return Choice{}, f.refusal()
	}
	return Choice{Row: row, Score: f.best, Tied: f.best == 0}, nil
}

func (f *maxDetKernel) refusal() error {
	return &PrecisionError{Method: f.name, Largest: f.largest}
}

// refresh starts over with all selected rows and more digits.
func (f *maxDetKernel) refresh() (err error) {
	f.b = nil
	if f.space.kernel == nil {
		if f.features, err = newMaxDetFeatures(f.space, f.name, f.sigma2); err != nil {
			return err
		}
		return f.features.Add(f.selected)
	}
	f.precise = newPreciseKernel(f.space, f.sigma2)
	return f.addPrecisely(f.selected)
}

func (f *maxDetKernel) addPrecisely(candidates []int) error {
	done, err := f.precise.add(candidates)
	if err == nil && !done {
		err = f.refusal()
	}
	return err
}

// Add takes the training rows, which come first, as one block.
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
	rows, _ := f.space.gather(candidates)
	l := matrix.New[float64](rows.Rows, rows.Rows)
	if err := f.space.cross(l, rows, rows); err != nil {
		return err
	}
	if !choleskyOf(f.space.team, l, f.sigma2) {
		return f.refresh()
	}
	b := matrix.New[float64](rows.Rows, f.space.PoolSize())
	if err := f.space.cross(b, rows, f.space.pool.rows); err != nil {
		return err
	}
	if err := linalg.SolveLower(f.space.team, b, linalg.Left, l, linalg.NoTrans); err != nil {
		return err
	}
	for i := range b.Rows {
		f.accuracy.step(f.best, l.At(i, i)*l.At(i, i))
		f.extend(b.Row(i))
	}
	return nil
}

// cross computes kernel values; without a kernel rows are features.
func (s *Space[T]) cross(dst, a, b matrix.Dense[T]) error {
	if s.kernel != nil {
		return s.kernel.Cross(s.ctx, dst, a, b)
	}
	linalg.Gemm(s.team, dst, 1, a, linalg.NoTrans, b, linalg.Trans, 0)
	return nil
}

func (f *maxDetKernel) add(x int) error {
	v := matrix.Alloc[float64](f.space.PoolSize())
	if err := f.space.Kernel(v, x); err != nil {
		return err
	}
	v[x] += f.sigma2
	set := simd.For[float64]()
	column := f.column(x)
	gamma2 := max(f.c[x], f.sigma2) // less than σ² is a rounding error
	f.accuracy.step(f.best, gamma2)
	scale := 1 / math.Sqrt(gamma2)
	f.space.team.OverPieces(len(v), scanPiece, func(_, from, to int) {
		part := v[from:to]
		for j, b := range f.b {
			set.Axpy(part, b[from:to], -column[j])
		}
		for i := range part {
			part[i] *= scale
		}
	})
	f.extend(v)
	return nil
}

// column returns B[·, x].
func (f *maxDetKernel) column(x int) []float64 {
	column := make([]float64, len(f.b))
	for j, b := range f.b {
		column[j] = b[x]
	}
	return column
}

// extend adds a row to B and lowers c.
func (f *maxDetKernel) extend(v []float64) {
	f.b = append(f.b, v)
	f.space.team.OverPieces(len(v), scanPiece, func(_, from, to int) {
		for i := from; i < to; i++ {
			f.c[i] -= v[i] * v[i]
		}
	})
}
