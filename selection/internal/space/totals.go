package space

import "github.com/nextbatch/nextbatch/matrix"

// totals are Totals of the pool and of the other rows whose variances are summed up: the
// target in place of the pool, or the training rows besides it.
type totals[T matrix.Float] struct {
	totalSearch   // of the pool
	space         *space[T]
	train, target *rowsInFloat64
}

func (s *space[T]) Totals(sigma2, offset float64) (Totals, error) {
	pool, err := s.rows.Totals(sigma2, offset)
	if err != nil {
		return nil, err
	}
	return &totals[T]{pool, s, inFloat64(s, &s.train), inFloat64(s, &s.target)}, nil
}

func (t *totals[T]) Moments(m, a matrix.Dense[float64]) {
	if t.target.Rows > 0 {
		addMoments(t.space, m, t.target, nil, a)
		return
	}
	t.totalSearch.Moments(m, a)
	if t.space.weights == nil && t.train.Rows > 0 {
		addMoments(t.space, m, t.train, nil, a)
	}
}

func (t *totals[T]) Summed(sums []float64, ys matrix.Dense[float64]) {
	if t.target.Rows > 0 {
		addSquares(t.space, sums, t.target, nil, ys)
		return
	}
	t.totalSearch.Summed(sums, ys)
	if t.space.weights == nil && t.train.Rows > 0 {
		addSquares(t.space, sums, t.train, nil, ys)
	}
}

func (t *totals[T]) Of(rows, a, inner matrix.Dense[float64], c, v []float64) {
	variances(t.space, a, inner, c, v, exactRows(rows), nil)
}
