package selection

// BAIT, greedy total uncertainty minimization (paper, section of that name and
// the algorithms of BAIT-F and BAIT-FB in the appendix):
//
//	a(X)  = Σ_{x̃ in train ∪ pool} k_{→post(X, σ²)}(x̃, x̃)
//	NEXT  = argmax_{x in X_rem} a(X_sel) − a(X_sel ∪ {x}) = v[x]/(c[x] + σ²)
//
// The paper carries posterior features, their second moments Σ and v through
// rank-one updates. Here the features stay as they are. With A from when c and v
// were last computed anew, ψ(x) = Aφ(x) the posterior features of then (A = I if
// nothing was selected), M = Σ φ(x̃)φ(x̃)ᵀ over train and pool, or over the target,
// and S the covariance since then (covariance.go),
//
//	c[x] = ψ(x)ᵀSψ(x),   v[x] = ψ(x)ᵀ S AMAᵀ S ψ(x)
//	ADD(x)     γ² = σ² + ⟨ψ(x), Sψ(x)⟩,  w = Sψ(x)/γ
//	           p = ⟨w, AMAᵀw⟩·w − 2·S·AMAᵀw,  S = S − w·wᵀ
//	           c = c − u⊙u,  v = v + u⊙z   with u = Φ·Aᵀw, z = Φ·Aᵀp
//
// which is the paper's update, written in φ. c and v of a row need not follow at
// once: bait_bounds.go says which rows can be the best, and only these are brought
// up to date, with the same numbers as if each step were done for every row.
//
// v falls by many orders of magnitude while rounding errors stay what they are.
// Before these take over, and after many steps, c and v are computed anew from all
// selected rows. If the exact scores of a few rows show that float64 has too few
// digits for A, it is computed with twice as many (accuracy.go), and AMAᵀ as the sum of
// ψψᵀ, since M has lost them.

import (
	"math"
	"sync"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

// BAIT selects the row that lowers the summed posterior variance most.
type BAIT[T matrix.Float] struct {
	Sigma2   float64 // the noise variance σ²; zero means DefaultSigma2
	Backward bool    // BAIT-FB: twice as many rows, then the least useful are removed
	Compat   bool    // add 1e-8 to the denominator c + σ², as the published code does
}

// Name returns "bait-f" or "bait-fb".
func (m BAIT[T]) Name() string {
	if m.Backward {
		return "bait-fb"
	}
	return "bait-f"
}

// Init computes the second moments of the target.
func (m BAIT[T]) Init(s *Space[T]) (Forward, error) {
	sigma2, err := sigma2Of(m.Name(), m.Sigma2)
	if err != nil {
		return nil, err
	}
	pool, train, target, err := wideFeatures(s, m.Name())
	if err != nil {
		return nil, err
	}
	n, d := pool.Rows, pool.Cols
	f := &bait[T]{space: s, name: m.Name(), pool: pool, train: train, target: target, sigma2: sigma2, offset: sigma2,
		base: newCovariance(s, d, sigma2), cov: newCovariance(s, d, sigma2),
		c: matrix.Alloc[float64](n), v: matrix.Alloc[float64](n), scores: matrix.Alloc[float64](n), done: make([]int32, n),
		w: make([]float64, d), mw: make([]float64, d), q: make([]float64, d), psi: make([]float64, d)}
	if m.Compat {
		f.offset += 1e-8
	}
	f.dots.New = func() any { return new([2 * cachedRows]float64) }
	f.moments = f.secondMoments()
	f.bounds = newBAITBounds(s, n, d)
	f.stale = true // in mode TP the training rows come before the first score
	if m.Backward {
		return &baitFB[T]{bait: f}, nil
	}
	return f, nil
}

type bait[T matrix.Float] struct {
	space       *Space[T]
	name        string
	pool, train matrix.Dense[float64]
	target      matrix.Dense[float64]
	moments     matrix.Dense[float64] // M
	sigma2      float64
	offset      float64 // what is added to c in the score
	selected    []int
	base        *covariance           // AᵀA
	precise     bool                  // base has been computed with twice as many digits
	inner       matrix.Dense[float64] // AMAᵀ
	cov         *covariance           // S
	c, v        []float64             // of each row, after as many steps as done says
	done        []int32
	steps       []float64 // Aᵀw and Aᵀp of each step that some row lacks
	scores      []float64 // or above them
	dots        sync.Pool // of *[2 * cachedRows]float64
	bounds      *baitBounds
	psi         []float64
	w, mw, q    []float64
	start       float64 // the largest v when it was last computed anew
	stale       bool    // c and v do not belong to S
}

// secondMoments returns M = Σ w(x̃)·φ(x̃)φ(x̃)ᵀ.
func (f *bait[T]) secondMoments() matrix.Dense[float64] {
	m := matrix.New[float64](f.pool.Cols, f.pool.Cols)
	f.eachTarget(func(rows matrix.Dense[float64], weights []float64) {
		addMoments(f.space, m, rows, weights, matrix.Dense[float64]{})
		tally.Rows[float64](f.space.tally, rows.Rows, rows.Cols)
	})
	return m
}

// eachTarget visits the rows whose variances are summed up, and their weights: nil
// for 1.
func (f *bait[T]) eachTarget(visit func(rows matrix.Dense[float64], weights []float64)) {
	switch {
	case f.target.Rows > 0:
		visit(f.target, nil)
	case f.space.weights != nil:
		visit(f.pool, f.space.weights)
	default:
		visit(f.pool, nil)
		if f.train.Rows > 0 {
			visit(f.train, nil)
		}
	}
}

// addMoments adds Σ w_i·ψ_iψ_iᵀ to m, with ψ_i = Aφ_i, block by block. Without weights
// these are 1, and without A it is the identity.
func addMoments[T matrix.Float](s *Space[T], m, rows matrix.Dense[float64], weights []float64, a matrix.Dense[float64]) {
	block := matrix.New[float64](m.Rows, m.Cols)
	eachBlock(rows.Rows, func(from, to int) {
		if s.Cancelled() {
			return
		}
		if weights == nil && a.Rows == 0 {
			linalg.Syrk(s.team, block, 1, rows.Slice(from, to), linalg.Trans, 0)
		} else {
			clear(block.Data)
			addBlockMoments(s.team, block, rows.Slice(from, to), weights, from, a)
		}
		simd.For[float64]().Axpy(m.Data, block.Data, 1)
	})
}

// addBlockMoments is addMoments for the rows of a block, whose weights begin at first.
func addBlockMoments(team *linalg.Team, m, rows matrix.Dense[float64], weights []float64, first int, a matrix.Dense[float64]) {
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

// renewBelow is the share of its former size that v may fall to before it is
// computed anew: its rounding errors are then about 1e-9 of it.
const renewBelow = 1e-7

// renewAfter is the number of steps after which c and v are computed anew: S would
// take longer and longer to multiply with, and bounds become too wide.
const renewAfter = 256

// Next returns the row of largest score v/(c + σ²).
func (f *bait[T]) Next() (Choice, error) {
	if f.stale || len(f.cov.sign) >= renewAfter {
		if err := f.renew(); err != nil {
			return Choice{}, err
		}
	}
	row, err := f.best()
	if err == nil && f.v[row] < renewBelow*f.start {
		if err := f.renew(); err != nil {
			return Choice{}, err
		}
		row, err = f.best()
	}
	if err != nil {
		return Choice{}, err
	}
	score := f.score(row)
	return Choice{Row: row, Score: score, Tied: score == 0}, nil
}

func (f *bait[T]) score(row int) float64 { return f.v[row] / (f.c[row] + f.offset) }

// best returns the row of largest score, which is up to date then.
func (f *bait[T]) best() (int, error) {
	if f.bounds == nil || f.bounds.age == 0 || !f.bestByBounds() {
		f.space.team.OverPieces(len(f.scores), scanPiece, func(_, from, to int) {
			for i := from; i < to; i++ {
				f.scores[i] = f.score(i)
			}
		})
	}
	return bestOpen(f.space.team, f.scores, f.space.limits.open)
}

// Add conditions on many rows as matrix products, on few one by one.
func (f *bait[T]) Add(candidates []int) error {
	f.selected = append(f.selected, candidates...)
	if len(candidates) >= manyRows {
		return f.renew()
	}
	if f.stale {
		return nil // the next score is computed from all selected rows
	}
	for _, x := range candidates {
		f.add(rowOf(f.pool, f.train, x))
	}
	return nil
}

func (f *bait[T]) add(phi []float64) {
	psi := f.conditioned(phi)
	moment := f.direction(psi)
	gamma2 := f.sigma2 + max(simd.For[float64]().Dot(psi, f.w), 0)
	f.cov.update(f.w, -1, gamma2)
	w := f.cov.changed(len(f.cov.sign)-1, len(f.cov.sign))
	p := f.q
	simd.For[float64]().ScaleAdd(p, w, -2/math.Sqrt(gamma2), moment/gamma2)
	f.steps = append(append(f.steps, f.inFeatures(w)...), f.inFeatures(p)...)
	f.space.tally.Pairs(int64(f.pool.Rows), 0)
	if f.bounds == nil || !f.bounds.follow(w, p, f.c, f.v) {
		f.catchUpAll()
		return
	}
	f.space.tally.Read(f.bounds.rows.bytes())
}

// conditioned returns ψ = Aφ, which is valid until the next call.
func (f *bait[T]) conditioned(phi []float64) []float64 {
	if f.base.root.Rows == 0 {
		return phi
	}
	f.mulVec(f.psi, f.base.root, phi)
	return f.psi
}

// inFeatures returns Aᵀx, which is valid until the next call.
func (f *bait[T]) inFeatures(x []float64) []float64 {
	if f.base.root.Rows == 0 {
		return x
	}
	linalg.MulVecT(f.space.team, f.psi, f.base.root, x)
	return f.psi
}

// mulVec writes the product of a square matrix and a vector to dst.
func (f *bait[T]) mulVec(dst []float64, a matrix.Dense[float64], x []float64) {
	f.space.team.OverPieces(a.Rows, 4*cachedRows, func(_, from, to int) {
		part := a.Slice(from, to)
		simd.For[float64]().DotRows(dst[from:to], x, part.Data, part.Stride)
	})
}

// direction computes w = Sψ, AMAᵀw and q = S·AMAᵀw, and returns ⟨w, AMAᵀw⟩.
func (f *bait[T]) direction(psi []float64) float64 {
	f.cov.apply(f.w, psi)
	f.mulVec(f.mw, f.inner, f.w)
	f.cov.apply(f.q, f.mw)
	return simd.For[float64]().Dot(f.w, f.mw)
}

// behind is how many steps a row lacks.
func (f *bait[T]) behind(row int) int { return len(f.steps)/(2*f.pool.Cols) - int(f.done[row]) }

// catchUp brings a row up to date.
func (f *bait[T]) catchUp(row int) {
	dots := f.dots.Get().(*[2 * cachedRows]float64)
	defer f.dots.Put(dots)
	d := f.pool.Cols
	for n := f.behind(row); n > 0; n = f.behind(row) {
		n = min(n, cachedRows)
		simd.For[float64]().DotRows(dots[:2*n], f.pool.Row(row), f.steps[2*d*int(f.done[row]):], d)
		for i := 0; i < 2*n; i += 2 {
			f.change(row, dots[i], dots[i+1])
		}
		f.done[row] += int32(n)
	}
}

// change does one step for one row.
func (f *bait[T]) change(row int, u, z float64) {
	f.v[row] += u * z
	f.c[row] = max(f.c[row]-u*u, 0)
}

// catchUpAll brings all rows up to date, and forgets the steps.
func (f *bait[T]) catchUpAll() {
	lacking := len(f.steps) / (2 * f.pool.Cols)
	computed := int64(lacking) * int64(f.pool.Rows)
	for _, done := range f.done {
		computed -= int64(done)
	}
	f.space.team.OverPieces(f.pool.Rows, readPiece, func(_, from, to int) {
		if lacking == 1 {
			f.stepAll(from, to)
			return
		}
		for row := from; row < to; row++ {
			f.catchUp(row)
		}
	})
	f.space.tally.Pairs(0, computed)
	tally.Rows[float64](f.space.tally, f.pool.Rows, f.pool.Cols)
	f.forgetSteps()
}

// forgetSteps is for when all rows are up to date.
func (f *bait[T]) forgetSteps() {
	f.steps = f.steps[:0]
	clear(f.done)
	if f.bounds != nil {
		f.bounds.restart()
	}
}

// stepAll does the one step for all rows of a piece that lack it: one read of the
// features for two vectors.
func (f *bait[T]) stepAll(from, to int) {
	set, d := simd.For[float64](), f.pool.Cols
	dots := f.dots.Get().(*[2 * cachedRows]float64)
	defer f.dots.Put(dots)
	u, z := dots[:cachedRows], dots[cachedRows:]
	for ; from < to; from += cachedRows {
		n := min(cachedRows, to-from)
		part := f.pool.Slice(from, from+n)
		set.DotRows(u[:n], f.steps[:d], part.Data, part.Stride)
		set.DotRows(z[:n], f.steps[d:], part.Data, part.Stride)
		for i := range n {
			if f.done[from+i] == 0 {
				f.change(from+i, u[i], z[i])
			}
		}
	}
}

// renew computes A, c and v from all selected rows.
func (f *bait[T]) renew() error {
	learning := f.bounds
	if learning != nil && !learning.renew(len(f.cov.sign)) {
		learning = nil
	}
	if err := f.rebase(f.c, f.v, f.pool, f.accurate, learning); err != nil {
		return err
	}
	f.forgetSteps()
	f.start = largestOf(f.v)
	f.stale = false
	return nil
}

// rebase takes A for what has been selected, and computes c and v of rows, with more
// digits if they are not accurate.
func (f *bait[T]) rebase(c, v []float64, rows matrix.Dense[float64], accurate func(selected matrix.Dense[float64]) bool, learning *baitBounds) error {
	selected := rowsOf(f.pool, f.train, f.selected)
	compute := func() bool {
		f.cov.forget()
		f.inner = f.innerMoments()
		f.variances(c, v, rows, learning)
		return selected.Rows == 0 || accurate(selected)
	}
	f.precise = false
	if f.base.observeAsRoot(selected) && compute() {
		return nil
	}
	if f.space.Cancelled() { // numbers that were never computed are not accurate
		return f.space.ctx.Err()
	}
	f.precise = true
	if f.base.observePrecisely(selected) && compute() {
		return nil
	}
	if f.space.Cancelled() {
		return f.space.ctx.Err()
	}
	return f.refusal()
}

func (f *bait[T]) refusal() error {
	return &PrecisionError{Method: f.name, Largest: largestOf(wideNorms(f.space, &f.space.pool, f.pool))}
}

// innerMoments returns AMAᵀ.
func (f *bait[T]) innerMoments() matrix.Dense[float64] {
	switch {
	case f.base.root.Rows == 0:
		return f.moments
	case !f.precise:
		return congruence(f.space.team, f.base.root, f.moments)
	}
	m := matrix.New[float64](f.pool.Cols, f.pool.Cols)
	f.eachTarget(func(rows matrix.Dense[float64], weights []float64) {
		tally.Rows[float64](f.space.tally, rows.Rows, rows.Cols)
		addMoments(f.space, m, rows, weights, f.base.root)
	})
	return m
}

// accurate compares the scores of some rows with exact ones.
func (f *bait[T]) accurate(selected matrix.Dense[float64]) bool {
	open := f.space.limits.open
	at := -1
	for i := range f.c {
		if open[i] && (at < 0 || f.score(i) > f.score(at)) {
			at = i
		}
	}
	if at < 0 {
		return true
	}
	for _, i := range sampleOf(at, open) {
		product, variance := f.base.exact(f.pool.Row(i), selected)
		off := math.Abs(f.score(i) - f.summed(product)/(variance+f.offset))
		if !(sampleMargin*off <= tolerance*f.score(at)) {
			return false
		}
	}
	return true
}

// summed returns Σ w(x̃)·⟨φ(x̃), x⟩².
func (f *bait[T]) summed(x []float64) float64 {
	sum := 0.0
	f.eachTarget(func(rows matrix.Dense[float64], weights []float64) {
		dots := make([]float64, rows.Rows)
		linalg.MulVec(f.space.team, dots, rows, x)
		tally.Rows[float64](f.space.tally, rows.Rows, rows.Cols)
		for i, dot := range dots {
			if weights != nil {
				dot *= math.Sqrt(weights[i])
			}
			dots[i] = dot * dot
		}
		sum = addSum(sum, dots)
	})
	return sum
}
