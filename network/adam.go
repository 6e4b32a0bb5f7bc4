package network

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// adam is the optimizer Adam (Kingma and Ba, 2015) with decoupled weight decay
// (Loshchilov and Hutter, 2019). In step t = 1, 2, …, with gradient g and
// learning rate r, for each parameter w:
//
//	m ← β1·m + (1-β1)·g      v ← β2·v + (1-β2)·g²
//	w ← (1 - r·decay)·w - r·(m/(1-β1^t)) / (√(v/(1-β2^t)) + eps)
//
// All slices are laid out as the parameters are.
type adam struct {
	set                       *simd.Set[Real]
	parameters, first, second []Real
	gradient                  []Real
	training                  Training
	taken                     int // steps
	step                      simd.AdamStep[Real]
}

func newAdam(parameters []Real, t Training) *adam {
	n := len(parameters)
	return &adam{
		set: simd.For[Real](), parameters: parameters, training: t,
		first: matrix.Alloc[Real](n), second: matrix.Alloc[Real](n), gradient: matrix.Alloc[Real](n),
	}
}

// begin prepares the next step, with the given learning rate.
func (a *adam) begin(rate float64) {
	a.taken++
	a.step = adamStep(a.training, a.taken, rate)
}

// adamStep returns the constants of a step, counted from 1.
func adamStep(t Training, step int, rate float64) simd.AdamStep[Real] {
	beta1, beta2 := *t.Beta1, *t.Beta2
	left1, left2 := 1-math.Pow(beta1, float64(step)), 1-math.Pow(beta2, float64(step))
	return simd.AdamStep[Real]{
		Beta1: Real(beta1), Gain1: Real(1 - beta1),
		Beta2: Real(beta2), Gain2: Real(1 - beta2),
		Keep: Real(1 - rate*t.Decay),
		Rate: Real(rate / left1), Root: Real(1 / math.Sqrt(left2)), Eps: Real(t.Eps),
	}
}

// update takes the step for the parameters from to to-1, whose gradient is known.
func (a *adam) update(from, to int) {
	a.set.Adam(a.parameters[from:to], a.first[from:to], a.second[from:to], a.gradient[from:to], &a.step)
	if a.taken%flushSteps == 0 {
		flush(a.first[from:to])
	}
}

// The first moments of dead units shrink by β1 per step into the subnormal
// numbers, where arithmetic is many times slower, and stay there: half of all
// parameters after a thousand steps of the paper's ReLU network. They are set to
// zero long before that, once they are too small, even divided by eps, to move a
// parameter.
const (
	flushSteps = 64 // 0.9^64 is 2^-10
	negligible = 0x1p-100
)

func flush(moments []Real) {
	for i, m := range moments {
		if m < negligible && m > -negligible {
			moments[i] = 0
		}
	}
}
