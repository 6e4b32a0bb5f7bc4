package selection

// Scores per cost. With Constraints.PerCost each step picks
//
//	argmax_{x in X_rem} score(x)/cost(x)
//
// in place of the largest score, the lowest of equal rows as ever. The score is what the
// method maximises: k(x, x) in MaxDiag, the posterior variance in MaxDet, the fall of
// the summed variance in BAIT-F, the squared distance from the nearest selected row in
// MaxDist. In LCMD the largest cluster is the same as without costs, and the squared
// distance per cost decides within it. Methods that draw (random, k-means++) have no
// score; nor has FrankWolfe, whose score may be negative, and BAIT-FB removes rows by
// another one.
//
// Prices make bounds of scores useless as they are, so every step is done for every row.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// scored are methods whose score can be divided by costs.
type scored interface{ scored() bool }

func (MaxDiag[T]) scored() bool { return true }
func (MaxDet[T]) scored() bool  { return true }
func (MaxDist[T]) scored() bool { return true }
func (LCMD[T]) scored() bool    { return true }
func (m BAIT[T]) scored() bool  { return !m.Backward }

// perCost divides a score by the cost of its row, if scores are to be divided.
func (s *Space[T]) perCost(row int, score float64) float64 {
	if s.price == nil || row < 0 {
		return score
	}
	return score / s.price[row]
}

// bestRow returns the open row of largest score, or of largest score per cost; -1 if no
// row is open.
func (s *Space[T]) bestRow(score []T) (int, error) {
	return bestPer(s.team, score, s.price, s.limits.open)
}

// bestPer is bestOpen for scores that are divided by prices, unless these are nil.
func bestPer[T matrix.Float](team *linalg.Team, score []T, price []float64, open []bool) (int, error) {
	if price == nil {
		return bestOpen(team, score, open)
	}
	best, top := -1, math.Inf(-1)
	for row, p := range price {
		if !open[row] {
			continue
		}
		v := float64(score[row]) / p
		if math.IsNaN(v) {
			return -1, &RowError{Set: "pool", Row: row, What: "score", Value: v}
		}
		if best < 0 || v > top {
			best, top = row, v
		}
	}
	return best, nil
}
