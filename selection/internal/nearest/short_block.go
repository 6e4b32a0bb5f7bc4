package nearest

// Distances to many centres at once where short rows (short.go) rule out
// most: a product of short rows, as in block.go, then the survivors.

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	productCols = middleCols // leading directions in a product of short rows
	productRows = 14         // rows of one: what stays in the cache
	groupedRows = 512        // rows that a thread settles at a time: they stay in the cache too
	// If short rows read more than one in plainShare features of all pairs, a product
	// of whole rows is faster. The first rows of each stretch decide.
	plainShare  = 8
	trialRows   = 2 * productRows
	stretchRows = 1 << 15
)

// addMany adds centres. Where short rows leave too many pairs, the plain version
// takes over for some blocks.
func (f *shortSearch[T]) addMany(centres matrix.Dense[T], first int) {
	short := matrix.New[float32](centres.Rows, f.maker.fine)
	f.maker.shorten(short, centres)
	for from := 0; from < centres.Rows; from += blockCentres {
		to := min(from+blockCentres, centres.Rows)
		f.addBlock(newShortBlock(f, centres.Slice(from, to), short.Slice(from, to), first+from))
	}
	f.refresh()
}

func (f *shortSearch[T]) addBlock(b *shortBlockOf[T]) {
	var plain *centreBlock[T]
	for from := 0; from < len(f.Dist) && !f.Cancelled(); from += stretchRows {
		to := min(from+stretchRows, len(f.Dist))
		rest := min(from+trialRows, to)
		if b.addRows(from, rest) {
			b.addRows(rest, to)
			continue
		}
		if plain == nil {
			plain = newCentreBlock(f.Search, b.centres, b.first)
		}
		plain.addRange(rest, to)
	}
}

// shortBlockOf is a block of centres, and their short rows.
type shortBlockOf[T matrix.Float] struct {
	*shortSearch[T]
	centres  matrix.Dense[T]
	short    matrix.Dense[float32]
	packed   *linalg.Packed[float32] // their leading directions C, and −½‖C‖²
	first    int
	farthest float64   // the largest ‖C‖
	scratch  sync.Pool // of *settleScratch
}

func newShortBlock[T matrix.Float](f *shortSearch[T], centres matrix.Dense[T], short matrix.Dense[float32],
	first int) *shortBlockOf[T] {
	b := &shortBlockOf[T]{shortSearch: f, centres: centres, short: short, first: first}
	leading := matrix.New[float32](short.Rows, productCols+1)
	for i := range short.Rows {
		row := leading.Row(i)
		copy(row, short.Row(i)[:productCols])
		norm := simd.For[float32]().SumSquares(row)
		row[productCols] = -norm / 2
		b.farthest = max(b.farthest, math.Sqrt(float64(norm)))
	}
	b.packed = linalg.Pack(leading, linalg.Trans)
	b.scratch.New = func() any { return newSettleScratch(short.Rows) }
	return b
}

// addRows finds the nearest of the block for some rows and reports whether that was
// cheap.
func (b *shortBlockOf[T]) addRows(from, to int) bool {
	var listed, full, gathered atomic.Int64
	b.Team.OverPieces(to-from, groupedRows, func(_, first, last int) {
		if b.Cancelled() {
			return
		}
		scratch := b.scratch.Get().(*settleScratch)
		b.settle(from+first, from+last, scratch)
		listed.Add(int64(scratch.listed))
		full.Add(int64(scratch.compared + len(scratch.pairs)))
		gathered.Add(int64(scratch.gathered))
		b.scratch.Put(scratch)
	})
	rows, n, cols := to-from, b.centres.Rows, b.centres.Cols
	pairs := int64(rows) * int64(n)
	b.Tally.Pairs(pairs, full.Load())
	tally.Rows[float32](b.Tally, rows, b.maker.fine)
	tally.Rows[T](b.Tally, rows+int(gathered.Load()), cols)
	took := full.Load()*int64(cols) + listed.Load()*int64(b.maker.fine)
	return took <= pairs*int64(cols)/plainShare
}

// settleScratch holds the pairs of some rows and centres that survive.
type settleScratch struct {
	rows     matrix.Dense[float32] // leading directions of rows, and 1
	products matrix.Dense[float32]
	list     [blockCentres]int32
	low      [blockCentres]float32 // of those on the list
	near     [blockCentres]int32   // the numbers of some on the list
	listed   int                   // pairs of which the fine short rows were compared
	compared int                   // pairs of which the distances were computed
	gathered int                   // centres of surviving pairs
	pairs    []pair
	end      [blockCentres]int32 // of each centre, where its pairs end in byCentre
	byCentre []int32             // the rows of the pairs, by centre
}

type pair struct{ row, centre int32 }

func newSettleScratch(centres int) *settleScratch {
	s := &settleScratch{rows: matrix.New[float32](productRows, productCols+1),
		products: matrix.New[float32](productRows, centres)}
	for i := range productRows {
		s.rows.Row(i)[productCols] = 1
	}
	return s
}

// settle finds the nearest centre of the rows from from to to-1.
func (b *shortBlockOf[T]) settle(from, to int, scratch *settleScratch) {
	scratch.pairs, scratch.listed, scratch.compared = scratch.pairs[:0], 0, 0
	for first := from; first < to; first += productRows {
		last := min(first+productRows, to)
		rows, products := scratch.rows.Slice(0, last-first), scratch.products.Slice(0, last-first)
		matrix.Copy(rows.Block(0, rows.Rows, 0, productCols), b.fine.Block(first, last, 0, productCols))
		b.packed.Mul(products, -2, rows)
		for row := first; row < last; row++ {
			for _, centre := range b.left(row, products.Row(row-first), scratch) {
				scratch.pairs = append(scratch.pairs, pair{int32(row - from), centre})
			}
		}
	}
	b.compareLeft(from, to, scratch)
}

// left compares a row with the centre whose leading directions are nearest,
// and with the one whose fine short row is; and returns those that may be nearer
// still. products are ‖C‖² − 2⟨X, C⟩: what further directions add is added to them.
func (b *shortBlockOf[T]) left(row int, products []float32, scratch *settleScratch) []int32 {
	set, gap := simd.For[float32](), b.gap(row)
	set.AtMost(scratch.list[:], products, set.Min(products))
	nearest := scratch.list[0]
	b.compare(row, nearest)
	scratch.compared++

	list := scratch.list[:set.AtMost(scratch.list[:], products, b.bound(row, gap))]
	low := scratch.low[:len(list)]
	scratch.listed += len(list)
	set.SqDistListed(low, b.fine.Row(row)[productCols:], b.short.Data[productCols:], b.short.Stride, list)
	for i, centre := range list {
		low[i] += products[centre]
	}
	finest := nearest
	if len(list) > 0 {
		finest = list[slices.Index(low, set.Min(low))]
	}
	if finest != nearest {
		b.compare(row, finest)
		scratch.compared++
	}
	n := 0
	for _, i := range scratch.near[:set.AtMost(scratch.near[:], low, b.bound(row, gap))] {
		if centre := list[i]; centre != nearest && centre != finest {
			list[n] = centre
			n++
		}
	}
	return list[:n]
}

// bound is what the products of a row must exceed for the limit of the row to be
// exceeded.
func (b *shortBlockOf[T]) bound(row int, gap float64) float32 {
	return math.Nextafter32(float32(float64(b.limit[row])+gap), math.MaxFloat32)
}

// gap is the squared norm of the row, which products lack, minus their rounding, see
// centreBlock.rounding: that covers two sums, of which there is only one here, so there
// is room for the few roundings that follow.
func (b *shortBlockOf[T]) gap(row int) float64 {
	norm := float64(simd.For[float32]().SumSquares(b.fine.Row(row)[:productCols]))
	reach := math.Sqrt(norm) + b.farthest
	return 3*(productCols+8)*math.Ldexp(1, -24)*reach*reach - norm
}

// compareLeft computes the distances of the surviving pairs, centre by centre, because
// not all centres fit into the cache.
func (b *shortBlockOf[T]) compareLeft(from, to int, scratch *settleScratch) {
	scratch.sort(b.centres.Rows)
	scratch.gathered = 0
	all, start := b.rows.Slice(from, to), int32(0)
	for centre, end := range scratch.end[:b.centres.Rows] {
		list := scratch.byCentre[start:end]
		if len(list) == 0 {
			continue
		}
		scratch.gathered++
		dist := b.fresh[from:][:len(list)]
		simd.For[T]().SqDistListed(dist, b.centres.Row(centre), all.Data, all.Stride, list)
		for i, row := range list {
			b.lowerTo(from+int(row), dist[i], int32(centre))
		}
		start = end
	}
}

// sort puts the rows of the pairs into the order of the centres.
func (s *settleScratch) sort(centres int) {
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
	s.byCentre = slices.Grow(s.byCentre[:0], len(s.pairs))[:len(s.pairs)]
	for _, p := range s.pairs {
		s.byCentre[end[p.centre]] = p.row
		end[p.centre]++
	}
}

// compare computes the distance of one row and one centre.
func (b *shortBlockOf[T]) compare(row int, centre int32) {
	dist := b.fresh[row : row+1]
	simd.For[T]().SqDistRows(dist, b.centres.Row(int(centre)), b.rows.Row(row), b.centres.Cols)
	b.lowerTo(row, dist[0], centre)
}

// lowerTo takes a distance into account. Of equal ones the earliest centre
// is the nearest.
func (b *shortBlockOf[T]) lowerTo(row int, dist T, centre int32) {
	label := int32(b.first) + centre
	if dist < b.Dist[row] || dist == b.Dist[row] && label < b.Label[row] {
		b.Dist[row], b.Label[row], b.limit[row] = dist, label, b.maker.limit(dist, b.norms[row])
	}
}
