package selection

// FrankWolfe (paper, "Frank-Wolfe optimization"): rows whose weighted sum of
// features approximates that of all candidates,
//
//	min over w ≥ 0 of ‖Σ_{x in X_cand} φ(x) − Σ_{x in X_sel} w[x]·φ(x)‖²
//
// by steps towards one row each. Two implementations: frankwolfe_features.go and
// frankwolfe_kernel.go. A row whose features are all
// zero has no direction and is never picked.

import (
	"math"

	"github.com/nextbatch/nextbatch/selection/internal/space"
)

// FrankWolfe selects rows that represent the mean of the pool's features.
type FrankWolfe struct {
	In Implementation // zero: in feature space if there are features
}

// Name returns "frankwolfe".
func (FrankWolfe) Name() string { return "frankwolfe" }

func (m FrankWolfe) traits() traits {
	return traits{anyUnit: true, inDouble: true, inKernel: m.In == InKernelSpace}
}

// Init chooses the implementation: kernel space takes time quadratic in the
// number of rows, so it is for kernels without features.
func (m FrankWolfe) Init(s *Space) (Forward, error) {
	if err := s.refuseTarget(m.Name()); err != nil {
		return nil, err
	}
	if m.In == InKernelSpace || m.In == weighed && !s.rows.Explicit() {
		return newFrankWolfeKernel(s)
	}
	return newFrankWolfeFeatures(s)
}

// chooseDirection turns the row of the closest direction into a choice. Rows are tied if
// the score of every row is zero.
func (s *Space) chooseDirection(best space.Found, zero bool, err error) (Choice, error) {
	if err == nil && math.IsInf(best.Score, -1) {
		err = &Stuck{Reason: "the features of all rows that may be picked are zero"}
	}
	if err != nil {
		return Choice{}, err
	}
	return Choice{Row: best.Row, Score: s.rows.InUnits(best.Score, 1), Tied: zero}, nil
}
