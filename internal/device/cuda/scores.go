//go:build linux && (amd64 || arm64)

package cuda

// Searches whose scores are float64: FrankWolfe, MaxDet, BAIT.

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/matrix"
)

// launchBest finds the open row of largest v/(c + offset), or v if c is null.
func (r *rows[T]) launchBest(v, c pointer, offset float64, tops, walk pointer) {
	r.launch("best_score", r.scan(), r.n, v, c, offset, r.flags, r.price, tops, r.arrived, address(r.best), walk)
}

func (r *rows[T]) scoreAt(row int, v, c pointer, offset float64) float64 {
	r.launch("score_at", grid{x: 1, threads: 1}, row, v, c, offset, address(r.best))
	best, _ := r.answer()
	return best.Score
}

// largestOf returns the largest of a number per row.
func (r *rows[T]) largestOf(v pointer) float64 {
	r.launch("best_score", r.scan(), r.n, v, pointer(0), 0.0, pointer(0), pointer(0), r.tops, r.arrived,
		address(r.best), pointer(0))
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
	norms, scores       pointer
	u, v, phi           pointer
	residual, length    pointer
	r                   float64
	rough               rough
	roughScores, bounds pointer
}

// Directions implements place.DeviceRows.
func (r *rows[T]) Directions() place.DeviceDirections {
	f := &directions[T]{rows: r, norms: r.alloc(8 * r.n), scores: r.alloc(8 * r.n),
		u: r.alloc(8 * r.ld), v: r.alloc(8 * r.ld),
		phi: r.alloc(8 * r.ld), residual: r.alloc(8 * r.ld), length: r.alloc(8)}
	if r.price == 0 { // scores per price are not bounded
		f.rough = r.roughen()
	}
	if f.rough.words != 0 {
		f.roughScores, f.bounds = r.alloc(4*r.n), r.alloc(4*r.groups(0).x)
	}
	return f
}

// Sums implements place.DeviceDirections.
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

// Start implements place.DeviceDirections.
func (f *directions[T]) Start(u, v []float64, r float64) {
	f.r = r
	f.dropStep("directions") // it has r as an argument
	f.sendVector(f.u, u)
	f.sendVector(f.v, v)
	f.move(0, 0)
}

// move does a step towards phi, unless that is null.
func (f *directions[T]) move(walk, phi pointer) {
	f.launch("frank_wolfe_step", grid{x: 1, threads: 256}, walk, f.u, f.v, f.r, phi, f.ld, f.residual, f.length)
}

// AddRow implements place.DeviceDirections.
func (f *directions[T]) AddRow(row int) {
	f.sendMarks()
	f.walkTo(row, 0)
	f.addTaken(f.walk)
}

func (f *directions[T]) addTaken(walk pointer) {
	f.take(walk, f.phi)
	f.move(walk, f.phi)
}

// Best implements place.DeviceDirections.
func (f *directions[T]) Best(ahead int) ([]place.DeviceBest, error) {
	return f.goAhead("directions", ahead, 0, f.addTaken, func(walk pointer) {
		if f.rough.words == 0 {
			f.launch("scores_"+f.kind, f.pass(8*f.ld), f.x, f.ld, f.n, f.residual, f.norms, pointer(0), f.scores, walk)
		} else {
			g, of := f.groups(f.rough.bytes()), unsafe.Pointer(&f.rough)
			f.launch("rough_scores", g, of, f.ld, f.n, f.residual, f.length, f.flags, f.roughScores, f.bounds, walk)
			f.launch("settle_scores_"+f.kind, f.decisions(8*f.ld), f.x, f.ld, f.n, f.residual, f.length, of, f.roughScores,
				f.bounds, int32(g.x), f.flags, f.scores, walk)
		}
		f.launchBest(f.scores, 0, 0, f.tops, walk)
	})
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
	s          pointer // S or, with a root, S minus the base, if it has few columns
	phi, w     pointer // of the row that is added
	sigma2     float64
	root       root
}

// mostVectors is the number of vectors that are kept before all rows do these steps. Tests set it.
var mostVectors = 1024

// Variances implements place.DeviceRows.
func (r *rows[T]) Variances(sigma2 float64) place.DeviceVariances {
	f := &variances[T]{rows: r, sigma2: sigma2, c: r.alloc(8 * r.n), squares: r.alloc(8 * r.n), done: r.alloc(4 * r.n),
		leaders: r.alloc(topBytes * scanBlocks), room: min(r.pool.Centres, mostVectors) + 1}
	f.steps = r.alloc(8 * r.ld * f.room)
	if r.ld <= mostColumns {
		f.s, f.phi, f.w = r.alloc(8*r.ld*r.ld), r.alloc(8*r.ld), r.alloc(8*r.ld)
		f.setCovariance(f.s, 0)
	}
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
	f.makeRoom()
	at := f.steps + pointer(8*f.ld*f.count)
	f.sendVector(at, w)
	if f.s != 0 {
		f.launch("lower_covariance", f.warps(f.ld), f.s, f.ld, at)
	}
	f.count++
}

// AddRow implements place.DeviceVariances.
func (f *variances[T]) AddRow(row int) bool {
	if f.s == 0 {
		return false
	}
	f.sendMarks()
	f.makeRoom()
	f.walkTo(row, f.count)
	f.addTaken(f.walk)
	f.count++
	return true
}

// addTaken takes the row of a walk and adds the vector of its step.
func (f *variances[T]) addTaken(walk pointer) {
	f.take(walk, f.phi)
	base := pointer(0)
	if f.root.used {
		base = f.root.projected
		f.times(walk, f.root.a, f.phi, f.root.psi, 0, 1)
		f.times(walk, f.root.transpose, f.root.psi, base, 0, 1)
	}
	f.times(walk, f.s, f.phi, f.w, base, 1)
	f.launch("variance_change", f.warps(f.ld), walk, f.s, f.ld, f.sigma2, f.phi, f.w, f.steps)
}

// makeRoom makes room for a vector: all rows do the steps so far.
func (f *variances[T]) makeRoom() {
	if f.count == f.room {
		f.settle(0, -1, 0)
		f.restart()
	}
}

// restart drops the steps, which are in c, or about to be.
func (f *variances[T]) restart() {
	f.count = 0
	f.clear(f.done, 4*f.n, 0)
}

// settle does the steps that rows lack: those that may be the best, given the best of the
// first blocks; all rows if blocks is zero; or only one.
func (f *variances[T]) settle(blocks, only int, walk pointer) {
	f.launch("settle_variances_"+f.kind, f.decisions(0), f.x, f.ld, f.n, f.steps, int32(f.count), f.leaders, int32(blocks),
		f.flags, only, f.c, f.done, walk)
}

func (f *variances[T]) Best(ahead int) ([]place.DeviceBest, error) {
	if f.s == 0 {
		ahead = 0
	}
	best, err := f.goAhead("variances", min(ahead, f.room-f.count), f.count, f.addTaken, f.find)
	f.count += len(best) - 1
	return best, err
}

func (f *variances[T]) find(walk pointer) {
	g := f.scan()
	if f.price != 0 {
		f.settle(0, -1, walk)
	} else {
		f.launch("settle_tops_"+f.kind, grid{x: g.x, threads: passThreads}, f.x, f.ld, f.steps, int32(f.count), f.leaders,
			f.flags, f.c, f.done, walk)
		f.settle(g.x, -1, walk)
	}
	f.launchBest(f.c, 0, 0, f.leaders, walk)
}

func (f *variances[T]) At(row int) float64 {
	f.settle(0, row, 0)
	return f.scoreAt(row, f.c, 0, 0)
}

// Rebase multiplies blocks of rows with the factor, and keeps the squared norms.
func (f *variances[T]) Rebase(factor matrix.Dense[float64], root bool) {
	f.restart()
	f.rebaseCovariance(factor, root)
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
		f.launch("row_products_f64", f.warps(many), block, width, pointer(0), width, many, factor.Rows, minus,
			f.c+pointer(8*from), pointer(0))
	})
	f.free(block)
	f.free(on)
}

// rebaseCovariance sets S = I − factorᵀ·factor. With a root A, the product AᵀA would lose digits:
// then S = AᵀA + (S − AᵀA), of which the second part is zero now.
func (f *variances[T]) rebaseCovariance(factor matrix.Dense[float64], root bool) {
	if f.s == 0 {
		return
	}
	if f.root.used != root {
		f.dropStep("variances")
	}
	f.root.used = root
	switch {
	case root:
		setRoot(f.rows, &f.root, factor)
		f.clear(f.s, 8*f.ld*f.ld, 0)
		return
	case factor.Rows == 0:
		f.setCovariance(f.s, 0)
		return
	}
	columns := sendRows(f.queue, transposed(factor, f.ld))
	product := f.alloc(8 * f.ld * f.ld)
	tiles := (f.ld + 63) / 64
	f.launch("multiply_nt_f64", grid{x: tiles, y: tiles, threads: 256}, columns, padded(factor.Rows), int32(f.ld), columns,
		padded(factor.Rows), int32(f.ld), int32(padded(factor.Rows)), product, f.ld)
	f.setCovariance(f.s, product)
	f.free(product)
	f.free(columns)
}

// root is a root A of a covariance on the card, with Aᵀ and vectors of a row: Aφ and AᵀAφ.
type root struct {
	used           bool
	a, transpose   pointer // null before the first root
	psi, projected pointer
}

// setRoot sends a root.
func setRoot[T matrix.Float](r *rows[T], to *root, a matrix.Dense[float64]) {
	if to.a == 0 {
		to.a, to.transpose = r.alloc(8*r.ld*r.ld), r.alloc(8*r.ld*r.ld)
		to.psi, to.projected = r.alloc(8*r.ld), r.alloc(8*r.ld)
	}
	sendRowsTo(r.queue, to.a, a)
	sendRowsTo(r.queue, to.transpose, transposed(a, r.ld))
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
	sigma2, offset float64
	c, v, wp       pointer
	values         pointer
	s, inner       pointer // S and AMAᵀ
	root           root
	phi, w, m      pointer // of the row that is added
	change         pointer // the vectors of its step, before Aᵀ
}

// Totals implements place.DeviceRows.
func (r *rows[T]) Totals(sigma2, offset float64) place.DeviceTotals {
	vector, square := 8*r.ld, 8*r.ld*r.ld
	return &totals[T]{rows: r, sigma2: sigma2, offset: offset, c: r.alloc(8 * r.n), v: r.alloc(8 * r.n),
		wp: r.alloc(2 * vector), values: r.alloc(8 * r.n),
		s: r.alloc(square), inner: r.alloc(square), phi: r.alloc(vector), w: r.alloc(vector), m: r.alloc(vector),
		change: r.alloc(2 * vector)}
}

func (f *totals[T]) Prior() float64 {
	f.launch("norms_"+f.kind, f.pass(0), f.x, f.ld, f.n, int32(0), f.values)
	return f.largestOf(f.values)
}

// Moments sums ψψᵀ over parts of rows, and then the parts in order.
func (f *totals[T]) Moments(m, a matrix.Dense[float64]) {
	const least, mostBytes = sumBlock / 8, 512 << 20 // rows of a part, and bytes of all parts
	size, tiles := f.ld*f.ld, (f.ld+63)/64
	most := max(1, min(32, mostBytes/(8*size)))
	parts, sum := f.alloc(8*min(most, ceilDiv(f.n, least))*size), f.alloc(8*size)
	add := func(kind string, x pointer, n int, weights pointer) {
		each := max(least, ceilDiv(n, most))
		many := ceilDiv(n, each)
		f.launch("moments_"+kind, grid{x: tiles, y: tiles, z: many, threads: 256}, x, f.ld, n, each, weights, parts)
		f.launch("sum_parts", grid{x: (size + 255) / 256, threads: 256}, parts, size, int32(many), sum)
	}
	if a.Rows == 0 {
		add(f.kind, f.x, f.n, f.weights)
	} else {
		on := sendRows(f.queue, a)
		psi := f.alloc(8 * min(sumBlock, f.n) * f.ld)
		f.eachBlock(func(from, many int) {
			f.multiply(from, many, on, a.Rows, psi, f.ld)
			add("f64", psi, many, weightsFrom(f.weights, from))
		})
		f.free(psi)
		f.free(on)
	}
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
	f.launch("scores_"+f.kind, f.pass(8*f.ld), f.x, f.ld, f.n, f.wp, pointer(0), f.weights, f.values, pointer(0))
	return addAll(total, f.blockSums(f.values))
}

// Rebase computes ψ = Aφ and ψ·AMAᵀ for blocks of rows.
func (f *totals[T]) Rebase(a, inner matrix.Dense[float64]) float64 {
	f.sendMarks()
	if f.root.used != (a.Rows > 0) {
		f.dropStep("totals")
	}
	f.root.used = a.Rows > 0
	f.setCovariance(f.s, 0)
	sendRowsTo(f.queue, f.inner, inner)
	rows := min(sumBlock, f.n)
	product := f.alloc(8 * rows * f.ld)
	var psi pointer
	if f.root.used {
		setRoot(f.rows, &f.root, a)
		psi = f.alloc(8 * rows * f.ld)
	}
	tiles := (f.ld + 63) / 64
	f.eachBlock(func(from, many int) {
		c, v := f.c+pointer(8*from), f.v+pointer(8*from)
		g := f.warps(many)
		if !f.root.used {
			f.multiply(from, many, f.inner, inner.Rows, product, f.ld)
			f.launch("row_products_"+f.kind, g, f.x+pointer(from*f.ld*sizeOf[T]()), f.ld, product, f.ld, many,
				f.pool.Rows.Cols, pointer(0), c, v)
			return
		}
		f.multiply(from, many, f.root.a, a.Rows, psi, f.ld)
		f.launch("multiply_nt_f64", grid{x: tiles, y: (many + 63) / 64, threads: 256}, psi, f.ld, int32(many), f.inner, f.ld,
			int32(inner.Rows), int32(f.ld), product, f.ld)
		f.launch("row_products_f64", g, psi, f.ld, product, f.ld, many, f.pool.Rows.Cols, pointer(0), c, v)
	})
	f.free(product)
	f.free(psi)
	return f.largestOf(f.v)
}

// AddRow implements place.DeviceTotals.
func (f *totals[T]) AddRow(row int) {
	f.sendMarks()
	f.walkTo(row, 0)
	f.addTaken(f.walk)
}

// addTaken takes the row of a walk and does its step, by the formulas of bait.go.
func (f *totals[T]) addTaken(walk pointer) {
	psi, change := f.phi, f.wp
	if f.root.used {
		psi, change = f.root.psi, f.change
	}
	f.take(walk, f.phi)
	if f.root.used {
		f.times(walk, f.root.a, f.phi, psi, 0, 1)
	}
	f.times(walk, f.s, psi, f.w, 0, 1)
	f.times(walk, f.inner, f.w, f.m, 0, 1)
	f.launch("total_change", f.warps(f.ld), walk, f.s, f.ld, f.sigma2, psi, f.w, f.m, change)
	if f.root.used {
		f.times(walk, f.root.transpose, change, f.wp, 0, 2)
	}
	f.launch("total_step_"+f.kind, f.pass(16*f.ld), f.x, f.ld, f.n, f.wp, f.c, f.v, walk)
}

// Best implements place.DeviceTotals.
func (f *totals[T]) Best(ahead int) ([]place.DeviceBest, error) {
	return f.goAhead("totals", ahead, 0, f.addTaken, func(walk pointer) { f.launchBest(f.v, f.c, f.offset, f.tops, walk) })
}

func (f *totals[T]) At(row int) float64 { return f.scoreAt(row, f.v, f.c, f.offset) }
