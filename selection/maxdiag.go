package selection

// MaxDiag (paper, "Naive Active Learning" and the algorithm in the appendix):
//
//	NEXT = argmax_{x in X_rem} k(x, x)

// MaxDiag selects the rows of largest k(x, x).
type MaxDiag struct{}

// Name returns "maxdiag".
func (MaxDiag) Name() string { return "maxdiag" }

func (MaxDiag) traits() traits {
	return traits{anyUnit: true, scored: true, byDiag: true, gain: itself}
}

// Init starts with nothing: k(x, x) does not depend on what is selected.
func (m MaxDiag) Init(s *Space) (Forward, error) {
	if err := s.refuseTarget(m.Name()); err != nil {
		return nil, err
	}
	return maxDiag{s}, nil
}

type maxDiag struct{ space *Space }

func (f maxDiag) Add([]int) error { return nil }

// Next returns the open row of largest k(x, x), which is its score.
func (f maxDiag) Next() (Choice, error) { return f.space.largest() }
