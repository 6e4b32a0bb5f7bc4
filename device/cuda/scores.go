//go:build linux && (amd64 || arm64)

package cuda

// Searches whose scores are float64: FrankWolfe, MaxDet, BAIT.

import (
	"math"
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// bestScore returns the open row of largest v/(c + offset), or v if c is null.
func (r *rows[T]) bestScore(v, c pointer, offset float64, flags pointer) (selection.DeviceBest, error) {
	r.sendMarks()
	r.launch("best_score", r.scan(), r.n, v, c, offset, flags, r.price, r.tops, r.ended, address(r.best))
	return r.answer()
}

func (r *rows[T]) scoreAt(row int, v, c pointer, offset float64) float64 {
	r.launch("score_at", grid{x: 1, threads: 1}, row, v, c, offset, address(r.best))
	best, _ := r.answer()
	return best.Score
}

// largestOf returns the largest of a number per row.
func (r *rows[T]) largestOf(v pointer) float64 {
	r.launch("best_score", r.scan(), r.n, v, pointer(0), 0.0, pointer(0), pointer(0), r.tops, r.ended, address(r.best))
	best, _ := r.answer()
	return best.Score
}

// columns returns the sums, or largest magnitudes, of features over pieces of rows.
func (r *rows[T]) columns(largest int32) matrix.Dense[float64] {
	const piece = 2048
	pieces := (r.n + piece - 1) / piece
	to := r.alloc(8 * pieces * r.ld)
	r.launch("columns_"+r.kind, grid{x: (r.ld + 127) / 128, y: pieces, threads: 128}, r.x, r.ld, r.n, piece, largest, to)
	host := matrix.New[float64](pieces, r.ld)
	if fetch(r.queue, host.Data, to) != nil {
		clear(host.Data)
	}
	r.free(to)
	return host.Block(0, pieces, 0, r.pool.Rows.Cols)
}

// directions is the search of FrankWolfe. Rough rows rule out most rows, and the scores of the
// others are computed from their features.
type directions[T matrix.Float] struct {
	*rows[T]
	norms, scores, y    pointer
	rough               rough
	roughScores, bounds pointer
}

// Directions implements selection.DeviceRows.
func (r *rows[T]) Directions() selection.DeviceDirections {
	f := &directions[T]{rows: r, norms: r.alloc(8 * r.n), scores: r.alloc(8 * r.n), y: r.alloc(8 * r.ld)}
	if r.price == 0 { // scores per price are not bounded
		f.rough = r.roughen()
	}
	if f.rough.words != 0 {
		f.roughScores, f.bounds = r.alloc(4*r.n), r.alloc(4*r.groups(0).x)
	}
	return f
}

// Sums implements selection.DeviceDirections.
func (f *directions[T]) Sums(u []float64, r float64) float64 {
	f.launch("norms_"+f.kind, f.pass(0), f.x, f.ld, f.n, int32(1), f.norms)
	parts := f.columns(0)
	for i := range parts.Rows {
		for j, v := range parts.Row(i) {
			u[j] += v
		}
	}
	return addAll(r, f.blockSums(f.norms))
}

// Best implements selection.DeviceDirections.
func (f *directions[T]) Best(residual []float64) (selection.DeviceBest, error) {
	f.sendMarks()
	f.sendVector(f.y, residual)
	length := norm(residual)
	if f.rough.words == 0 || !(length > 0) || math.IsInf(length, 0) {
		f.launch("scores_"+f.kind, f.pass(8*f.ld), f.x, f.ld, f.n, f.y, f.norms, pointer(0), f.scores)
		return f.bestScore(f.scores, 0, 0, f.flags)
	}
	g, of := f.groups(f.rough.bytes()), unsafe.Pointer(&f.rough)
	f.launch("rough_scores", g, of, f.ld, f.n, f.y, length, f.flags, f.roughScores, f.bounds)
	f.launch("settle_scores_"+f.kind, f.decisions(8*f.ld), f.x, f.ld, f.n, f.y, length, of, f.roughScores, f.bounds, int32(g.x), f.flags, f.scores)
	return f.bestScore(f.scores, 0, 0, f.flags)
}

// norm returns the length of a vector.
func norm(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

// variances is the search of MaxDet. As in memory, a row does the steps that it lacks when its
// bound is no less than the variances of some others.
type variances[T matrix.Float] struct {
	*rows[T]
	c, squares pointer
	steps      pointer // vectors
	room       int     // for how many
	count      int     // how many there are
	done       pointer // how many of them are in c
	leaders    pointer // the best row of each block of the search before
}

// mostSteps is the number of vectors that are kept before all rows do these steps. Tests set it.
var mostSteps = 1024

// Variances implements selection.DeviceRows.
func (r *rows[T]) Variances() selection.DeviceVariances {
	f := &variances[T]{rows: r, c: r.alloc(8 * r.n), squares: r.alloc(8 * r.n), done: r.alloc(4 * r.n), leaders: r.alloc(topBytes * scanBlocks), room: min(r.pool.Centres, mostSteps) + 1}
	f.steps = r.alloc(8 * r.ld * f.room)
	r.launch("norms_"+r.kind, r.pass(0), r.x, r.ld, r.n, int32(0), f.squares)
	r.launch("norms_"+r.kind, r.pass(0), r.x, r.ld, r.n, int32(0), f.c)
	return f
}

func (f *variances[T]) Prior() float64 { return f.largestOf(f.squares) }

func (f *variances[T]) Scales() []float64 {
	parts := f.columns(1)
	scales := make([]float64, parts.Cols)
	for i := range parts.Rows {
		for j, v := range parts.Row(i) {
			scales[j] = max(scales[j], v)
		}
	}
	return scales
}

func (f *variances[T]) Step(w []float64) {
	f.sendMarks()
	if f.count == f.room {
		f.settle(0, -1)
		f.restart()
	}
	f.sendVector(f.steps+pointer(8*f.ld*f.count), w)
	f.count++
}

// restart forgets the steps, which are in c, or about to be.
func (f *variances[T]) restart() {
	f.count = 0
	f.clear(f.done, 4*f.n, 0)
}

// settle does the steps that rows lack: those that may be the best, given the best of so many
// blocks; all rows if that is zero; or only one.
func (f *variances[T]) settle(blocks, only int) {
	if f.count > 0 {
		f.launch("settle_variances_"+f.kind, f.decisions(0), f.x, f.ld, f.n, f.steps, int32(f.count), f.leaders, int32(blocks), f.flags, only, f.c, f.done)
	}
}

func (f *variances[T]) Best() (selection.DeviceBest, error) {
	f.sendMarks()
	g := f.scan()
	switch {
	case f.price != 0:
		f.settle(0, -1)
	case f.count > 0:
		f.launch("settle_tops_"+f.kind, grid{x: g.x, threads: passThreads}, f.x, f.ld, f.steps, int32(f.count), f.leaders, f.flags, f.c, f.done)
		f.settle(g.x, -1)
	}
	f.launch("best_score", g, f.n, f.c, pointer(0), 0.0, f.flags, f.price, f.leaders, f.ended, address(f.best))
	return f.answer()
}

func (f *variances[T]) At(row int) float64 {
	f.settle(0, row)
	return f.scoreAt(row, f.c, 0, 0)
}

// Rebase multiplies blocks of rows with the factor, and keeps the squared norms.
func (f *variances[T]) Rebase(factor matrix.Dense[float64], root bool) {
	f.restart()
	if factor.Rows == 0 {
		f.launch("norms_"+f.kind, f.pass(0), f.x, f.ld, f.n, int32(0), f.c)
		return
	}
	on, width := sendRows(f.queue, factor), padded(factor.Rows)
	block := f.alloc(8 * min(sumBlock, f.n) * width)
	f.eachBlock(func(from, many int) {
		f.multiply(from, many, on, factor.Rows, block, width)
		minus := pointer(0)
		if !root {
			minus = f.squares + pointer(8*from)
		}
		f.launch("row_products_f64", f.warps(many), block, width, pointer(0), width, many, factor.Rows, minus, f.c+pointer(8*from), pointer(0))
	})
	f.free(block)
	f.free(on)
}

// eachBlock visits the blocks of rows.
func (r *rows[T]) eachBlock(visit func(from, many int)) {
	for from := 0; from < r.n; from += sumBlock {
		visit(from, min(sumBlock, r.n-from))
	}
}

// multiply writes the products of rows with the rows of a factor to a block.
func (r *rows[T]) multiply(from, many int, factor pointer, factors int, block pointer, width int) {
	r.launch("multiply_nt_"+r.kind, grid{x: (factors + 63) / 64, y: (many + 63) / 64, threads: 256},
		r.x+pointer(from*r.ld*sizeOf[T]()), r.ld, int32(many), factor, r.ld, int32(factors), int32(r.ld), block, width)
}

// totals is the search of BAIT.
type totals[T matrix.Float] struct {
	*rows[T]
	offset   float64
	c, v, wp pointer
	values   pointer
}

// Totals implements selection.DeviceRows.
func (r *rows[T]) Totals(offset float64) selection.DeviceTotals {
	return &totals[T]{rows: r, offset: offset, c: r.alloc(8 * r.n), v: r.alloc(8 * r.n), wp: r.alloc(16 * r.ld), values: r.alloc(8 * r.n)}
}

func (f *totals[T]) Prior() float64 {
	f.launch("norms_"+f.kind, f.pass(0), f.x, f.ld, f.n, int32(0), f.values)
	return f.largestOf(f.values)
}

// Moments sums ψψᵀ over each block of rows, and then the blocks in order.
func (f *totals[T]) Moments(m, a matrix.Dense[float64]) {
	blocks := (f.n + sumBlock - 1) / sumBlock
	size := f.ld * f.ld
	parts, sum := f.alloc(8*blocks*size), f.alloc(8*size)
	tiles := (f.ld + 63) / 64
	if a.Rows == 0 {
		f.launch("moments_"+f.kind, grid{x: tiles, y: tiles, z: blocks, threads: 256}, f.x, f.ld, f.n, f.weights, parts)
	} else {
		on := sendRows(f.queue, a)
		psi := f.alloc(8 * min(sumBlock, f.n) * f.ld)
		f.eachBlock(func(from, many int) {
			f.multiply(from, many, on, a.Rows, psi, f.ld)
			f.launch("moments_f64", grid{x: tiles, y: tiles, z: 1, threads: 256}, psi, f.ld, many, weightsFrom(f.weights, from), parts+pointer(8*size*(from/sumBlock)))
		})
		f.free(psi)
		f.free(on)
	}
	f.launch("sum_parts", grid{x: (size + 255) / 256, threads: 256}, parts, size, int32(blocks), sum)
	host := matrix.New[float64](f.ld, f.ld)
	if fetch(f.queue, host.Data, sum) == nil {
		for i := range m.Rows {
			for j := range i + 1 {
				v := host.At(i, j)
				m.Row(i)[j] += v
				if i != j {
					m.Row(j)[i] += v
				}
			}
		}
	}
	f.free(parts)
	f.free(sum)
}

func (f *totals[T]) Summed(total float64, y []float64) float64 {
	f.sendVector(f.wp, y)
	f.launch("scores_"+f.kind, f.pass(8*f.ld), f.x, f.ld, f.n, f.wp, pointer(0), f.weights, f.values)
	return addAll(total, f.blockSums(f.values))
}

// Rebase computes ψ = Aφ and ψ·AMAᵀ for blocks of rows.
func (f *totals[T]) Rebase(a, inner matrix.Dense[float64]) float64 {
	f.sendMarks()
	form := sendRows(f.queue, inner)
	rows := min(sumBlock, f.n)
	product := f.alloc(8 * rows * f.ld)
	var root, psi pointer
	if a.Rows > 0 {
		root, psi = sendRows(f.queue, a), f.alloc(8*rows*f.ld)
	}
	tiles := (f.ld + 63) / 64
	f.eachBlock(func(from, many int) {
		c, v := f.c+pointer(8*from), f.v+pointer(8*from)
		g := f.warps(many)
		if a.Rows == 0 {
			f.multiply(from, many, form, inner.Rows, product, f.ld)
			f.launch("row_products_"+f.kind, g, f.x+pointer(from*f.ld*sizeOf[T]()), f.ld, product, f.ld, many, f.pool.Rows.Cols, pointer(0), c, v)
			return
		}
		f.multiply(from, many, root, a.Rows, psi, f.ld)
		f.launch("multiply_nt_f64", grid{x: tiles, y: (many + 63) / 64, threads: 256}, psi, f.ld, int32(many), form, f.ld, int32(inner.Rows), int32(f.ld), product, f.ld)
		f.launch("row_products_f64", g, psi, f.ld, product, f.ld, many, f.pool.Rows.Cols, pointer(0), c, v)
	})
	for _, p := range []pointer{form, product, root, psi} {
		f.free(p)
	}
	return f.largestOf(f.v)
}

func (f *totals[T]) Step(aw, ap []float64) {
	f.sendMarks()
	f.sendVector(f.wp, aw, ap)
	f.launch("total_step_"+f.kind, f.pass(16*f.ld), f.x, f.ld, f.n, f.wp, f.c, f.v)
}

func (f *totals[T]) Best() (selection.DeviceBest, error) {
	return f.bestScore(f.v, f.c, f.offset, f.flags)
}

func (f *totals[T]) At(row int) float64 { return f.scoreAt(row, f.v, f.c, f.offset) }
