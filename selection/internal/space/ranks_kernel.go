package space

import (
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/double"
)

// rankPivots is Pivots over ranks.
type rankPivots[T matrix.Float] struct {
	*rankRows[T]
	search Pivots
	added  int // rows of B
}

func (f *rankRows[T]) Pivots(sigma2 float64) (Pivots, error) {
	search, err := started(f.Network, f.part != nil, func() (Pivots, error) { return f.part.Pivots(sigma2) })
	return &rankPivots[T]{rankRows: f, search: search}, err
}

func (f *rankPivots[T]) Prior() float64 {
	own := 0.0
	if f.search != nil {
		own = f.search.Prior()
	}
	return f.Network.largest(own)[0]
}

func (f *rankPivots[T]) Column(row int) ([]float64, float64) {
	data := make([]float64, f.added+1)
	if at := f.local(row); at >= 0 {
		column, c := f.search.Column(at)
		data[copy(data, column)] = c
	}
	lend(f.Network, data, f.holder(row))
	return data[:f.added], data[f.added]
}

func (f *rankPivots[T]) AddMany(rows, l matrix.Dense[float64]) (err error) {
	if f.search != nil {
		err = f.search.AddMany(rows, l)
	}
	f.added += rows.Rows
	return f.agree(inPool(err, f.own()))
}

func (f *rankPivots[T]) Add(x matrix.Dense[float64], at int, column []float64, scale float64) (err error) {
	if f.search != nil {
		err = f.search.Add(x, f.local(at), column, scale)
	}
	f.added++
	return f.agree(inPool(err, f.own()))
}

func (f *rankPivots[T]) Best() (Found, error) {
	return f.bestRow(func() (Found, error) { return f.search.Best() })
}

// rankPrecisePivots is PrecisePivots over ranks.
type rankPrecisePivots[T matrix.Float] struct {
	*rankRows[T]
	search PrecisePivots
	added  int
}

func (f *rankRows[T]) PrecisePivots() (PrecisePivots, error) {
	search, err := started(f.Network, f.part != nil, func() (PrecisePivots, error) { return f.part.PrecisePivots() })
	return &rankPrecisePivots[T]{rankRows: f, search: search}, err
}

func (f *rankPrecisePivots[T]) Column(row int) (double.Vector, double.Number) {
	data := double.NewVector(f.added + 1)
	if at := f.local(row); at >= 0 {
		column, c := f.search.Column(at)
		copy(data.Hi, column.Hi)
		copy(data.Lo, column.Lo)
		data.Set(f.added, c)
	}
	lend(f.Network, data.Hi, f.holder(row))
	lend(f.Network, data.Lo, f.holder(row))
	return data.Part(0, f.added), data.At(f.added)
}

func (f *rankPrecisePivots[T]) Add(x matrix.Dense[float64], column double.Vector, pivot double.Number) (err error) {
	if f.search != nil {
		err = f.search.Add(x, column, pivot)
	}
	f.added++
	return f.agree(inPool(err, f.own()))
}

func (f *rankPrecisePivots[T]) Best() (Found, error) {
	return f.bestRow(func() (Found, error) { return f.search.Best() })
}

// rankKernelDirections is kernelDirectionSearch over ranks.
type rankKernelDirections[T matrix.Float] struct {
	*rankRows[T]
	search kernelDirectionSearch
}

func (f *rankRows[T]) KernelDirections() (kernelDirectionSearch, error) {
	search, err := started(f.Network, f.part != nil, func() (kernelDirectionSearch,
		error) {
		return f.part.KernelDirections()
	})
	return &rankKernelDirections[T]{f, search}, err
}

func (f *rankKernelDirections[T]) Norms(r float64) float64 {
	sum := []float64{r}
	chain(f.Network, sum, func() {
		if f.search != nil {
			sum[0] = f.search.Norms(sum[0])
		}
	})
	return sum[0]
}

func (f *rankKernelDirections[T]) AddSums(sums []float64, rows matrix.Dense[float64]) error {
	var err error
	chain(f.Network, sums, func() {
		if f.search != nil {
			err = f.search.AddSums(sums, rows)
		}
	})
	return f.agree(inPool(err, f.own()))
}

func (f *rankKernelDirections[T]) Start(u []float64) {
	if f.search != nil {
		f.search.Start(u[f.own():])
	}
}

func (f *rankKernelDirections[T]) At(row int) (c, u, v float64) {
	data := make([]float64, 3)
	if at := f.local(row); at >= 0 {
		data[0], data[1], data[2] = f.search.At(at)
	}
	lend(f.Network, data, f.holder(row))
	return data[0], data[1], data[2]
}

func (f *rankKernelDirections[T]) Step(x matrix.Dense[float64], keep, weight float64) (err error) {
	if f.search != nil {
		err = f.search.Step(x, keep, weight)
	}
	return f.agree(inPool(err, f.own()))
}

func (f *rankKernelDirections[T]) Best() (best Found, zero bool, err error) {
	return f.bestDirection(func() (Found, bool, error) { return f.search.Best() })
}
