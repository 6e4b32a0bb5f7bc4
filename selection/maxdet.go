package selection

// MaxDet (paper, "Greedy Determinant Maximization"):
//
//	NEXT = argmax_{x in X_rem} k_{→post(X_sel, σ²)}(x, x)
//	     = argmax_{x in X_rem} det(k(X_sel ∪ {x}, X_sel ∪ {x}) + σ²I)
//
// Two implementations: maxdet_features.go and maxdet_kernel.go.

import "math"

// MaxDet selects the row of largest variance after conditioning on the selected
// ones.
type MaxDet struct {
	Sigma2 float64        // the noise variance σ²; zero means DefaultSigma2
	In     Implementation // zero chooses by cost
}

// Implementation is the space in which a method computes, for those that have both.
type Implementation int

const (
	weighed Implementation = iota
	InFeatureSpace
	InKernelSpace
)

// Name returns "maxdet".
func (MaxDet) Name() string { return "maxdet" }

func (m MaxDet) traits() traits {
	sigma2, _ := sigma2Of(m.Name(), m.Sigma2)
	return traits{scored: true, inDouble: true, inKernel: m.In == InKernelSpace,
		gain: func(variance float64) float64 { return math.Log(variance + sigma2) }}
}

// Init chooses the implementation. A step in feature space reads all features once; a
// step in kernel space computes kernel values with one row, which takes as much if rows
// are features, and then reads one number per row and selected row. So with explicit
// features, feature space is never slower.
func (m MaxDet) Init(s *Space) (Forward, error) {
	if err := s.refuseTarget(m.Name()); err != nil {
		return nil, err
	}
	sigma2, err := sigma2Of(m.Name(), m.Sigma2)
	if err != nil {
		return nil, err
	}
	if m.In == InKernelSpace || m.In == weighed && !s.rows.Explicit() {
		return newMaxDetKernel(s, m.Name(), sigma2)
	}
	return newMaxDetFeatures(s, m.Name(), sigma2)
}
