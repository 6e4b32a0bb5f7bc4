package selection

// FrankWolfe in kernel space (paper, algorithm of that name), X_cand the pool
// and, in mode TP, the training rows:
//
//	INIT    c[x] = √k(x, x),  r = Σ c,  u[x] = Σ_{x̃ in X_cand} k(x, x̃),  v = 0,  s = t = 0
//	ADD(x)  γ = (r/c[x]·(u[x] − v[x]) + s − t) / (r² − 2r/c[x]·v[x] + s)
//	        s = (1−γ)²s + 2(1−γ)γ·r/c[x]·v[x] + γ²r²,  t = (1−γ)t + γ·r/c[x]·u[x]
//	        v = (1−γ)v + γ·r/c[x]·k(x, ·)
//	NEXT    argmax (u[x] − v[x])/c[x]
//
// The kernel matrix is not stored: u is summed up in blocks, and ADD recomputes one row.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

type frankWolfeKernel struct {
	space   *Space[float64]
	sets    []*set[float64] // pool, and train in mode TP
	c, u, v [][]float64     // for each of them
	r, s, t float64
	scores  []float64
}

func newFrankWolfeKernel[T matrix.Float](s *Space[T], name string) (Forward, error) {
	in64, ok := any(s).(*Space[float64])
	if !ok {
		return nil, &MethodError{name, "in kernel space it needs a kernel in float64"}
	}
	f := &frankWolfeKernel{space: in64, sets: []*set[float64]{&in64.pool}, scores: matrix.Alloc[float64](in64.PoolSize())}
	if s.Mode() == TP {
		f.sets = append(f.sets, &in64.train)
	}
	for _, one := range f.sets {
		c, u := matrix.Alloc[float64](len(one.diag)), matrix.Alloc[float64](len(one.diag))
		for i, v := range one.diag {
			c[i] = math.Sqrt(v)
		}
		f.r = addSum(f.r, c)
		for _, other := range f.sets {
			if err := f.addRowSums(u, one, other); err != nil {
				return nil, err
			}
		}
		f.c, f.u, f.v = append(f.c, c), append(f.u, u), append(f.v, matrix.Alloc[float64](len(u)))
	}
	return f, nil
}

// addRowSums adds Σ_{x̃ in other} k(x, x̃) to u[x] for each row x of one.
func (f *frankWolfeKernel) addRowSums(u []float64, one, other *set[float64]) error {
	values := matrix.New[float64](min(crossRows, len(u)), other.rows.Rows)
	for from := 0; from < len(u) && !f.space.Cancelled(); from += crossRows {
		part := values.Slice(0, min(crossRows, len(u)-from))
		rows := one.rows.Slice(from, from+part.Rows)
		if err := f.cross(part, rows, other.rows); err != nil {
			return inSet(err, other.name)
		}
		for i := range part.Rows {
			if err := other.checkValues(part.Row(i)); err != nil {
				return err
			}
			u[from+i] = addSum(u[from+i], part.Row(i))
		}
	}
	return nil
}

func (f *frankWolfeKernel) cross(dst, a, b matrix.Dense[float64]) error {
	if f.space.kernel != nil {
		return f.space.kernel.Cross(f.space.ctx, dst, a, b)
	}
	linalg.Gemm(f.space.team, dst, 1, a, linalg.NoTrans, b, linalg.Trans, 0)
	return nil
}

// Add moves v towards each of the rows.
func (f *frankWolfeKernel) Add(candidates []int) error {
	for _, x := range candidates {
		if f.space.Cancelled() {
			return nil
		}
		if err := f.add(x); err != nil {
			return err
		}
	}
	return nil
}

func (f *frankWolfeKernel) add(x int) error {
	in, i := 0, x
	if x >= f.space.PoolSize() {
		in, i = 1, x-f.space.PoolSize()
	}
	if f.c[in][i] == 0 {
		return nil // it has no direction
	}
	rc := f.r / f.c[in][i]
	u, v := f.u[in][i], f.v[in][i]
	square := f.r*f.r - 2*rc*v + f.s
	if square <= 0 {
		return nil // v is there
	}
	gamma := (rc*(u-v) + f.s - f.t) / square
	f.s = (1-gamma)*(1-gamma)*f.s + 2*(1-gamma)*gamma*rc*v + gamma*gamma*f.r*f.r
	f.t = (1-gamma)*f.t + gamma*rc*u
	for j, one := range f.sets {
		column := make([]float64, len(f.v[j]))
		if err := f.space.kernelColumn(column, one, x); err != nil {
			return err
		}
		simd.For[float64]().ScaleAdd(f.v[j], column, 1-gamma, gamma*rc)
	}
	return nil
}

// Next returns the row whose direction is closest to the residual.
func (f *frankWolfeKernel) Next() (Choice, error) {
	for i := range f.scores {
		f.scores[i] = perNorm(f.u[0][i]-f.v[0][i], f.c[0][i])
	}
	return f.space.chooseDirection(bestDirection(f.space.team, f.scores, f.space.limits.open))
}
