package space

// Sums over rows. Addition of rounded numbers depends on the order, so a sum over
// rows is defined as
//
//	((0 + B₀) + B₁) + B₂ + …,   B_i the sum over the rows from i·2¹⁴ to (i+1)·2¹⁴ − 1,
//
// where B_i depends on its own rows alone. Hence a pool that is cut at multiples of
// 2¹⁴ rows, over files, devices or machines, gives the same sums to the last bit, as
// does any number of threads. A block in which no row counts adds zero, so it may be
// skipped.

import (
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/simd"
)

// sumBlock is the number of rows of a block.
const sumBlock = place.Block

// sumBlocks computes the partial sum of each block of n rows, several blocks at a
// time, and adds them in order, in the calling goroutine.
func sumBlocks[S any](team *linalg.Team, n int, partial func(from, to int) S, add func(S)) {
	const together = 8
	var sums [together]S
	for first := 0; first < n; first += together * sumBlock {
		rows := min(together*sumBlock, n-first)
		team.OverPieces(rows, sumBlock, func(block, from, to int) { sums[block] = partial(first+from, first+to) })
		for _, s := range sums[:linalg.Pieces(rows, sumBlock)] {
			add(s)
		}
	}
}

// eachBlock visits the blocks of n rows in order, one at a time.
func eachBlock(n int, visit func(from, to int)) {
	for from := 0; from < n; from += sumBlock {
		visit(from, min(from+sumBlock, n))
	}
}

// addSum adds numbers of rows to a total.
func addSum(total float64, v []float64) float64 {
	eachBlock(len(v), func(from, to int) { total += simd.For[float64]().Sum(v[from:to]) })
	return total
}
