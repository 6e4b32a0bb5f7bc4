package selection

// Random (paper, "Random Selection"):
//
//	NEXT ~ U(X_rem), the first rows of a random order of the pool.

import "github.com/nextbatch/nextbatch/matrix"

// Random selects rows uniformly at random.
type Random[T matrix.Float] struct{}

// Name returns "random".
func (Random[T]) Name() string { return "random" }

// Init draws the order.
func (m Random[T]) Init(s *Space[T]) (Forward, error) {
	if err := s.refuseTarget(m.Name()); err != nil {
		return nil, err
	}
	return &inOrder[T]{space: s, order: s.Stream("random").Perm(s.PoolSize()), score: func(int) float64 { return 0 }}, nil
}

// inOrder takes rows in an order that does not depend on what is selected.
type inOrder[T matrix.Float] struct {
	space *Space[T]
	order []int
	score func(row int) float64
}

func (f *inOrder[T]) Add([]int) error { return nil }

// Next skips rows that are not open. They are looked at again in the next call:
// constraints of a batch that shrinks can open them.
func (f *inOrder[T]) Next() (Choice, error) {
	for _, row := range f.order {
		if f.space.Open(row) {
			return Choice{Row: row, Score: f.score(row)}, nil
		}
	}
	return Choice{}, &Stuck{Reason: "no row is open"}
}
