package nearest

// Distances to many centres at once, as a matrix product:
//
//	‖x − c‖² = ‖x̂‖² + ‖ĉ‖² − 2⟨x̂, ĉ⟩,  x̂ = x − μ, ĉ = c − μ
//
// with μ the mean of the centres. The product is fast but rounds to a
// share of ‖x̂‖² + ‖ĉ‖², so it is only used to rule out centres that
// cannot be the nearest. For the survivors, mostly one, it is computed as
// Σ (x_i − c_i)². The result is the one of adding the rows one by one, to the
// last bit.

import (
	"math"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	blockRows    = 1024 // rows of the pool in one product
	blockCentres = 2048 // centres in one product
	blockPiece   = 32   // rows of a block that a thread takes at a time
	minChunk     = 64   // products that share a minimum, so that few are examined one by one
)

// addMany adds centres; first is the label of the first of them.
func (f *Search[T]) addMany(centres matrix.Dense[T], first int) {
	for from := 0; from < centres.Rows; from += blockCentres {
		to := min(from+blockCentres, centres.Rows)
		newCentreBlock(f, centres.Slice(from, to), first+from).addRange(0, f.rows.Rows)
	}
}

// centreBlock is a block of centres.
type centreBlock[T matrix.Float] struct {
	*Search[T]
	centres  matrix.Dense[T]
	first    int
	mean     []T
	centred  matrix.Dense[T]
	norms    []T // of the centred rows, squared
	farthest float64

	rows     matrix.Dense[T] // a block of the set, centred
	rowNorms []T
	products matrix.Dense[T]
}

func newCentreBlock[T matrix.Float](f *Search[T], centres matrix.Dense[T], first int) *centreBlock[T] {
	n, d := centres.Rows, centres.Cols
	b := &centreBlock[T]{Search: f, centres: centres, first: first, mean: columnMeans(centres),
		centred: matrix.New[T](n, d), norms: make([]T, n)}
	block := min(blockRows, f.rows.Rows)
	b.rows, b.rowNorms, b.products = matrix.New[T](block, d), make([]T, block), matrix.New[T](block, n)
	b.centre(b.centred, centres)
	linalg.RowNorms(f.Team, b.norms, b.centred)
	for _, v := range b.norms {
		b.farthest = max(b.farthest, math.Sqrt(float64(v)))
	}
	return b
}

// centre writes src minus the mean to dst.
func (b *centreBlock[T]) centre(dst, src matrix.Dense[T]) {
	set := simd.For[T]()
	b.Team.OverPieces(src.Rows, blockPiece, func(_, from, to int) {
		for i := from; i < to; i++ {
			copy(dst.Row(i), src.Row(i))
			set.Axpy(dst.Row(i), b.mean, -1)
		}
	})
}

// addRange finds the nearest of the block for the rows from from to to-1.
func (b *centreBlock[T]) addRange(from, to int) {
	for first := from; first < to && !b.Cancelled(); first += blockRows {
		b.addRows(first, min(first+blockRows, to))
	}
	pairs := int64(to-from) * int64(b.centres.Rows)
	b.Tally.Pairs(pairs, pairs)
	tally.Rows[T](b.Tally, to-from, b.centres.Cols)
}

// addRows finds the nearest of the block for at most blockRows rows.
func (b *centreBlock[T]) addRows(from, to int) {
	rows, products := b.rows.Slice(0, to-from), b.products.Slice(0, to-from)
	b.centre(rows, b.Search.rows.Slice(from, to))
	linalg.RowNorms(b.Team, b.rowNorms[:rows.Rows], rows)
	linalg.Gemm(b.Team, products, -2, rows, linalg.NoTrans, b.centred, linalg.Trans, 0)
	b.Team.OverPieces(rows.Rows, blockPiece, func(_, first, last int) {
		for i := first; i < last; i++ {
			b.settle(from+i, products.Row(i), float64(b.rowNorms[i]))
		}
	})
}

// settle finds the nearest centre of one row. products become the squared
// distances minus the row's own squared norm, up to rounding.
func (b *centreBlock[T]) settle(row int, products []T, norm float64) {
	simd.For[T]().Axpy(products, b.norms, 1)
	slack := b.rounding(math.Sqrt(norm) + b.farthest)
	var mins [blockCentres / minChunk]T
	lowest := chunkMins(mins[:], products)
	// The nearest is at most this far; no other one can be nearer if it is
	// farther by more than the rounding of both.
	bound := min(float64(b.Dist[row]), float64(lowest)+norm+slack) + slack - norm
	for chunk, from := 0, 0; from < len(products); chunk, from = chunk+1, from+minChunk {
		if float64(mins[chunk]) > bound {
			continue
		}
		for j, v := range products[from:min(from+minChunk, len(products))] {
			if float64(v) > bound {
				continue
			}
			if b.compare(row, from+j); b.Dist[row] == 0 {
				return // no later centre is nearer; among duplicates all of them are within the bound
			}
		}
	}
}

// compare is the step of the plain algorithm for one row and one centre.
func (b *centreBlock[T]) compare(row, centre int) {
	var dist [1]T
	simd.For[T]().SqDistRows(dist[:], b.centres.Row(centre), b.Search.rows.Row(row), b.centres.Cols)
	if dist[0] < b.Dist[row] {
		b.Dist[row], b.Label[row] = dist[0], int32(b.first+centre)
	}
}

// rounding bounds how far the squared distance that the product gives and the
// one that the plain algorithm gives can lie apart, both computed in T, for rows
// whose norms add up to reach. Each is a sum of d products, in any order, of
// numbers that are rounded themselves: an error of at most (d + 8)·u·reach², with u the
// rounding of one operation, plus what may underflow in each. Factor 3
// covers both, and the terms of higher order.
func (b *centreBlock[T]) rounding(reach float64) float64 {
	u, smallest := roundingOf[T]()
	return 3 * float64(b.centres.Cols+8) * (u*reach*reach + smallest)
}

// roundingOf returns the rounding of one operation, and the number below which
// results lose digits.
func roundingOf[T matrix.Float]() (u, smallest float64) {
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		return math.Ldexp(1, -24), math.Ldexp(1, -126)
	}
	return math.Ldexp(1, -53), math.Ldexp(1, -1022)
}

// chunkMins writes the minimum of each chunk and returns that of all.
func chunkMins[T matrix.Float](mins, v []T) T {
	set := simd.For[T]()
	lowest := T(math.Inf(1))
	for chunk, from := 0, 0; from < len(v); chunk, from = chunk+1, from+minChunk {
		mins[chunk] = set.Min(v[from:min(from+minChunk, len(v))])
		lowest = min(lowest, mins[chunk])
	}
	return lowest
}

func columnMeans[T matrix.Float](m matrix.Dense[T]) []T {
	sums := make([]float64, m.Cols)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			sums[j] += float64(v)
		}
	}
	mean := make([]T, m.Cols)
	for j, v := range sums {
		mean[j] = T(v / float64(m.Rows))
	}
	return mean
}
