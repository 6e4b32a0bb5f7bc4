package selection

// Distances to many selected rows at once where short rows (short.go) rule out
// most: a product of short rows, as in nearest_block.go, then what it leaves.

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
	productCols = 32  // leading directions in a product of short rows
	productRows = 28  // rows of one: what stays in the cache
	groupedRows = 512 // rows that a thread settles at a time: they stay in the cache too
	// plainShare is the share of the features of all pairs, one in so many, from
	// which on a product of whole rows is faster. That is tried on the first rows
	// of each stretch.
	plainShare  = 8
	trialRows   = 2 * productRows
	stretchRows = 1 << 15
)

// addMany counts candidates as selected. Where short rows leave too many pairs,
// the plain version takes over for some blocks.
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
	for from := 0; from < len(f.dist) && !f.space.Cancelled(); from += stretchRows {
		to := min(from+stretchRows, len(f.dist))
		rest := min(from+trialRows, to)
		if b.addRows(from, rest) {
			b.addRows(rest, to)
			continue
		}
		if plain == nil {
			plain = newCentreBlock(f.nearest, b.centres, b.first)
		}
		plain.addRange(rest, to)
	}
}

// shortBlockOf is a block of selected rows, and their short rows.
type shortBlockOf[T matrix.Float] struct {
	*shortNearest[T]
	centres  matrix.Dense[T]
	short    matrix.Dense[float32]
	packed   *linalg.Packed[float32] // their leading directions
	first    int
	norms    []float32 // of these, squared
	farthest float64
	scratch  sync.Pool // of *settleScratch
}

func newShortBlock[T matrix.Float](f *shortNearest[T], centres matrix.Dense[T], short matrix.Dense[float32], first int) *shortBlockOf[T] {
	leading := short.Block(0, short.Rows, 0, productCols)
	b := &shortBlockOf[T]{shortNearest: f, centres: centres, short: short, packed: linalg.Pack(leading, linalg.Trans),
		first: first, norms: make([]float32, short.Rows)}
	b.scratch.New = func() any { return &settleScratch{products: matrix.New[float32](productRows, short.Rows)} }
	linalg.RowNorms(b.norms, leading)
	for _, v := range b.norms {
		b.farthest = max(b.farthest, math.Sqrt(float64(v)))
	}
	return b
}

// addRows finds the nearest of the block for some rows and says whether that
// took little.
func (b *shortBlockOf[T]) addRows(from, to int) bool {
	var listed, full atomic.Int64
	overPieces(to-from, groupedRows, func(_, first, last int) {
		if b.space.Cancelled() {
			return
		}
		scratch := b.scratch.Get().(*settleScratch)
		b.settle(from+first, from+last, scratch)
		listed.Add(int64(scratch.listed))
		full.Add(int64(2*(last-first) + len(scratch.pairs)))
		b.scratch.Put(scratch)
	})
	pairs := int64(to-from) * int64(b.centres.Rows)
	b.space.countPairs(pairs, full.Load())
	work := &b.space.work
	countRead[float32](work, to-from, productCols, 2*b.centres.Rows)
	countRead[float32](work, to-from, fineCols-productCols, 0)
	b.space.countRead(to-from, b.centres.Cols, 0)
	work.Flops += 3 * (float64(listed.Load())*fineCols + float64(full.Load())*float64(b.centres.Cols))
	took := full.Load()*int64(b.centres.Cols) + listed.Load()*fineCols
	return took <= pairs*int64(b.centres.Cols)/plainShare
}

// settleScratch holds the pairs of some rows and selected rows that are left.
type settleScratch struct {
	products matrix.Dense[float32]
	list     [blockCentres]int32
	low      [blockCentres]float32
	listed   int // pairs of which the fine short rows were compared
	pairs    []pair
	end      [blockCentres]int32 // of each selected row, where its pairs end in rows
	rows     []int32             // of the pairs, by selected row
}

type pair struct{ row, centre int32 }

// settle finds the nearest selected row of the rows from from to to-1.
func (b *shortBlockOf[T]) settle(from, to int, scratch *settleScratch) {
	scratch.pairs, scratch.listed = scratch.pairs[:0], 0
	for first := from; first < to; first += productRows {
		last := min(first+productRows, to)
		products := scratch.products.Slice(0, last-first)
		b.packed.Mul(products, -2, b.rows.fine.Block(first, last, 0, productCols))
		for row := first; row < last; row++ {
			for _, centre := range b.left(row, products.Row(row-first), scratch) {
				scratch.pairs = append(scratch.pairs, pair{int32(row - from), centre})
			}
		}
	}
	b.compareLeft(from, to, scratch)
}

// left returns the selected rows that may be nearer to a row than the two whose
// short rows are nearest.
func (b *shortBlockOf[T]) left(row int, products []float32, scratch *settleScratch) []int32 {
	set := simd.For[float32]()
	set.Axpy(products, b.norms, 1)
	set.AtMost(scratch.list[:], products, set.Min(products))
	b.compare(row, scratch.list[0])

	list := scratch.list[:set.AtMost(scratch.list[:], products, b.bound(row))]
	low := scratch.low[:len(list)]
	scratch.listed += len(list)
	set.SqDistListed(low, b.rows.fine.Row(row), b.short.Data, b.short.Stride, list)
	if len(list) > 0 {
		b.compare(row, list[slices.Index(low, set.Min(low))])
	}
	n := 0
	for i, centre := range list {
		list[n] = centre
		if low[i] <= b.limit[row] {
			n++
		}
	}
	return list[:n]
}

// bound is what the products of a row, with the norms of the selected rows added,
// must exceed for the limit of the row to be exceeded: they lack the norm of the
// row, and round, see centreBlock.rounding.
func (b *shortBlockOf[T]) bound(row int) float32 {
	norm := float64(simd.For[float32]().SumSquares(b.rows.fine.Row(row)[:productCols]))
	reach := math.Sqrt(norm) + b.farthest
	slack := 3 * (productCols + 8) * math.Ldexp(1, -24) * reach * reach
	return math.Nextafter32(float32(float64(b.limit[row])+slack-norm), math.MaxFloat32)
}

// compareLeft computes the distances of the pairs that are left, selected row
// after selected row: all of these do not fit into the cache.
func (b *shortBlockOf[T]) compareLeft(from, to int, scratch *settleScratch) {
	rows := scratch.byCentre(b.centres.Rows)
	all, start := b.of.rows.Slice(from, to), int32(0)
	for centre, end := range scratch.end[:b.centres.Rows] {
		list := rows[start:end]
		dist := b.fresh[from:][:len(list)]
		simd.For[T]().SqDistListed(dist, b.centres.Row(centre), all.Data, all.Stride, list)
		for i, row := range list {
			b.lowerTo(from+int(row), dist[i], int32(centre))
		}
		start = end
	}
}

// byCentre sorts the rows of the pairs by selected row.
func (s *settleScratch) byCentre(centres int) []int32 {
	end := s.end[:centres]
	clear(end)
	for _, p := range s.pairs {
		end[p.centre]++
	}
	start := int32(0)
	for i, n := range end {
		end[i] = start
		start += n
	}
	s.rows = slices.Grow(s.rows[:0], len(s.pairs))[:len(s.pairs)]
	for _, p := range s.pairs {
		s.rows[end[p.centre]] = p.row
		end[p.centre]++
	}
	return s.rows
}

// compare computes the distance of one row and one selected row.
func (b *shortBlockOf[T]) compare(row int, centre int32) {
	dist := b.fresh[row : row+1]
	simd.For[T]().SqDistRows(dist, b.centres.Row(int(centre)), b.of.rows.Row(row), b.centres.Cols)
	b.lowerTo(row, dist[0], centre)
}

// lowerTo takes a distance into account. Of equal ones the earliest selected row
// is the nearest.
func (b *shortBlockOf[T]) lowerTo(row int, dist T, centre int32) {
	label := int32(b.first) + centre
	if dist < b.dist[row] || dist == b.dist[row] && label < b.label[row] {
		b.dist[row], b.label[row], b.limit[row] = dist, label, b.maker.limit(dist, b.of.diag[row])
	}
}
