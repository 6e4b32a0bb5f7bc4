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

import "github.com/nextbatch/nextbatch/matrix"

type frankWolfeKernel[T matrix.Float] struct {
	space   *Space[T]
	pool    kernelDirectionSearch
	train   kernelDirectionSearch // of mode TP, otherwise nil
	r, s, t float64
}

func newFrankWolfeKernel[T matrix.Float](s *Space[T]) (Forward, error) {
	pool, err := s.rows.KernelDirections()
	if err != nil {
		return nil, err
	}
	f := &frankWolfeKernel[T]{space: s, pool: pool}
	train := newMemoryRows(s, &s.train, nil)
	if s.Mode() == TP {
		if f.train, err = train.KernelDirections(); err != nil {
			return nil, err
		}
	}
	for _, one := range f.sets() {
		f.r = one.Norms(f.r)
	}
	if err := f.start(f.pool, s.rows, s.PoolSize()); err != nil || f.train == nil {
		return f, err
	}
	return f, f.start(f.train, train, s.TrainSize())
}

// sets lists the sets of candidates.
func (f *frankWolfeKernel[T]) sets() []kernelDirectionSearch {
	if f.train == nil {
		return []kernelDirectionSearch{f.pool}
	}
	return []kernelDirectionSearch{f.pool, f.train}
}

// start computes u of the n rows of a set, some rows at a time.
func (f *frankWolfeKernel[T]) start(one kernelDirectionSearch, of poolRows[T], n int) error {
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

// Add moves v towards each of the rows.
func (f *frankWolfeKernel[T]) Add(candidates []int) error {
	for i := range candidates {
		if f.space.Cancelled() {
			return nil
		}
		if err := f.add(candidates[i], f.space.float64Rows(candidates[i:i+1])); err != nil {
			return err
		}
	}
	return nil
}

func (f *frankWolfeKernel[T]) add(x int, row matrix.Dense[float64]) error {
	in, at := f.pool, x
	if x >= f.space.PoolSize() {
		in, at = f.train, x-f.space.PoolSize()
	}
	c, u, v := in.At(at)
	if c == 0 {
		return nil // it has no direction
	}
	rc := f.r / c
	square := f.r*f.r - 2*rc*v + f.s
	if square <= 0 {
		return nil // v is there
	}
	gamma := (rc*(u-v) + f.s - f.t) / square
	f.s = (1-gamma)*(1-gamma)*f.s + 2*(1-gamma)*gamma*rc*v + gamma*gamma*f.r*f.r
	f.t = (1-gamma)*f.t + gamma*rc*u
	for _, one := range f.sets() {
		if err := one.Step(row, 1-gamma, gamma*rc); err != nil {
			return err
		}
	}
	return nil
}

// Next returns the row whose direction is closest to the residual.
func (f *frankWolfeKernel[T]) Next() (Choice, error) { return f.space.chooseDirection(f.pool.Best()) }
