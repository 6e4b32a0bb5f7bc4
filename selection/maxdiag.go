package selection

// MaxDiag (paper, "Naive Active Learning" and the algorithm in the appendix):
//
//	NEXT = argmax_{x in X_rem} k(x, x)

import (
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

// MaxDiag selects the rows of largest k(x, x).
type MaxDiag[T matrix.Float] struct{}

// Name returns "maxdiag".
func (MaxDiag[T]) Name() string { return "maxdiag" }

func (MaxDiag[T]) scaleFree() {}

// Init sorts the rows by k(x, x).
func (m MaxDiag[T]) Init(s *Space[T]) (Forward, error) {
	if err := s.refuseTarget(m.Name()); err != nil {
		return nil, err
	}
	diag := s.Diag()
	order := make([]int, len(diag))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case diag[a] > diag[b]:
			return -1
		case diag[a] < diag[b]:
			return 1
		}
		return 0
	})
	return &inOrder[T]{space: s, order: order, choose: func(row int) Choice {
		return Choice{Row: row, Score: s.inUnits(float64(diag[row]), 2), Tied: diag[row] == 0}
	}}, nil
}
