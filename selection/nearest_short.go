package selection

// Distances to selected rows where short rows (short.go) rule out most.

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	shortPiece = 1024 // rows of a piece where short rows are read
	// fullShare is the share of a piece's rows, one in so many, from which on
	// all of the piece is read: one row after the other is faster.
	fullShare = 4
	// plainShare is the same for pairs, against a matrix product.
	plainShare = 8
	// retryBlocks is after how many blocks short rows are tried again.
	retryBlocks = 32
)

// shortNearest is a nearest with short rows.
type shortNearest[T matrix.Float] struct {
	*nearest[T]
	maker *shortener[T]
	rows  shortened
	limit []float32 // of each row
}

func newShortNearest[T matrix.Float](f *nearest[T]) *shortNearest[T] {
	h := f.space.shortener()
	if h == nil {
		return nil
	}
	n := &shortNearest[T]{nearest: f, maker: h, rows: f.space.shortRows(f.of), limit: alloc[float32](f.space, len(f.dist))}
	n.refresh()
	return n
}

// refresh computes all limits.
func (f *shortNearest[T]) refresh() {
	overPieces(len(f.dist), scanPiece, func(_, from, to int) {
		for i := from; i < to; i++ {
			f.limit[i] = f.maker.limit(f.dist[i])
		}
	})
}

// add counts candidates as selected; first is the label of the first of them.
func (f *shortNearest[T]) add(candidates []int, first int) {
	if len(candidates) >= manyRows {
		f.addMany(candidates, first)
		return
	}
	for i, x := range candidates {
		f.addOne(x, int32(first+i))
	}
}

// addOne counts one candidate as selected.
func (f *shortNearest[T]) addOne(candidate int, label int32) {
	set, short := simd.For[T](), simd.For[float32]()
	centre, _ := f.space.row(candidate)
	coarse, fine := f.space.shortRow(candidate)
	var full atomic.Int64
	overPieces(len(f.dist), shortPiece, func(_, from, to int) {
		var low [shortPiece]float32
		var left [shortPiece]int32
		part, limit := f.rows.coarse.Slice(from, to), f.limit[from:to]
		short.SqDistRows(low[:to-from], coarse, part.Data, part.Stride)
		n := 0
		for i := range limit {
			left[n] = int32(i)
			if low[i] <= limit[i] {
				n++
			}
		}
		if n <= (to-from)/2 {
			part = f.rows.fine.Slice(from, to)
			short.SqDistListed(low[:n], fine, part.Data, part.Stride, left[:n])
			n = keepNear(left[:n], low[:n], limit)
		}
		all, fresh := f.of.rows.Slice(from, to), f.fresh[from:to]
		if n > (to-from)/fullShare {
			set.SqDistRows(fresh, centre.Row(0), all.Data, all.Stride)
			for i, d := range fresh {
				f.lowerRow(from+i, d, label)
			}
			full.Add(int64(to - from))
			return
		}
		set.SqDistListed(fresh[:n], centre.Row(0), all.Data, all.Stride, left[:n])
		for i, row := range left[:n] {
			f.lowerRow(from+int(row), fresh[i], label)
		}
		full.Add(int64(n))
	})
	f.space.countPairs(int64(len(f.dist)), full.Load())
}

// keepNear moves those of the rows to the front whose bound is not above their
// limit and returns their number. low belongs to the list, limit to all rows.
func keepNear(list []int32, low, limit []float32) int {
	n := 0
	for i, row := range list {
		list[n] = row
		if low[i] <= limit[row] {
			n++
		}
	}
	return n
}

// lowerRow is the step of the plain algorithm for one row.
func (f *shortNearest[T]) lowerRow(row int, dist T, label int32) {
	if dist < f.dist[row] {
		f.dist[row], f.label[row], f.limit[row] = dist, label, f.maker.limit(dist)
	}
}

// addMany counts candidates as selected. Products of short rows rule out most
// pairs. Where they leave too many, the plain version takes over for some
// blocks.
func (f *shortNearest[T]) addMany(candidates []int, first int) {
	centres, short := f.space.gather(candidates), matrix.New[float32](len(candidates), fineCols)
	for i, x := range candidates {
		_, fine := f.space.shortRow(x)
		copy(short.Row(i), fine)
	}
	for from := 0; from < centres.Rows; from += blockCentres {
		to := min(from+blockCentres, centres.Rows)
		f.addBlock(newShortBlock(f, centres.Slice(from, to), short.Slice(from, to), first+from))
	}
	f.refresh()
}

func (f *shortNearest[T]) addBlock(b *shortBlockOf[T]) {
	var plain *centreBlock[T]
	n := len(f.dist)
	plainUntil := 0
	for from, block := 0, 0; from < n && !f.space.Cancelled(); from, block = from+blockRows, block+1 {
		to := min(from+blockRows, n)
		pairs := int64(to-from) * int64(b.centres.Rows)
		full := pairs
		if block < plainUntil {
			if plain == nil {
				plain = newCentreBlock(f.nearest, b.centres, b.first)
			}
			plain.addRows(from, to)
		} else if full = b.addRows(from, to); full > pairs/plainShare {
			plainUntil = block + retryBlocks
		}
		f.space.countPairs(pairs, full)
	}
}

// shortBlockOf is a block of selected rows, and their short rows.
type shortBlockOf[T matrix.Float] struct {
	*shortNearest[T]
	centres  matrix.Dense[T]
	short    matrix.Dense[float32]
	first    int
	norms    []float32 // of the short rows, squared
	farthest float64
	products matrix.Dense[float32]
	rowNorms []float32
	scratch  sync.Pool // of *settleScratch
}

func newShortBlock[T matrix.Float](f *shortNearest[T], centres matrix.Dense[T], short matrix.Dense[float32], first int) *shortBlockOf[T] {
	block := min(blockRows, len(f.dist))
	b := &shortBlockOf[T]{shortNearest: f, centres: centres, short: short, first: first, norms: make([]float32, short.Rows),
		products: matrix.New[float32](block, short.Rows), rowNorms: make([]float32, block)}
	b.scratch.New = func() any { return new(settleScratch[T]) }
	linalg.RowNorms(b.norms, short)
	for _, v := range b.norms {
		b.farthest = max(b.farthest, math.Sqrt(float64(v)))
	}
	return b
}

// addRows finds the nearest of the block for some rows and returns how many
// distances were computed in full.
func (b *shortBlockOf[T]) addRows(from, to int) int64 {
	rows, products := b.rows.fine.Slice(from, to), b.products.Slice(0, to-from)
	linalg.RowNorms(b.rowNorms[:rows.Rows], rows)
	linalg.Gemm(products, -2, rows, linalg.NoTrans, b.short, linalg.Trans, 0)
	var full atomic.Int64
	overPieces(rows.Rows, blockPiece, func(_, first, last int) {
		n, scratch := 0, b.scratch.Get().(*settleScratch[T])
		for i := first; i < last; i++ {
			n += b.settle(from+i, products.Row(i), float64(b.rowNorms[i]), scratch)
		}
		b.scratch.Put(scratch)
		full.Add(int64(n))
	})
	return full.Load()
}

// settleScratch is room for the selected rows that are left for one row.
type settleScratch[T matrix.Float] struct {
	list [blockCentres]int32
	low  [blockCentres]float32
	dist [blockCentres]T
}

// settle finds the nearest selected row of one row: the full distance of the one
// whose short row is nearest rules out most others. It returns how many
// distances were computed in full.
func (b *shortBlockOf[T]) settle(row int, products []float32, norm float64, scratch *settleScratch[T]) int {
	set := simd.For[float32]()
	set.Axpy(products, b.norms, 1)
	var mins [blockCentres / minChunk]float32
	lowest := chunkMins(mins[:], products)
	b.compare(row, append(scratch.list[:0], int32(indexOf(products, mins[:], lowest))), scratch)

	// products and norm make the squared distance up to rounding, see
	// centreBlock.rounding.
	reach := math.Sqrt(norm) + b.farthest
	slack := 3 * (fineCols + 8) * math.Ldexp(1, -24) * reach * reach
	bound := float64(b.limit[row]) + slack - norm
	n := 0
	for chunk, from := 0, 0; from < len(products); chunk, from = chunk+1, from+minChunk {
		if float64(mins[chunk]) > bound {
			continue
		}
		for j, v := range products[from:min(from+minChunk, len(products))] {
			scratch.list[n] = int32(from + j)
			if float64(v) <= bound {
				n++
			}
		}
	}
	list, low := scratch.list[:n], scratch.low[:n]
	set.SqDistListed(low, b.rows.fine.Row(row), b.short.Data, b.short.Stride, list)
	n = 0
	for i, centre := range list {
		list[n] = centre
		if low[i] <= b.limit[row] {
			n++
		}
	}
	b.compare(row, list[:n], scratch)
	return n + 1
}

// indexOf returns the index of a value, by the minima of chunks.
func indexOf(v, mins []float32, value float32) int {
	for chunk := range pieces(len(v), minChunk) {
		if mins[chunk] == value {
			return chunk*minChunk + slices.Index(v[chunk*minChunk:], value)
		}
	}
	return 0
}

// compare computes the distances of one row and some selected rows. Of equal
// ones the earliest selected row is the nearest.
func (b *shortBlockOf[T]) compare(row int, centres []int32, scratch *settleScratch[T]) {
	dist := scratch.dist[:len(centres)]
	simd.For[T]().SqDistListed(dist, b.of.rows.Row(row), b.centres.Data, b.centres.Stride, centres)
	best, nearest := b.dist[row], b.label[row]
	for i, d := range dist {
		if label := int32(b.first) + centres[i]; d < best || d == best && label < nearest {
			best, nearest = d, label
		}
	}
	if nearest != b.label[row] || best != b.dist[row] {
		b.dist[row], b.label[row], b.limit[row] = best, nearest, b.maker.limit(best)
	}
}
