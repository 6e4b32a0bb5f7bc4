package space

// c, u and v of FrankWolfe in kernel space (frankwolfe_kernel.go) for rows in memory.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

type memoryKernelDirections struct {
	*memoryRows[float64]
	c, u, v, scores []float64
	values          matrix.Dense[float64] // scratch: a block of the kernel matrix
}

func (m *memoryRows[T]) KernelDirections() (kernelDirectionSearch, error) {
	rows, err := m.inFloat64("frankwolfe")
	if err != nil {
		return nil, err
	}
	n := len(rows.of.diag)
	f := &memoryKernelDirections{memoryRows: rows, c: matrix.Alloc[float64](n), u: matrix.Alloc[float64](n),
		v:      matrix.Alloc[float64](n),
		scores: matrix.Alloc[float64](n)}
	for i, v := range rows.of.diag {
		f.c[i] = math.Sqrt(v)
	}
	return f, nil
}

func (f *memoryKernelDirections) Norms(r float64) float64 { return addSum(r, f.c) }

func (f *memoryKernelDirections) AddSums(sums []float64, rows matrix.Dense[float64]) error {
	if f.values.Rows < rows.Rows {
		f.values = matrix.New[float64](rows.Rows, len(f.c))
	}
	part := f.values.Slice(0, rows.Rows)
	if err := f.space.cross(part, rows, f.of.rows); err != nil {
		return inSet(err, f.of.name)
	}
	for i := range part.Rows {
		if err := f.of.checkValues(part.Row(i)); err != nil {
			return err
		}
		sums[i] = addSum(sums[i], part.Row(i))
	}
	return nil
}

func (f *memoryKernelDirections) Start(u []float64) {
	copy(f.u, u)
	f.values = matrix.Dense[float64]{} // no more sums are needed
}

func (f *memoryKernelDirections) At(row int) (c, u, v float64) { return f.c[row], f.u[row], f.v[row] }

func (f *memoryKernelDirections) Step(x matrix.Dense[float64], keep, weight float64) error {
	column := make([]float64, len(f.v))
	if err := f.space.kernelColumn(column, f.of, x); err != nil {
		return err
	}
	simd.For[float64]().ScaleAdd(f.v, column, keep, weight)
	return nil
}

func (f *memoryKernelDirections) Best() (best Found, zero bool, err error) {
	for i := range f.scores {
		f.scores[i] = perNorm(f.u[i]-f.v[i], f.c[i])
	}
	return bestDirection(f.space.team, f.scores, f.open)
}
