// Package minimise finds the minimum of a smooth function of a few hundred variables.
package minimise

// The BFGS method (Nocedal and Wright, "Numerical Optimization", chapter 6). With the step s between two points, the
// difference y of their gradients and ρ = 1/sᵀy, the approximate inverse Hessian becomes
//
//	H ← (I − ρ·s·yᵀ)·H·(I − ρ·y·sᵀ) + ρ·s·sᵀ
//
// Steps are halved until the function falls by a share of what its slope promises.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// MostSteps is how many steps lead to a minimum; a search has usually ended before.
const MostSteps = 60

const (
	mostHalving = 20
	longestMove = 2    // of one variable in one step
	enoughFall  = 1e-4 // of what the slope promises
	flatSlope   = 1e-3 // a gradient this small ends the search
)

// BFGS returns a point where the gradient is nearly zero, or the best one that it found in this many steps from x, with
// the gradient and the value there. f writes the gradient at x and returns the value.
func BFGS(f func(gradient, x []float64) (float64, error), x []float64,
	steps int) (at, slope []float64, value float64, err error) {
	set := simd.For[float64]()
	slope, next := make([]float64, len(x)), make([]float64, len(x))
	if value, err = f(slope, x); err != nil {
		return nil, nil, 0, err
	}
	hessian := newInverseHessian(len(x))
	for range steps {
		if math.Sqrt(set.SumSquares(slope)) < flatSlope {
			break
		}
		move := hessian.move(slope)
		promise := set.Dot(move, slope)
		if !(promise < 0) {
			hessian.reset()
			move = hessian.move(slope)
			promise = set.Dot(move, slope)
		}
		moved, found, err := lineSearch(f, next, x, move, value, promise)
		if err != nil {
			return nil, nil, 0, err
		}
		if moved == nil {
			break
		}
		hessian.update(moved, x, next, slope)
		x, value = moved, found
		slope, next = next, slope
	}
	return x, slope, value, nil
}

// lineSearch returns a point along move at which f falls enough, with its value and,
// in slope, its gradient; or nil if there is none.
func lineSearch(f func(gradient, x []float64) (float64, error), slope, x, move []float64, value,
	promise float64) ([]float64, float64, error) {
	step := 1.0
	for _, m := range move {
		step = min(step, longestMove/math.Abs(m))
	}
	to := make([]float64, len(x))
	for range mostHalving {
		for i := range x {
			to[i] = x[i] + step*move[i]
		}
		found, err := f(slope, to)
		if err != nil {
			return nil, 0, err
		}
		if found <= value+enoughFall*step*promise {
			return to, found, nil
		}
		step /= 2
	}
	return nil, 0, nil
}

// inverseHessian is H.
type inverseHessian struct{ h matrix.Dense[float64] }

func newInverseHessian(n int) *inverseHessian {
	h := &inverseHessian{matrix.New[float64](n, n)}
	h.reset()
	return h
}

func (h *inverseHessian) reset() {
	clear(h.h.Data)
	for i := range h.h.Rows {
		h.h.Row(i)[i] = 1
	}
}

// move returns −H·slope.
func (h *inverseHessian) move(slope []float64) []float64 {
	move := make([]float64, len(slope))
	for i := range move {
		move[i] = -simd.For[float64]().Dot(h.h.Row(i), slope)
	}
	return move
}

// update takes in the step from x to moved, where the gradients are slope and next.
func (h *inverseHessian) update(moved, x, next, slope []float64) {
	n, set := len(x), simd.For[float64]()
	s, y, hy := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		s[i], y[i] = moved[i]-x[i], next[i]-slope[i]
	}
	curve := set.Dot(s, y)
	if !(curve > 0) {
		return // the function bends the other way: H stays as it is
	}
	for i := range n {
		hy[i] = set.Dot(h.h.Row(i), y)
	}
	own := (1 + set.Dot(y, hy)/curve) / curve
	for i := range n {
		for j := range n {
			h.h.Row(i)[j] += own*s[i]*s[j] - (hy[i]*s[j]+s[i]*hy[j])/curve
		}
	}
}
