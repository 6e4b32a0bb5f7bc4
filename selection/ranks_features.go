package selection

import "github.com/nextbatch/nextbatch/matrix"

// started agrees on the error of starting a search.
func started[S any](r *network, has bool, start func() (S, error)) (search S, err error) {
	if has {
		search, err = start()
	}
	return search, r.agree(err)
}

// rankDirections is directionSearch over ranks.
type rankDirections[T matrix.Float] struct {
	*rankRows[T]
	search directionSearch
}

func (f *rankRows[T]) Directions() (directionSearch, error) {
	search, err := started(f.network, f.part != nil, func() (directionSearch, error) { return f.part.Directions() })
	return &rankDirections[T]{f, search}, err
}

func (f *rankDirections[T]) Sums(u []float64, r float64) float64 {
	sums := append(append(make([]float64, 0, len(u)+1), u...), r)
	chain(f.network, sums, func() {
		if f.search != nil {
			sums[len(u)] = f.search.Sums(sums[:len(u)], sums[len(u)])
		}
	})
	copy(u, sums)
	return sums[len(u)]
}

func (f *rankDirections[T]) Best(residual []float64) (best found, zero bool, err error) {
	return f.bestDirection(func() (found, bool, error) { return f.search.Best(residual) })
}

// rankVariances is varianceSearch over ranks.
type rankVariances[T matrix.Float] struct {
	*rankRows[T]
	search varianceSearch
}

func (f *rankRows[T]) Variances(sigma2 float64) (varianceSearch, error) {
	search, err := started(f.network, f.part != nil, func() (varianceSearch, error) { return f.part.Variances(sigma2) })
	return &rankVariances[T]{f, search}, err
}

func (f *rankVariances[T]) Prior() float64 {
	own := 0.0
	if f.search != nil {
		own = f.search.Prior()
	}
	return f.network.largest(own)[0]
}

func (f *rankVariances[T]) Scales() []float64 {
	own := make([]float64, f.space.pool.rows.Cols)
	if f.search != nil {
		own = f.search.Scales()
	}
	return f.network.largest(own...)
}

func (f *rankVariances[T]) Rebase(s *covariance) {
	if f.search != nil {
		f.search.Rebase(s)
	}
}

func (f *rankVariances[T]) Step(s *covariance, row int) {
	if f.search != nil {
		f.search.Step(s, f.local(row))
	}
}

func (f *rankVariances[T]) Best() (found, error) {
	return f.bestRow(func() (found, error) { return f.search.Best() })
}

func (f *rankVariances[T]) At(row int) float64 {
	return f.lent(row, func(at int) float64 { return f.search.At(at) })
}

// lent returns a number of a row from the rank that holds it.
func (f *rankRows[T]) lent(row int, number func(at int) float64) float64 {
	one := []float64{0}
	if at := f.local(row); at >= 0 {
		one[0] = number(at)
	}
	lend(f.network, one, f.holder(row))
	return one[0]
}

// rankTotals is totalSearch over ranks.
type rankTotals[T matrix.Float] struct {
	*rankRows[T]
	search totalSearch
}

func (f *rankRows[T]) Totals(sigma2, offset float64) (totalSearch, error) {
	search, err := started(f.network, f.part != nil, func() (totalSearch, error) { return f.part.Totals(sigma2, offset) })
	return &rankTotals[T]{f, search}, err
}

func (f *rankTotals[T]) Prior() float64 {
	own := 0.0
	if f.search != nil {
		own = f.search.Prior()
	}
	return f.network.largest(own)[0]
}

func (f *rankTotals[T]) Moments(m, a matrix.Dense[float64]) {
	chain(f.network, m.Data, func() {
		if f.search != nil {
			f.search.Moments(m, a)
		}
	})
}

func (f *rankTotals[T]) Summed(totals []float64, ys matrix.Dense[float64]) {
	chain(f.network, totals, func() {
		if f.search != nil {
			f.search.Summed(totals, ys)
		}
	})
}

func (f *rankTotals[T]) Rebase(a, inner matrix.Dense[float64]) float64 {
	own := 0.0
	if f.search != nil {
		own = f.search.Rebase(a, inner)
	}
	return f.network.largest(own)[0]
}

func (f *rankTotals[T]) Step(w, p, aw, ap []float64) {
	if f.search != nil {
		f.search.Step(w, p, aw, ap)
	}
}

func (f *rankTotals[T]) Best() (best found, v float64, err error) {
	top, _, err := f.best(func() (found, float64, error) { return f.search.Best() })
	return top.found(), top.extra, err
}

func (f *rankTotals[T]) At(row int) float64 {
	return f.lent(row, func(at int) float64 { return f.search.At(at) })
}
