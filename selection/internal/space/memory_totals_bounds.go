package space

// Bounds of BAIT's scores that follow each step without the features. Rows of
// bytes (bytes.go) give u and z of a step up to errors δu and δz, so that
//
//	v + u·z ≤ high + ũz̃ + |ũ|δz + |z̃|δu + δu·δz,   c − u² ≥ low − (|ũ| + δu)²
//
// if v ≤ high and c ≥ low; then max(high, 0)/(low + σ²) is an upper bound of the score.
// When it reaches the best score known, the row is updated, and its bounds are its
// values again.
//
// Why that is safe under rounding: a rounded sum, product or quotient does not fall
// when an operand grows, so the computed v and c stay within computed bounds as
// long as the computed u·z and u² do. The errors δ are at least 2⁻¹¹ of u and z, so a
// factor of 1 + 2⁻¹⁶ on them outweighs the few roundings of u·z and its bound; the last
// term covers underflow.

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	settledRows = 16      // at least this many rows are updated at a time
	askedRows   = 1 << 13 // at most this many rows of a file are requested at a time
	// The cost of updating a row, in units of one of the steps that it lacks. In a
	// step that is done for all rows at once, a row costs 5/2.
	rowWork = 15
	// Bounds that last fewer steps than shortLife do not pay; then each step is
	// done for all rows, for pauseSteps steps at first, and longer each time.
	shortLife  = 8
	pauseSteps = 16
	// A row of a file that is read by itself costs as much as this many in sequence.
	scatteredRead = 32
	// In one of this many passes over a file the bounds learn its rows again. Such a pass takes two
	// to three times as long as one that updates them alone.
	readsToLearn = 5
)

type baitBounds struct {
	team      *linalg.Team
	rows      *byteRows
	w, p      *byteQuery
	dots      sync.Pool // of *[2][readPiece]int32
	high, low []float64
	tops      []pieceTop // the row of largest bound of each piece
	found     []int32    // rows whose bounds reach a score, and how many of each piece
	counts    []int
	age       int // steps since all rows were up to date
	work      int // steps of single rows since then
	pause     int // steps left without bounds
	nextPause int
	learned   bool // the bounds know the rows of the present A

	// For rows in a file, which a step for all rows would read as a whole: the bounds never
	// pause, but learn the rows again.
	frame   *baitFrame // nil in memory
	settled int        // rows updated by themselves since all were up to date
	reads   int        // of all rows since the bounds learned them
}

// newBAITBounds returns nil where bounds do not pay.
func newBAITBounds[T matrix.Float](s *space[T], n, d int) *baitBounds {
	rows := newByteRows(s, n, d)
	if rows == nil {
		return nil
	}
	b := &baitBounds{team: s.team, rows: rows, w: rows.newQuery(), p: rows.newQuery(), nextPause: pauseSteps,
		high: matrix.Alloc[float64](n), low: matrix.Alloc[float64](n), tops: make([]pieceTop, linalg.Pieces(n, readPiece)),
		found: make([]int32, n), counts: make([]int, linalg.Pieces(n, readPiece))}
	b.dots.New = func() any { return new([2][readPiece]int32) }
	if s.pool.inFile {
		b.frame = newBAITFrame(s.team, d)
	}
	return b
}

// rootRounding is how far ψ = Aφ may be off, as a share of ‖φ‖.
func rootRounding(a matrix.Dense[float64]) float64 {
	if a.Rows == 0 {
		return 0
	}
	return 16 * float64(a.Rows+64) * math.Ldexp(1, -53) * math.Sqrt(simd.For[float64]().SumSquares(a.Data))
}

// rowRounding is how far ψ of a row φ may be off.
func rowRounding(rounding float64, phi []float64) float64 {
	if rounding == 0 {
		return 0
	}
	return rounding * math.Sqrt(simd.For[float64]().SumSquares(phi))
}

// rebase is called when A changes, and returns whether the bounds should learn the rows:
// not if A changes often.
func (b *baitBounds) rebase(a matrix.Dense[float64], steps int) bool {
	b.learned = steps == 0 || steps >= shortLife || b.frame != nil
	b.reads = 0
	if !b.learned && b.pause == 0 {
		b.pause, b.nextPause = b.nextPause, 2*b.nextPause
	}
	if b.frame != nil {
		b.frame.rebase(a)
	}
	return b.learned
}

// restart is called when all rows have been updated.
func (b *baitBounds) restart() { b.age, b.work, b.settled = 0, 0, 0 }

// follow updates the bounds by a step, the first time from the values of all rows, or
// returns false if that does not pay now.
func (b *baitBounds) follow(w, p, c, v []float64) bool {
	if b.pause > 0 || !b.learned {
		b.pause = max(0, b.pause-1)
		return false
	}
	b.age++
	if b.frame != nil {
		var ok bool
		if w, p, ok = b.frame.step(w, p); !ok {
			return false
		}
	}
	b.w.set(w)
	b.p.set(p)
	b.team.OverPieces(len(b.high), readPiece, func(_, from, to int) {
		if b.age == 1 {
			copy(b.high[from:to], v[from:to])
			copy(b.low[from:to], c[from:to])
		}
		dots := b.dots.Get().(*[2][readPiece]int32)
		u, z := dots[0][:to-from], dots[1][:to-from]
		b.rows.dotsPair(u, z, b.w, b.p, from)
		b.widen(from, u, z)
		b.dots.Put(dots)
	})
	return true
}

// widen is follow for some rows, given their products.
func (b *baitBounds) widen(from int, us, zs []int32) {
	n := len(us)
	step, off := b.rows.step[from:][:n], b.rows.off[from:][:n]
	high, low := b.high[from:][:n], b.low[from:][:n]
	zs = zs[:n]
	w, p := *b.w, *b.p
	for i := range us {
		u, z := w.step*step[i]*float64(us[i]), p.step*step[i]*float64(zs[i])
		du, dz := w.reach*off[i], p.reach*off[i]
		far := math.Abs(u) + du
		most := math.Abs(u)*dz + (math.Abs(z)+dz)*du
		high[i] += u*z + most*(1+1.0/65536) + math.SmallestNonzeroFloat64*16
		low[i] = max(low[i]-far*far, 0)
	}
}

// score returns an upper bound of the score of a row.
func (b *baitBounds) score(row int, offset float64) float64 {
	s := max(b.high[row], 0) / (b.low[row] + offset)
	if s != s {
		return math.Inf(1)
	}
	return s
}

// bestByBounds sets scores to bounds, and those of all open rows that can be the best to
// their scores. It returns false if that does not pay: then all rows have been updated.
func (f *memoryTotals[T]) bestByBounds() bool {
	f.boundAll()
	best := f.settle(rowsOfTops(largestTops(f.bounds.tops)))
	list := f.reaching(best)
	for len(list) > 0 {
		if !f.bounds.pays(len(list)) {
			if !f.bounds.giveUp() || !f.relearn() {
				f.catchUpAll()
			}
			return false
		}
		n := f.largestToFront(list)
		best = max(best, f.settle(list[:n]))
		list = slices.DeleteFunc(list[n:], func(row int32) bool { return f.scores[row] < best })
	}
	return true
}

// pays reports whether bounds have been worth their cost: at most half the cost of doing
// all steps for all rows, minus the cost of doing that now. In a file that is the cost of
// reading it once, however many steps the rows lack.
func (b *baitBounds) pays(reaching int) bool {
	n := len(b.high)
	if b.frame != nil {
		return b.settled <= n/scatteredRead
	}
	return reaching < n/2 && b.work <= n*max(5*b.age-8, 2)/4
}

// boundAll computes all bounds, and the largest of each piece.
func (f *memoryTotals[T]) boundAll() {
	f.space.team.OverPieces(len(f.scores), readPiece, func(piece, from, to int) {
		top := pieceTop{row: -1, c: math.Inf(-1)}
		for i := from; i < to; i++ {
			f.scores[i] = f.bounds.score(i, f.offset)
			if f.scores[i] > top.c && f.open[i] {
				top = pieceTop{i, f.scores[i]}
			}
		}
		f.bounds.tops[piece] = top
	})
}

// largestTops returns the pieces with the largest bounds, the largest first.
func largestTops(tops []pieceTop) []pieceTop {
	list := make([]pieceTop, 0, settledRows+1)
	for _, t := range tops {
		if t.row < 0 || len(list) == settledRows && compareTops(t, list[settledRows-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(list, t, compareTops)
		list = slices.Insert(list, at, t)
		list = list[:min(settledRows, len(list))]
	}
	return list
}

// compareTops puts the largest first.
func compareTops(x, y pieceTop) int {
	return cmp.Or(cmp.Compare(y.c, x.c), cmp.Compare(x.row, y.row))
}

// rowsOfTops returns their rows.
func rowsOfTops(tops []pieceTop) []int32 {
	rows := make([]int32, len(tops))
	for i, t := range tops {
		rows[i] = int32(t.row)
	}
	return rows
}

// reaching returns the open rows whose bound is not below a score.
func (f *memoryTotals[T]) reaching(score float64) []int32 {
	b, open := f.bounds, f.open
	f.space.team.OverPieces(len(f.scores), readPiece, func(piece, from, to int) {
		found := b.found[from:from]
		if !(b.tops[piece].c < score) {
			for i, bound := range f.scores[from:to] {
				if bound >= score && open[from+i] {
					found = append(found, int32(from+i))
				}
			}
		}
		b.counts[piece] = len(found)
	})
	list := b.found[:0]
	for piece, n := range b.counts {
		list = append(list, b.found[piece*readPiece:][:n]...)
	}
	return list
}

// largestToFront moves about a sixteenth of the rows to the front, those of the
// largest bounds, and returns their number: all if they are few.
func (f *memoryTotals[T]) largestToFront(list []int32) int {
	if len(list) <= settledRows {
		return len(list)
	}
	var sample [16 * settledRows]float64
	for i := range sample {
		sample[i] = f.scores[list[i*len(list)/len(sample)]]
	}
	slices.Sort(sample[:])
	n, least := 0, sample[len(sample)-settledRows]
	for i, row := range list {
		if f.scores[row] >= least {
			list[n], list[i] = row, list[n]
			n++
		}
	}
	return n
}

// settle updates rows and returns the best of their scores.
func (f *memoryTotals[T]) settle(list []int32) float64 {
	computed := 0
	for _, row := range list {
		computed += f.behind(int(row))
	}
	f.space.tally.Pairs(0, int64(computed))
	tally.Rows[float64](f.space.tally, len(list), f.pool.Cols)
	f.bounds.work += computed + rowWork*len(list)
	f.bounds.settled += len(list)
	f.eachAsked(list, func(row int, phi []float64) {
		f.catchUp(row, phi)
		f.bounds.high[row], f.bounds.low[row], f.scores[row] = f.v[row], f.c[row], f.score(row)
	})
	best := math.Inf(-1)
	for _, row := range list {
		if s := f.scores[row]; s > best {
			best = s
		}
	}
	return best
}

// eachAsked visits listed rows, with all threads. It asks for the next rows of a file meanwhile.
func (f *memoryTotals[T]) eachAsked(list []int32, visit func(row int, phi []float64)) {
	var asked sync.WaitGroup
	defer asked.Wait()
	next := func(from int) []int32 { return list[from:min(from+askedRows, len(list))] }
	f.pool.file(0, f.pool.Rows).AtRandom()
	defer f.pool.file(0, f.pool.Rows).AsUsual()
	f.pool.ask(next(0))
	for from := 0; from < len(list); from += askedRows {
		some := next(from)
		asked.Wait()
		asked.Go(func() { f.pool.ask(next(from + len(some))) })
		f.space.team.OverPieces(len(some), max(settledRows/4, len(some)/256), func(_, first, end int) {
			f.pool.each(some[first:end], visit)
		})
	}
}

// giveUp pauses bounds that have become too loose too soon. For rows in a file it returns
// whether the bounds should learn them again instead.
func (b *baitBounds) giveUp() (learn bool) {
	if b.frame == nil {
		if b.age < shortLife {
			b.pause, b.nextPause = b.nextPause, 2*b.nextPause
		}
		return false
	}
	if b.reads++; b.reads < readsToLearn {
		return false
	}
	b.reads = 0
	return true
}
