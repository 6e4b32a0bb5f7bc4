package space

// Rows in memory, the first implementation of the inner seam (rows.go).

import "github.com/nextbatch/nextbatch/matrix"

// memoryRows are rows of a set in memory.
type memoryRows[T matrix.Float] struct {
	space          *space[T] // for its kernel, threads and shortener
	of             *set[T]
	weights        []float64 // in the target distribution; nil: all 1
	price          []float64 // to divide scores by; nil: scores stay as they are
	open, selected []bool
}

func newMemoryRows[T matrix.Float](s *space[T], of *set[T], weights []float64) *memoryRows[T] {
	return &memoryRows[T]{space: s, of: of, weights: weights, open: make([]bool, of.rows.Rows),
		selected: make([]bool, of.rows.Rows)}
}

func (m *memoryRows[T]) Mark(row int, open, selected bool) {
	m.open[row], m.selected[row] = open, selected
}

func (m *memoryRows[T]) Row(row int) (matrix.Dense[T], T) {
	return m.of.slice(row, row+1), m.of.diag[row]
}

func (m *memoryRows[T]) Block(from, to int) matrix.Dense[T] { return m.of.slice(from, to) }

func (m *memoryRows[T]) Largest() (Found, error) { return m.best(m.of.diag) }

// best returns the open row of largest score, per price if there are prices.
func (m *memoryRows[T]) best(score []T) (Found, error) {
	row, err := BestPer(m.space.team, score, m.price, m.open)
	if err != nil || row < 0 {
		return Found{Row: -1}, err
	}
	return Found{row, float64(score[row])}, nil
}

// weight returns the weight of a row in the target distribution.
func (m *memoryRows[T]) weight(row int) float64 {
	if m.weights == nil {
		return 1
	}
	return m.weights[row]
}
