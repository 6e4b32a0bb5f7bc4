package space

import (
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/posterior"
)

// started agrees on the error of starting a search.
func started[S any](r *Network, has bool, start func() (S, error)) (search S, err error) {
	if has {
		search, err = start()
	}
	return search, r.agree(err)
}

// rankDirections is Directions over ranks.
type rankDirections[T matrix.Float] struct {
	*rankRows[T]
	search Directions
}

func (f *rankRows[T]) Directions() (Directions, error) {
	search, err := started(f.Network, f.part != nil, func() (Directions, error) { return f.part.Directions() })
	return &rankDirections[T]{f, search}, err
}

func (f *rankDirections[T]) Sums(u []float64, r float64) float64 {
	sums := append(append(make([]float64, 0, len(u)+1), u...), r)
	chain(f.Network, sums, func() {
		if f.search != nil {
			sums[len(u)] = f.search.Sums(sums[:len(u)], sums[len(u)])
		}
	})
	copy(u, sums)
	return sums[len(u)]
}

// AddRow leaves v to the caller, on every rank.
func (f *rankDirections[T]) AddRow(int) bool { return false }

func (f *rankDirections[T]) Best(u, v []float64, r float64) (best Found, zero bool, err error) {
	return f.bestDirection(func() (Found, bool, error) { return f.search.Best(u, v, r) })
}

// rankVariances is Variances over ranks.
type rankVariances[T matrix.Float] struct {
	*rankRows[T]
	search Variances
}

func (f *rankRows[T]) Variances(sigma2 float64) (Variances, error) {
	search, err := started(f.Network, f.part != nil, func() (Variances, error) { return f.part.Variances(sigma2) })
	return &rankVariances[T]{f, search}, err
}

func (f *rankVariances[T]) Prior() float64 {
	own := 0.0
	if f.search != nil {
		own = f.search.Prior()
	}
	return f.Network.largest(own)[0]
}

func (f *rankVariances[T]) Scales() []float64 {
	own := make([]float64, f.space.pool.rows.Cols)
	if f.search != nil {
		own = f.search.Scales()
	}
	return f.Network.largest(own...)
}

func (f *rankVariances[T]) Rebase(s *posterior.Covariance) {
	if f.search != nil {
		f.search.Rebase(s)
	}
}

// AddRow leaves S to the caller, on every rank.
func (f *rankVariances[T]) AddRow(int) (variance float64, done bool) { return 0, false }

func (f *rankVariances[T]) Step(s *posterior.Covariance, row int) {
	if f.search != nil {
		f.search.Step(s, f.local(row))
	}
}

func (f *rankVariances[T]) Best() (Found, error) {
	return f.bestRow(func() (Found, error) { return f.search.Best() })
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
	lend(f.Network, one, f.holder(row))
	return one[0]
}

// rankTotals is totalSearch over ranks.
type rankTotals[T matrix.Float] struct {
	*rankRows[T]
	search totalSearch
}

func (f *rankRows[T]) Totals(sigma2, offset float64) (totalSearch, error) {
	search, err := started(f.Network, f.part != nil, func() (totalSearch, error) { return f.part.Totals(sigma2, offset) })
	return &rankTotals[T]{f, search}, err
}

func (f *rankTotals[T]) Prior() float64 {
	own := 0.0
	if f.search != nil {
		own = f.search.Prior()
	}
	return f.Network.largest(own)[0]
}

func (f *rankTotals[T]) Moments(m, a matrix.Dense[float64]) {
	chain(f.Network, m.Data, func() {
		if f.search != nil {
			f.search.Moments(m, a)
		}
	})
}

func (f *rankTotals[T]) Summed(totals []float64, ys matrix.Dense[float64]) {
	chain(f.Network, totals, func() {
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
	return f.Network.largest(own)[0]
}

// AddRow leaves the covariance to the caller, on every rank.
func (f *rankTotals[T]) AddRow(int) bool { return false }

func (f *rankTotals[T]) Step(w, p, aw, ap []float64) {
	if f.search != nil {
		f.search.Step(w, p, aw, ap)
	}
}

func (f *rankTotals[T]) Best() (best Found, v float64, err error) {
	top, _, err := f.best(func() (Found, float64, error) { return f.search.Best() })
	return top.found(), top.extra, err
}

func (f *rankTotals[T]) At(row int) float64 {
	return f.lent(row, func(at int) float64 { return f.search.At(at) })
}
