package space

// Bounds of FrankWolfe's scores ⟨φ(x), r⟩/c[x], r = u − v. With rows and r rounded
// (bytes.go: φ = s·k + δ, r = t·m + ε), a product misses by
//
//	g = ⟨φ, r⟩ − s·t·⟨k, m⟩ = ⟨δ, r⟩ + s⟨k, ε⟩,   |g| ≤ off·(‖r‖ + 2¹⁰‖ε‖)
//
// whatever step r belongs to. When the score of a row is computed, g is known; and as r
// changes little from step to step, so does g: for an earlier r₀ with its g₀ and
// a = ⟨r, r₀⟩/‖r₀‖²,
//
//	|g − a·g₀| ≤ off·(‖r − a·r₀‖ + 2¹⁰(‖ε‖ + |a|‖ε₀‖)).
//
// So rows that often come close to the best have tight bounds.
//
// Why that is safe under rounding. What bytes.go says holds for the first bound.
// In the second, g₀, being a difference, is off by 2⁻²²·off·reach₀; ‖r − a·r₀‖² is
// computed as ‖r‖² − 2a⟨r, r₀⟩ + a²‖r₀‖², which is off by less than
// 16(d+8)·2⁻⁵³·‖r‖². Both are added.

import (
	"math"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// If more than one in fullShare rows of a piece survive, all of the piece is read:
// consecutive rows are faster.
const fullShare = 4

type frankWolfeBounds struct {
	rows *byteRows
	now  *byteQuery // r
	dots []int32    // ⟨k, m⟩
	tops []pieceTop // the row of largest bound of each piece

	miss []float64 // g₀ of each row
	when []int32   // the number of its r₀; 0 for none

	earlier []earlierResidual
	vectors []float64 // r₀, one after the other
	share   []float64 // a of each r₀, by its number
	width   []float64 // the factor of off

	pause, nextPause int // steps left without bounds, and how many the next time
}

// earlierResidual holds the numbers of an r₀.
type earlierResidual struct{ square, rough, reach float64 }

// newFrankWolfeBounds returns nil where bounds do not pay.
func newFrankWolfeBounds[T matrix.Float](s *space[T], pool *rowsInFloat64) *frankWolfeBounds {
	rows := newByteRows(s, pool.Rows, pool.Cols)
	if rows == nil {
		return nil
	}
	n := pool.Rows
	return &frankWolfeBounds{rows: rows, now: rows.newQuery(), dots: make([]int32, n),
		tops: make([]pieceTop, linalg.Pieces(n, readPiece)),
		miss: matrix.Alloc[float64](n), when: make([]int32, n), nextPause: pauseSteps}
}

// ready reports whether to use bounds in this step.
func (b *frankWolfeBounds) ready() bool {
	if b != nil && b.pause > 0 {
		b.pause--
		return false
	}
	return b != nil
}

// take starts a step: it compares r with all earlier ones, and keeps it as one of them.
func (b *frankWolfeBounds) take(r []float64) {
	set := simd.For[float64]()
	b.now.set(r)
	square := set.SumSquares(r)
	dots := make([]float64, len(b.earlier))
	set.DotRows(dots, r, b.vectors, len(r))
	b.share, b.width = append(b.share[:0], 0), append(b.width[:0], b.now.reach)
	for i, e := range b.earlier {
		a := dots[i] / e.square
		rounding := 16 * float64(len(r)+8) * math.Ldexp(1, -53) * square
		far := math.Sqrt(max(square-2*a*dots[i]+a*a*e.square, 0) + rounding)
		width := far + b.now.rough + math.Abs(a)*e.rough + (b.now.reach+math.Abs(a)*e.reach)/(1<<20)
		if !(width < b.now.reach) {
			a, width = 0, b.now.reach
		}
		b.share, b.width = append(b.share, a), append(b.width, width)
	}
	b.earlier = append(b.earlier, earlierResidual{square, b.now.rough, b.now.reach})
	b.vectors = append(b.vectors, r...)
}

// rough is the product of a row with r, rounded.
func (b *frankWolfeBounds) rough(row int) float64 {
	return b.now.step * b.rows.step[row] * float64(b.dots[row])
}

// learn keeps g of a row whose product with r is known.
func (b *frankWolfeBounds) learn(row int, product float64) {
	b.miss[row], b.when[row] = product-b.rough(row), int32(len(b.earlier))
}

// scoreByBounds sets scores to bounds, and those of all open rows that can be the
// best to their scores.
func (f *memoryDirections[T]) scoreByBounds() {
	b := f.bounds
	b.take(f.residual)
	f.space.team.OverPieces(f.pool.Rows, readPiece, f.boundPiece)
	best := math.Inf(-1)
	for _, t := range largestTops(b.tops) {
		f.scoreListed(t.row, []int32{0})
		if s := f.scores[t.row]; s > best {
			best = s
		}
	}
	var computed atomic.Int64
	f.space.team.OverPieces(f.pool.Rows, readPiece, func(piece, from, to int) {
		if !(b.tops[piece].c < best) {
			computed.Add(int64(f.scoreReaching(best, from, to)))
		}
	})
	f.space.tally.Read(b.rows.bytes())
	f.countScores(computed.Load())
	if computed.Load() > int64(f.pool.Rows/fullShare) {
		b.pause, b.nextPause = b.nextPause, 2*b.nextPause
	}
}

// boundPiece computes the bounds of a piece, and the largest of them.
func (f *memoryDirections[T]) boundPiece(piece, from, to int) {
	b := f.bounds
	b.rows.dots(b.dots[from:to], b.now, from)
	dots, step, off := b.dots[from:to], b.rows.step[from:to], b.rows.off[from:to]
	miss, when, norm := b.miss[from:to], b.when[from:to], f.c[from:to]
	scores, open := f.scores[from:to], f.open[from:to]
	top := pieceTop{row: -1, c: math.Inf(-1)}
	for i, dot := range dots {
		product := b.now.step*step[i]*float64(dot) + b.share[when[i]]*miss[i] + off[i]*b.width[when[i]]
		if product != product {
			product = math.Inf(1)
		}
		scores[i] = perNorm(product, norm[i])
		if scores[i] > top.c && open[i] {
			top = pieceTop{from + i, scores[i]}
		}
	}
	b.tops[piece] = top
}

// scoreReaching computes the scores of those open rows of a piece whose bound is
// not below a score. It returns how many it computed.
func (f *memoryDirections[T]) scoreReaching(score float64, from, to int) int {
	var list [readPiece]int32
	n := 0
	for i := from; i < to; i++ {
		list[n] = int32(i - from)
		if f.scores[i] >= score && f.open[i] {
			n++
		}
	}
	if n > (to-from)/fullShare {
		f.scoreAll(from, to)
		return to - from
	}
	f.scoreListed(from, list[:n])
	return n
}

// scoreListed computes the scores of rows, listed by their offset from the first.
func (f *memoryDirections[T]) scoreListed(first int, list []int32) {
	var products [readPiece]float64
	f.pool.dotListed(products[:len(list)], f.residual, first, list)
	for i, at := range list {
		row := first + int(at)
		f.bounds.learn(row, products[i])
		f.scores[row] = perNorm(products[i], f.c[row])
	}
}
