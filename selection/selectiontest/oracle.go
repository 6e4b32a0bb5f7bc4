package selectiontest

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/selection"
)

// Input is a problem as the paper's pseudocode sees it: candidates are the pool
// rows, then the training rows.
type Input struct {
	Rows   [][]float64 // of all candidates
	Pool   int         // how many of them are the pool's
	Mode   selection.Mode
	Batch  int
	Target [][]float64 // nil: the pool
	Weight []float64   // of pool rows; nil: 1

	// Pending are pool rows that count as selected: the algorithm adds them after
	// X_mode, and never picks them.
	Pending []int

	// Price is the cost of each pool row where scores are divided by it; nil: they are
	// not.
	Price []float64

	// Kernel is k(x, x̃); nil is the inner product of the rows.
	Kernel func(x, y []float64) float64

	// Noise is by how much a candidate's score is off, relatively to the
	// numbers that it is the difference of; nil: not. It is for methods whose
	// scores are equal without rows being equal.
	Noise func(x int) float64
}

// k is the kernel of two candidates.
func (in *Input) k(x, y int) float64 { return in.kernel(in.Rows[x], in.Rows[y]) }

func (in *Input) kernel(x, y []float64) float64 {
	if in.Kernel != nil {
		return in.Kernel(x, y)
	}
	return dot(x, y)
}

// train lists the candidates that are training rows.
func (in *Input) train() []int { return numbers(in.Pool, len(in.Rows)) }

// mode is X_mode, cand is X_cand, with the pool first.
func (in *Input) mode() []int {
	if in.Mode == selection.TP {
		return in.train()
	}
	return nil
}

func (in *Input) cand() []int { return append(numbers(0, in.Pool), in.mode()...) }

// Oracle is a selection method, transcribed: INIT, ADD and NEXT of the paper's
// template. rem is X_pool \ X_batch, without the pending rows.
type Oracle interface {
	Init(in *Input)
	Add(x int)
	// Next returns the row, or -1 for a failed selection.
	Next(rem []int) int
}

// BackwardOracle has REMOVE and NEXT-BACKWARD too.
type BackwardOracle interface {
	Oracle
	Remove(x int)
	NextBackward(batch []int) int
}

// Select is the paper's algorithm "Iterative selection algorithm template", or
// "Forward-backward selection algorithm template" for an oracle that can remove.
// A failed selection ends it: what would be filled up with random samples is
// left out. Where the scores of a backward step are not numbers, nothing is selected.
func Select(o Oracle, in *Input) []int {
	var batch []int
	o.Init(in)
	for _, x := range slices.Concat(in.mode(), in.Pending) {
		o.Add(x)
	}
	left := in.Pool - len(in.Pending)
	want := min(in.Batch, left)
	back, backward := o.(BackwardOracle)
	extra := 0
	if backward {
		extra = min(want, left-want)
	}
	for range want + extra {
		x := o.Next(without(in.Pool, slices.Concat(in.Pending, batch)))
		if x < 0 {
			return batch[:min(want, len(batch))]
		}
		batch = append(batch, x)
		o.Add(x)
	}
	for range extra {
		x := back.NextBackward(batch)
		if x < 0 {
			return nil // rounding has taken all digits
		}
		batch = slices.DeleteFunc(batch, func(y int) bool { return y == x })
		back.Remove(x)
	}
	return batch
}

// argmax returns the candidate of largest score, the lowest of equal ones; -1 if
// there is none or a score is NaN.
func argmax(candidates []int, score func(x int) float64) int {
	best, top := -1, math.Inf(-1)
	for _, x := range candidates {
		s := score(x)
		if math.IsNaN(s) {
			return -1
		}
		if s > top {
			best, top = x, s
		}
	}
	return best
}

// per is a score, divided by the cost of its row.
func (in *Input) per(x int, score float64) float64 {
	if in.Price == nil {
		return score
	}
	return score / in.Price[x]
}

// noisy is a score with the noise of the input, for numbers of the given size.
func (in *Input) noisy(x int, score, size float64) float64 {
	if in.Noise == nil {
		return score
	}
	return score + size*in.Noise(x)
}

// without lists the pool rows that are not selected.
//
//go:norace
func without(pool int, selected []int) (rem []int) {
	for x := range pool {
		if !slices.Contains(selected, x) {
			rem = append(rem, x)
		}
	}
	return rem
}

func numbers(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

//go:norace
func dot(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

//go:norace
func mulVec(m [][]float64, x []float64) []float64 {
	y := make([]float64, len(m))
	for i, row := range m {
		y[i] = dot(row, x)
	}
	return y
}

func clone(m [][]float64) [][]float64 {
	c := make([][]float64, len(m))
	for i, row := range m {
		c[i] = slices.Clone(row)
	}
	return c
}
