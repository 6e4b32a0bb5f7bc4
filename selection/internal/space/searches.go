package space

// The searches of the pool, and what the training rows add to them.

import "github.com/nextbatch/nextbatch/matrix"

func (s *space[T]) Largest() (Found, error) { return s.rows.Largest() }

func (s *space[T]) Directions() (Directions, error) { return s.rows.Directions() }

func (s *space[T]) SumTrain(u []float64, r float64) float64 {
	train := newMemoryRows(s, &s.train, nil)
	directions := &memoryDirections[T]{memoryRows: train, pool: inFloat64(s, &s.train), c: make([]float64, s.TrainSize())}
	return directions.Sums(u, r)
}

func (s *space[T]) Variances(sigma2 float64) (Variances, error) { return s.rows.Variances(sigma2) }

func (s *space[T]) Pivots(sigma2 float64) (Pivots, error) { return s.rows.Pivots(sigma2) }

func (s *space[T]) PrecisePivots() (PrecisePivots, error) { return s.rows.PrecisePivots() }

// kernelDirections are KernelDirections of the pool and of the training rows.
type kernelDirections[T matrix.Float] struct {
	space *space[T]
	pool  kernelDirectionSearch
	train kernelDirectionSearch // nil: they are not candidates
}

func (s *space[T]) KernelDirections(train bool) (KernelDirections, error) {
	pool, err := s.rows.KernelDirections()
	if err != nil {
		return nil, err
	}
	f := &kernelDirections[T]{space: s, pool: pool}
	if !train {
		return f, f.start(f.pool, s.rows, s.PoolSize())
	}
	rows := newMemoryRows(s, &s.train, nil)
	if f.train, err = rows.KernelDirections(); err != nil {
		return nil, err
	}
	if err := f.start(f.pool, s.rows, s.PoolSize()); err != nil {
		return nil, err
	}
	return f, f.start(f.train, rows, s.TrainSize())
}

// sets lists the sets of candidates.
func (f *kernelDirections[T]) sets() []kernelDirectionSearch {
	if f.train == nil {
		return []kernelDirectionSearch{f.pool}
	}
	return []kernelDirectionSearch{f.pool, f.train}
}

// start computes u of the n rows of a set, some rows at a time.
func (f *kernelDirections[T]) start(one kernelDirectionSearch, of poolRows[T], n int) error {
	u := matrix.Alloc[float64](n)
	for from := 0; from < n && !f.space.Cancelled(); from += crossRows {
		to := min(from+crossRows, n)
		rows := matrix.Converted[float64](of.Block(from, to))
		for _, other := range f.sets() {
			if err := other.AddSums(u[from:to], rows); err != nil {
				return err
			}
		}
	}
	one.Start(u)
	return nil
}

func (f *kernelDirections[T]) Norms() float64 {
	r := 0.0
	for _, one := range f.sets() {
		r = one.Norms(r)
	}
	return r
}

func (f *kernelDirections[T]) At(candidate int) (c, u, v float64) {
	if i := candidate - f.space.PoolSize(); i >= 0 {
		return f.train.At(i)
	}
	return f.pool.At(candidate)
}

func (f *kernelDirections[T]) Step(x int, keep, weight float64) error {
	row := f.space.Float64([]int{x})
	for _, one := range f.sets() {
		if err := one.Step(row, keep, weight); err != nil {
			return err
		}
	}
	return nil
}

func (f *kernelDirections[T]) Best() (best Found, zero bool, err error) { return f.pool.Best() }
