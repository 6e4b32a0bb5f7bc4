package nearest

// Boxes: rows in groups that lie together, each in a box along a few columns. The
// squared distance of a row x from a box is at most that of x and any row y in it,
//
//	‖x − y‖² ≥ Σ_j max(low_j − x_j, x_j − high_j, 0)²,
//
// so a whole group can be pruned if that exceeds the largest squared distance in it
// that matters. That is safe under rounding: the computed squared distance is
// at least (1 − 2(d+8)u) of the exact one minus what underflows, see short.go.

import (
	"cmp"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

const (
	BoxRows = 64 // at most this many rows per group
	boxCols = 16 // at most this many columns per box: those where rows differ most
)

// Boxes are the groups of a set of rows.
type Boxes[T matrix.Float] struct {
	cols      []int
	Groups    [][]int32             // rows
	low, high matrix.Dense[float64] // one row per group, one number per column of cols
	share     float64               // the least share of a squared distance that rounding leaves
	underflow float64
}

// NewBoxes puts rows into groups.
func NewBoxes[T matrix.Float](rows matrix.Dense[T]) *Boxes[T] {
	u, smallest := roundingOf[T]()
	d := float64(rows.Cols)
	b := &Boxes[T]{cols: widestCols(rows), share: 1 - 2*(d+8)*u - 1e-9, underflow: d * smallest}
	all := make([]int32, rows.Rows)
	for i := range all {
		all[i] = int32(i)
	}
	b.split(rows, all)
	b.low, b.high = matrix.New[float64](len(b.Groups), len(b.cols)), matrix.New[float64](len(b.Groups), len(b.cols))
	for i, group := range b.Groups {
		for j, col := range b.cols {
			low, high := extent(rows, group, col)
			b.low.Row(i)[j], b.high.Row(i)[j] = float64(low), float64(high)
		}
	}
	return b
}

// widestCols lists the columns along which a sample of the rows varies most.
func widestCols[T matrix.Float](rows matrix.Dense[T]) []int {
	some := matrix.Converted[float64](sample(rows))
	mean, spread, cols := columnMeans(some), make([]float64, rows.Cols), make([]int, rows.Cols)
	for i := range some.Rows {
		for j, v := range some.Row(i) {
			spread[j] += (v - mean[j]) * (v - mean[j])
		}
	}
	for j := range cols {
		cols[j] = j
	}
	slices.SortStableFunc(cols, func(a, b int) int { return cmp.Compare(spread[b], spread[a]) })
	return cols[:min(boxCols, len(cols))]
}

// split halves rows along the column where they lie farthest apart, until a group
// is small.
func (b *Boxes[T]) split(rows matrix.Dense[T], list []int32) {
	if len(list) <= BoxRows {
		b.Groups = append(b.Groups, list)
		return
	}
	widest, width := 0, T(-1)
	for _, col := range b.cols {
		if low, high := extent(rows, list, col); high-low > width {
			widest, width = col, high-low
		}
	}
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(rows.Row(int(a))[widest], rows.Row(int(b))[widest]), cmp.Compare(a, b))
	})
	b.split(rows, list[:len(list)/2])
	b.split(rows, list[len(list)/2:])
}

// extent is the smallest and the largest number of a column of the rows.
func extent[T matrix.Float](rows matrix.Dense[T], list []int32, col int) (low, high T) {
	low, high = T(math.Inf(1)), T(math.Inf(-1))
	for _, row := range list {
		v := rows.Row(int(row))[col]
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// Place returns the numbers of a row that boxes need.
func (b *Boxes[T]) Place(row []T) []float64 {
	at := make([]float64, len(b.cols))
	for j, col := range b.cols {
		at[j] = float64(row[col])
	}
	return at
}

// Beyond reports whether every computed squared distance between a row, given by its
// place, and the rows of a group is at least most.
func (b *Boxes[T]) Beyond(at []float64, group int, most T) bool {
	low, high := b.low.Row(group)[:len(at)], b.high.Row(group)[:len(at)]
	sum := 0.0
	for j, x := range at {
		if off := low[j] - x; off > 0 {
			sum += off * off
		} else if off := x - high[j]; off > 0 {
			sum += off * off
		}
	}
	return sum*b.share-b.underflow > float64(most)
}
