package space

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// cachedRows is the number of rows of features that stay in the cache while several
// vectors are multiplied with them.
const cachedRows = 32

// readPiece is the number of rows of a piece where all features are read.
const readPiece = 512

// scanPiece is the number of rows of a piece where each row takes little work.
const scanPiece = 1 << 14

// bestOpen returns the open row of largest score, of equal ones the lowest, or -1 if no
// row is open. A score that is NaN is an error.
func bestOpen[T matrix.Float](team *linalg.Team, score []T, open []bool) (int, error) {
	type top struct{ best, nan int }
	list := make([]top, linalg.Pieces(len(score), scanPiece))
	team.OverPieces(len(score), scanPiece, func(piece, from, to int) {
		f := top{-1, -1}
		if part := score[from:to]; finiteSum(part) {
			if best := from + simd.For[T]().ArgMax(part); open[best] {
				list[piece] = top{best, -1}
				return
			}
		}
		for i := from; i < to; i++ {
			if !open[i] {
				continue
			}
			switch v := score[i]; {
			case v != v:
				list[piece] = top{-1, i}
				return
			case f.best < 0 || v > score[f.best]:
				f.best = i
			}
		}
		list[piece] = f
	})
	best := -1
	for _, f := range list {
		if f.nan >= 0 {
			return -1, &place.RowError{Set: "pool", Row: f.nan, What: "score", Value: math.NaN()}
		}
		if f.best >= 0 && (best < 0 || score[f.best] > score[best]) {
			best = f.best
		}
	}
	return best, nil
}

// finiteSum reports whether the sum of numbers is finite: then none of them is NaN.
func finiteSum[T matrix.Float](v []T) bool {
	sum := simd.For[T]().Sum(v)
	return sum-sum == 0
}

// BestPer is bestOpen for scores that are divided by prices, unless these are nil.
func BestPer[T matrix.Float](team *linalg.Team, score []T, price []float64, open []bool) (int, error) {
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
			return -1, &place.RowError{Set: "pool", Row: row, What: "score", Value: v}
		}
		if best < 0 || v > top {
			best, top = row, v
		}
	}
	return best, nil
}
