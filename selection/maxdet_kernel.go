package selection

// MaxDet in kernel space, a partial pivoted Cholesky factorisation of
// k(X_cand, X_cand) + σ²I (paper, algorithm "MaxDet pseudocode implementation in
// kernel space"; the square root there belongs into the denominator):
//
//	INIT    B = empty, c[x] = k(x, x) + σ²
//	ADD(x)  v = (k(·, x) + σ²e_x − BᵀB[·, x]) / √c[x],  B = [B; vᵀ],  c = c − v⊙v
//	NEXT    argmax c
//
// Training rows are never looked at again, so B has columns for the pool alone:
// many rows X at once give B = L⁻¹k(X, pool) with L·Lᵀ = k(X, X) + σ²I.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

type maxDetKernel struct {
	space  *Space[float64]
	sigma2 float64
	b      [][]float64 // rows of B
	c      []float64
}

func newMaxDetKernel[T matrix.Float](s *Space[T], name string, sigma2 float64) (Forward, error) {
	wide, ok := any(s).(*Space[float64])
	if !ok {
		return nil, &MethodError{name, "σ² is lost beside float32: in kernel space it needs a kernel in float64"}
	}
	c := alloc[float64](wide, wide.PoolSize())
	for i, v := range wide.Diag() {
		c[i] = v + sigma2
	}
	return &maxDetKernel{space: wide, sigma2: sigma2, c: c}, nil
}

// Next returns the row of largest variance; its score is the variance without
// the noise.
func (f *maxDetKernel) Next() (Choice, error) {
	row, err := bestOpen(f.space.team, f.c, f.space.limits.open)
	if err != nil {
		return Choice{}, err
	}
	score := max(f.c[row]-f.sigma2, 0)
	return Choice{Row: row, Score: score, Tied: score == 0}, nil
}

// Add takes the training rows, which come first, as one block.
func (f *maxDetKernel) Add(candidates []int) error {
	if len(candidates) > 0 && candidates[0] >= f.space.PoolSize() {
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
	rows := f.space.gather(candidates)
	l := matrix.New[float64](rows.Rows, rows.Rows)
	if err := f.cross(l, rows, rows); err != nil {
		return err
	}
	l, err := choleskyOf(f.space.team, l, f.sigma2, f.space.Note)
	if err != nil {
		return err
	}
	b := allocMatrix[float64](f.space, rows.Rows, f.space.PoolSize())
	if err := f.cross(b, rows, f.space.pool.rows); err != nil {
		return err
	}
	if err := linalg.SolveLower(f.space.team, b, linalg.Left, l, linalg.NoTrans); err != nil {
		return err
	}
	for i := range b.Rows {
		f.extend(b.Row(i))
	}
	return nil
}

// cross computes kernel values; without a kernel rows are features.
func (f *maxDetKernel) cross(dst, a, b matrix.Dense[float64]) error {
	if f.space.kernel != nil {
		return f.space.kernel.Cross(f.space.ctx, dst, a, b)
	}
	linalg.Gemm(f.space.team, dst, 1, a, linalg.NoTrans, b, linalg.Trans, 0)
	return nil
}

func (f *maxDetKernel) add(x int) error {
	v := alloc[float64](f.space, f.space.PoolSize())
	if err := f.space.Kernel(v, x); err != nil {
		return err
	}
	v[x] += f.sigma2
	set := simd.For[float64]()
	column := f.column(x)
	scale := 1 / math.Sqrt(max(f.c[x], f.sigma2)) // below σ² it is rounding
	overPieces(f.space.team, len(v), scanPiece, func(_, from, to int) {
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
	overPieces(f.space.team, len(v), scanPiece, func(_, from, to int) {
		for i := from; i < to; i++ {
			f.c[i] -= v[i] * v[i]
		}
	})
}
