package space

import (
	"math"
	"slices"
	"sync"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

// BAIT's c and v of rows in memory. They need not follow each step at once:
// memory_totals_bounds.go finds the rows that can be the best, and only these are updated, with the
// same numbers as if each step were done for every row.

type memoryTotals[T matrix.Float] struct {
	*memoryRows[T]
	pool   *rowsInFloat64
	offset float64   // what is added to c in the score
	c, v   []float64 // of each row, after as many steps as done says
	done   []int32
	steps  []float64 // Aᵀw and Aᵀp of each step that some row lacks
	taken  int       // steps since c and v were last computed from scratch
	scores []float64 // or upper bounds
	dots   sync.Pool // of *[2 * cachedRows]float64
	bounds *baitBounds
}

func (m *memoryRows[T]) Totals(_, offset float64) (totalSearch, error) {
	if m.space.kernel != nil {
		return nil, &place.MethodError{Method: "bait", Reason: "it needs features, but the kernel has no explicit ones"}
	}
	pool := inFloat64(m.space, m.of)
	n := pool.Rows
	f := &memoryTotals[T]{memoryRows: m, pool: pool, offset: offset, c: matrix.Alloc[float64](n),
		v:      matrix.Alloc[float64](n),
		scores: matrix.Alloc[float64](n), done: make([]int32, n)}
	if m.price == nil {
		f.bounds = newBAITBounds(m.space, n, pool.Cols)
	}
	f.dots.New = func() any { return new([2 * cachedRows]float64) }
	return f, nil
}

func (f *memoryTotals[T]) Prior() float64 { return largestOf(float64Norms(f.space, f.of, f.pool)) }

func (f *memoryTotals[T]) Moments(m, a matrix.Dense[float64]) {
	if known := f.of.moments; known.Rows > 0 && a.Rows == 0 { // m is zero then, so the bits are the same
		simd.For[float64]().Axpy(m.Data, known.Data, 1)
		return
	}
	addMoments(f.space, m, f.pool, f.weights, a)
}

func (f *memoryTotals[T]) Summed(totals []float64, ys matrix.Dense[float64]) {
	addSquares(f.space, totals, f.pool, f.weights, ys)
}

func (f *memoryTotals[T]) Rebase(a, inner matrix.Dense[float64]) float64 {
	learning := f.bounds
	if learning != nil && !learning.rebase(a, f.taken) {
		learning = nil
	}
	variances(f.space, a, inner, f.c, f.v, f.pool, learning)
	f.forgetSteps()
	f.taken = 0
	return largestOf(f.v)
}

// AddRow leaves the covariance to the caller.
func (f *memoryTotals[T]) AddRow(int) bool { return false }

func (f *memoryTotals[T]) Step(w, p, aw, ap []float64) {
	f.steps = append(append(f.steps, aw...), ap...)
	f.taken++
	f.space.tally.Pairs(int64(f.pool.Rows), 0)
	if f.bounds == nil || !f.bounds.follow(w, p, f.c, f.v) {
		f.catchUpAll()
		return
	}
	f.space.tally.Read(f.bounds.rows.bytes())
}

func (f *memoryTotals[T]) At(row int) float64 {
	f.pool.each([]int32{int32(row)}, f.catchUp)
	return f.score(row)
}

func (f *memoryTotals[T]) score(row int) float64 { return f.v[row] / (f.c[row] + f.offset) }

// Best updates the best row.
func (f *memoryTotals[T]) Best() (best Found, v float64, err error) {
	if f.bounds == nil || f.bounds.age == 0 || !f.bestByBounds() {
		f.space.team.OverPieces(len(f.scores), scanPiece, func(_, from, to int) {
			for i := from; i < to; i++ {
				f.scores[i] = f.score(i)
			}
		})
	}
	row, err := BestPer(f.space.team, f.scores, f.price, f.open)
	if err != nil || row < 0 {
		return Found{Row: -1}, 0, err
	}
	return Found{row, f.score(row)}, f.v[row], nil
}

// lacking is how many steps some row may lack.
func (f *memoryTotals[T]) lacking() int { return len(f.steps) / (2 * f.pool.Cols) }

// behind is how many steps a row lacks.
func (f *memoryTotals[T]) behind(row int) int { return f.lacking() - int(f.done[row]) }

// catchUp updates a row with the features phi.
func (f *memoryTotals[T]) catchUp(row int, phi []float64) {
	dots := f.dots.Get().(*[2 * cachedRows]float64)
	defer f.dots.Put(dots)
	d := f.pool.Cols
	for n := f.behind(row); n > 0; n = f.behind(row) {
		n = min(n, cachedRows)
		simd.For[float64]().DotRows(dots[:2*n], phi, f.steps[2*d*int(f.done[row]):], d)
		for i := 0; i < 2*n; i += 2 {
			f.change(row, dots[i], dots[i+1])
		}
		f.done[row] += int32(n)
	}
}

// togetherRows is a number of rows whose features stay in the first cache while the
// vectors of all steps pass by.
const togetherRows = 8

// togetherList are the numbers below togetherRows.
var togetherList = [togetherRows]int32{0, 1, 2, 3, 4, 5, 6, 7}

// catchUpRows is catchUp for consecutive rows, given their features. A product has the same
// bits in both.
func (f *memoryTotals[T]) catchUpRows(first int, rows matrix.Dense[float64]) {
	dots := f.dots.Get().(*[2 * cachedRows]float64)
	defer f.dots.Put(dots)
	for from := 0; from < rows.Rows; from += togetherRows {
		f.catchUpTogether(first+from, rows.Slice(from, min(from+togetherRows, rows.Rows)),
			dots[:togetherRows], dots[togetherRows:])
	}
}

// catchUpTogether is catchUpRows for a few of them. It writes to u and z.
func (f *memoryTotals[T]) catchUpTogether(first int, rows matrix.Dense[float64], u, z []float64) {
	n, d, set, done := rows.Rows, f.pool.Cols, simd.For[float64](), f.done[first:][:rows.Rows]
	for step := slices.Min(done); int(step) < f.lacking(); step++ {
		w, p := f.steps[2*int(step)*d:][:d], f.steps[(2*int(step)+1)*d:][:d]
		set.DotListed(u[:n], w, rows.Data, rows.Stride, togetherList[:n])
		set.DotListed(z[:n], p, rows.Data, rows.Stride, togetherList[:n])
		for i := range n {
			if done[i] <= step {
				f.change(first+i, u[i], z[i])
			}
		}
	}
	for i := range done {
		done[i] = int32(f.lacking())
	}
}

// change does one step for one row.
func (f *memoryTotals[T]) change(row int, u, z float64) {
	f.v[row] += u * z
	f.c[row] = max(f.c[row]-u*u, 0)
}

// catchUpAll updates all rows, and drops the steps.
func (f *memoryTotals[T]) catchUpAll() {
	lacking := f.lacking()
	f.countAll()
	f.pool.pass(f.space.Cancelled, func(first, end int) {
		f.space.team.OverPieces(end-first, readPiece, func(_, from, to int) {
			if lacking == 1 {
				f.stepAll(first+from, first+to)
				return
			}
			for row := first + from; row < first+to; row += cachedRows {
				part, buffer := f.pool.read(row, min(row+cachedRows, first+to))
				f.catchUpRows(row, part)
				buffer.end()
			}
		})
	})
	f.forgetSteps()
}

// countAll counts what updating all rows computes and reads.
func (f *memoryTotals[T]) countAll() {
	computed := int64(f.lacking()) * int64(f.pool.Rows)
	for _, done := range f.done {
		computed -= int64(done)
	}
	f.space.tally.Pairs(0, computed)
	tally.Rows[float64](f.space.tally, f.pool.Rows, f.pool.Cols)
}

// forgetSteps is called when all rows have been updated.
func (f *memoryTotals[T]) forgetSteps() {
	f.steps = f.steps[:0]
	clear(f.done)
	if f.bounds != nil {
		f.bounds.restart()
	}
}

// stepAll does the one step for all rows of a piece that lack it: one read of the
// features for two vectors.
func (f *memoryTotals[T]) stepAll(from, to int) {
	set, d := simd.For[float64](), f.pool.Cols
	dots := f.dots.Get().(*[2 * cachedRows]float64)
	defer f.dots.Put(dots)
	u, z := dots[:cachedRows], dots[cachedRows:]
	for ; from < to; from += cachedRows {
		n := min(cachedRows, to-from)
		part, buffer := f.pool.read(from, from+n)
		set.DotRows(u[:n], f.steps[:d], part.Data, part.Stride)
		set.DotRows(z[:n], f.steps[d:], part.Data, part.Stride)
		buffer.end()
		for i := range n {
			if f.done[from+i] == 0 {
				f.change(from+i, u[i], z[i])
			}
		}
	}
}

// addMoments adds Σ w_i·ψ_iψ_iᵀ to m, with ψ_i = Aφ_i, block by block. Without weights
// these are 1, and without A it is the identity.
func addMoments[T matrix.Float](s *space[T], m matrix.Dense[float64], rows *rowsInFloat64, weights []float64,
	a matrix.Dense[float64]) {
	tally.Rows[float64](s.tally, rows.Rows, rows.Cols)
	eachMoments(s, rows, weights, a, func(_ int, _, moments matrix.Dense[float64]) {
		simd.For[float64]().Axpy(m.Data, moments.Data, 1)
	})
}

// eachMoments visits the blocks of rows in order, with their moments, which are valid until
// the next visit.
func eachMoments[T matrix.Float](s *space[T], rows *rowsInFloat64, weights []float64, a matrix.Dense[float64],
	visit func(from int, part, moments matrix.Dense[float64])) {
	moments := matrix.New[float64](rows.Cols, rows.Cols)
	rows.convertBlocksInOrder(s.Cancelled, s.team, func(from int, part matrix.Dense[float64]) {
		if weights == nil && a.Rows == 0 {
			linalg.Syrk(s.team, moments, 1, part, linalg.Trans, 0)
		} else {
			clear(moments.Data)
			addBlockMoments(s.team, moments, part, weights, from, a)
		}
		visit(from, part, moments)
	})
}

// addBlockMoments is addMoments for the rows of a block, whose weights begin at first.
func addBlockMoments(team *linalg.Team, m, rows matrix.Dense[float64], weights []float64, first int,
	a matrix.Dense[float64]) {
	scratch := matrix.New[float64](min(conditionedBlock, rows.Rows), rows.Cols)
	for from := 0; from < rows.Rows; from += conditionedBlock {
		part := rows.Slice(from, min(from+conditionedBlock, rows.Rows))
		psi := scratch.Slice(0, part.Rows)
		if a.Rows > 0 {
			linalg.Gemm(team, psi, 1, part, linalg.NoTrans, a, linalg.Trans, 0)
		} else {
			matrix.Copy(psi, part)
		}
		if weights != nil {
			for i := range psi.Rows {
				scale(psi.Row(i), math.Sqrt(weights[first+from+i]))
			}
		}
		linalg.Syrk(team, m, 1, psi, linalg.Trans, 1)
	}
}

// addSquares adds Σ w_i·⟨φ_i, y⟩² to the total of each y: one read of the rows for all.
func addSquares[T matrix.Float](s *space[T], totals []float64, rows *rowsInFloat64, weights []float64,
	ys matrix.Dense[float64]) {
	set, squares := simd.For[float64](), matrix.New[float64](ys.Rows, min(sumBlock, rows.Rows))
	sums := matrix.New[float64](ys.Rows, linalg.Pieces(rows.Rows, sumBlock)) // of the blocks
	tally.Rows[float64](s.tally, rows.Rows, rows.Cols)
	rows.convertBlocks(s.Cancelled, s.team, func(from int, part matrix.Dense[float64]) {
		s.team.OverPieces(part.Rows, cachedRows, func(_, first, end int) {
			for j := range ys.Rows {
				squaredDots(squares.Row(j)[first:end], ys.Row(j), part.Slice(first, end))
			}
		})
		for j := range totals {
			block := squares.Row(j)[:part.Rows]
			if weights != nil {
				set.Mul(block, block, weights[from:from+part.Rows])
			}
			sums.Row(j)[from/sumBlock] = set.Sum(block)
		}
	})
	for j := range totals {
		for _, sum := range sums.Row(j) {
			totals[j] += sum
		}
	}
}

// squaredDots writes ⟨φ_i, y⟩² of rows to dst.
func squaredDots(dst, y []float64, rows matrix.Dense[float64]) {
	set := simd.For[float64]()
	set.DotRows(dst, y, rows.Data, rows.Stride)
	set.Mul(dst, dst, dst)
}

func scale(v []float64, a float64) {
	for i := range v {
		v[i] *= a
	}
}
