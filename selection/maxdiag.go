package selection

// MaxDiag (paper, "Naive Active Learning" and the algorithm in the appendix):
//
//	NEXT = argmax_{x in X_rem} k(x, x)

import "github.com/nextbatch/nextbatch/matrix"

// MaxDiag selects the rows of largest k(x, x).
type MaxDiag[T matrix.Float] struct{}

// Name returns "maxdiag".
func (MaxDiag[T]) Name() string { return "maxdiag" }

func (MaxDiag[T]) scaleFree() {}

// Init starts with nothing: k(x, x) does not depend on what is selected.
func (m MaxDiag[T]) Init(s *Space[T]) (Forward, error) {
	if err := s.refuseTarget(m.Name()); err != nil {
		return nil, err
	}
	return maxDiag[T]{s}, nil
}

type maxDiag[T matrix.Float] struct{ space *Space[T] }

func (f maxDiag[T]) Add([]int) error { return nil }

// Next returns the open row of largest k(x, x), which is its score.
func (f maxDiag[T]) Next() (Choice, error) { return f.space.largest() }
