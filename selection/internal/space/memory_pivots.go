package space

// B and c of MaxDet in kernel space (maxdet_kernel.go) for rows in memory, in float64
// and with twice as many digits.

import (
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/double"
)

type memoryPivots struct {
	*memoryRows[float64]
	sigma2 float64
	b      [][]float64 // rows of B
	c      []float64
}

// inFloat64 returns the rows if they are in float64: kernel values in float32 lose σ².
func (m *memoryRows[T]) inFloat64(method string) (*memoryRows[float64], error) {
	rows, ok := any(m).(*memoryRows[float64])
	if !ok {
		return nil, &place.MethodError{Method: method, Reason: "in kernel space it needs a kernel in float64"}
	}
	return rows, nil
}

func (m *memoryRows[T]) Pivots(sigma2 float64) (Pivots, error) {
	rows, err := m.inFloat64("maxdet")
	if err != nil {
		return nil, err
	}
	f := &memoryPivots{memoryRows: rows, sigma2: sigma2, c: matrix.Alloc[float64](len(rows.of.diag))}
	for i, v := range rows.of.diag {
		f.c[i] = v + sigma2
	}
	return f, nil
}

func (f *memoryPivots) Prior() float64 { return largestOf(f.of.diag) }

// Best compares variances per price without the noise.
func (f *memoryPivots) Best() (Found, error) {
	if f.price == nil {
		return f.best(f.c)
	}
	variances := make([]float64, len(f.c))
	for i, c := range f.c {
		variances[i] = max(c-f.sigma2, 0)
	}
	best, err := f.best(variances)
	if best.Row >= 0 {
		best.Score = f.c[best.Row]
	}
	return best, err
}

func (f *memoryPivots) Column(row int) (column []float64, c float64) {
	column = make([]float64, len(f.b))
	for j, b := range f.b {
		column[j] = b[row]
	}
	return column, f.c[row]
}

func (f *memoryPivots) AddMany(rows, l matrix.Dense[float64]) error {
	b := matrix.New[float64](rows.Rows, len(f.c))
	if err := f.space.cross(b, rows, f.of.rows); err != nil {
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

func (f *memoryPivots) Add(x matrix.Dense[float64], at int, column []float64, scale float64) error {
	v := matrix.Alloc[float64](len(f.c))
	if err := f.space.kernelColumn(v, f.of, x); err != nil {
		return err
	}
	if at >= 0 {
		v[at] += f.sigma2
	}
	set := simd.For[float64]()
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

// extend adds a row to B and lowers c.
func (f *memoryPivots) extend(v []float64) {
	f.b = append(f.b, v)
	f.space.team.OverPieces(len(v), scanPiece, func(_, from, to int) {
		for i := from; i < to; i++ {
			f.c[i] -= v[i] * v[i]
		}
	})
}

type memoryPrecisePivots struct {
	*memoryRows[float64]
	b      []double.Vector
	c      double.Vector
	values []float64 // of c
}

func (m *memoryRows[T]) PrecisePivots() (PrecisePivots, error) {
	rows, err := m.inFloat64("maxdet")
	if err != nil {
		return nil, err
	}
	n := len(rows.of.diag)
	f := &memoryPrecisePivots{memoryRows: rows, c: double.NewVector(n), values: matrix.Alloc[float64](n)}
	copy(f.c.Hi, rows.of.diag)
	return f, nil
}

func (f *memoryPrecisePivots) Column(row int) (column double.Vector, c double.Number) {
	column = double.NewVector(len(f.b))
	for j, b := range f.b {
		column.Set(j, b.At(row))
	}
	return column, f.c.At(row)
}

func (f *memoryPrecisePivots) Add(x matrix.Dense[float64], column double.Vector, pivot double.Number) error {
	v := double.NewVector(len(f.c.Hi))
	if err := f.space.kernelColumn(v.Hi, f.of, x); err != nil {
		return err
	}
	f.space.team.OverPieces(len(v.Hi), readPiece, func(_, from, to int) {
		for i := from; i < to; i++ {
			at := v.At(i)
			for j, b := range f.b {
				at = at.SubProduct(column.At(j), b.At(i))
			}
			at = at.Normal().Over(pivot)
			v.Set(i, at)
			f.c.Set(i, f.c.At(i).SubProduct(at, at).Normal())
		}
	})
	f.b = append(f.b, v)
	return nil
}

func (f *memoryPrecisePivots) Best() (Found, error) {
	for i := range f.values {
		f.values[i] = max(f.c.At(i).Value(), 0)
	}
	return f.best(f.values)
}
