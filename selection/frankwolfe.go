package selection

// FrankWolfe (paper, "Frank-Wolfe optimization"): rows whose weighted sum of
// features approximates Σ_{x in X_cand} φ(x). Two implementations:
// frankwolfe_features.go and frankwolfe_kernel.go. A row whose features are all
// zero has no direction and is never picked.

import (
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// FrankWolfe selects rows that represent the mean of the pool's features.
type FrankWolfe[T matrix.Float] struct {
	In Implementation // zero: in feature space if there are features
}

// Name returns "frankwolfe".
func (FrankWolfe[T]) Name() string { return "frankwolfe" }

func (FrankWolfe[T]) scaleFree() {}

// Init chooses the implementation: kernel space takes time quadratic in the
// number of rows, so it is for kernels without features.
func (m FrankWolfe[T]) Init(s *Space[T]) (Forward, error) {
	if err := s.refuseTarget(m.Name()); err != nil {
		return nil, err
	}
	if m.In == InKernelSpace || m.In == ByCost && s.kernel != nil {
		return newFrankWolfeKernel(s, m.Name())
	}
	return newFrankWolfeFeatures(s, m.Name())
}

// bestDirection returns the open row of largest score.
func bestDirection[T matrix.Float](s *Space[T], scores []float64) (Choice, error) {
	open := s.limits.open
	row, err := bestOpen(s.team, scores, open)
	if err != nil {
		return Choice{}, err
	}
	if math.IsInf(scores[row], -1) {
		return Choice{}, noDirection()
	}
	return Choice{Row: row, Score: s.inUnits(scores[row], 1), Tied: scores[row] == 0 && allZero(scores, open)}, nil
}

// allZero says whether all open rows with a direction have the score 0.
func allZero(scores []float64, open []bool) bool {
	for i, s := range scores {
		if open[i] && s != 0 && !math.IsInf(s, -1) {
			return false
		}
	}
	return true
}

// noDirection is the error when only rows with zero features are left.
func noDirection() error {
	return &Stuck{Reason: "the features of all rows that may be picked are zero"}
}
