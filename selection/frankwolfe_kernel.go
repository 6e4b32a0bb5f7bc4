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

import "github.com/nextbatch/nextbatch/selection/internal/space"

type frankWolfeKernel struct {
	space   *Space
	rows    space.KernelDirections
	r, s, t float64
}

func newFrankWolfeKernel(s *Space) (Forward, error) {
	rows, err := s.rows.KernelDirections(s.Mode() == TP)
	if err != nil {
		return nil, err
	}
	return &frankWolfeKernel{space: s, rows: rows, r: rows.Norms()}, nil
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
	c, u, v := f.rows.At(x)
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
	return f.rows.Step(x, 1-gamma, gamma*rc)
}

// Next returns the row whose direction is closest to the residual.
func (f *frankWolfeKernel) Next() (Choice, error) { return f.space.chooseDirection(f.rows.Best()) }

// left is the objective ‖u − v‖², without ‖u‖², which does not change.
func (f *frankWolfeKernel) left() (float64, error) {
	return f.space.rows.InUnits(f.s-2*f.t, 2), nil
}
