package place

import "math"

// Size is what a row adds to the size of its cluster.
type Size int

const (
	SquaredDistance Size = iota // the paper's choice
	Distance
	Count
)

// Of returns what a row at a squared distance adds.
func (s Size) Of(sq float64) float64 {
	switch s {
	case Distance:
		return math.Sqrt(sq)
	case Count:
		return 1
	}
	return sq
}

// Power is the power of the unit of features in the size of a cluster.
func (s Size) Power() int { return [...]int{2, 1, 0}[s] }
