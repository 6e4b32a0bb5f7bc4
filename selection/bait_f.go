package selection

// BAIT-F, the forward steps of bait.go, where c and v are defined:
//
//	NEXT  = argmax_{x in X_rem} v[x]/(c[x] + σ²)

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/posterior"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

type bait struct {
	space    *Space
	name     string
	rows     space.Totals
	moments  matrix.Dense[float64] // M
	sigma2   float64
	offset   float64 // what is added to c in the score
	selected []int
	base     *posterior.Covariance // AᵀA
	precise  bool                  // base has been computed with twice as many digits
	inner    matrix.Dense[float64] // AMAᵀ
	cov      *posterior.Covariance // S
	psi, aw  []float64
	w, mw, q []float64
	steps    int     // since c and v were last recomputed
	start    float64 // the largest v at that time
	stale    bool    // c and v do not belong to S
}

// exactScores returns v and c of rows with the given features after the base alone, as accurately as
// float64 allows: v = Σ w(x̃)·⟨φ(x̃), AᵀAφ⟩² over the same rows x̃.
func (f *bait) exactScores(rows, selected matrix.Dense[float64]) (v, c []float64) {
	v, c = make([]float64, rows.Rows), make([]float64, rows.Rows)
	products := matrix.New[float64](rows.Rows, rows.Cols)
	for i := range rows.Rows {
		product, variance := f.base.Exact(rows.Row(i), selected)
		copy(products.Row(i), product)
		c[i] = variance
	}
	f.rows.Summed(v, products)
	return v, c
}

// cachedRows is the number of rows that stay in the cache while several vectors are
// multiplied with them.
const cachedRows = 32

// refreshBelow is the share of its former size that v may fall to before it is
// recomputed: its rounding errors are then about 1e-9 of it.
const refreshBelow = 1e-7

// refreshAfter is the number of steps after which c and v are recomputed: products with
// S take longer and longer, and bounds become too loose.
const refreshAfter = 256

// Next returns the row of largest score v/(c + σ²).
func (f *bait) Next() (Choice, error) {
	if f.stale || f.steps >= refreshAfter {
		if err := f.refresh(); err != nil {
			return Choice{}, err
		}
	}
	best, v, err := f.rows.Best()
	if err == nil && v < refreshBelow*f.start {
		if err := f.refresh(); err != nil {
			return Choice{}, err
		}
		best, _, err = f.rows.Best()
	}
	if err != nil {
		return Choice{}, err
	}
	return Choice{Row: best.Row, Score: f.space.price.per(best.Row, best.Score), Tied: best.Score == 0}, nil
}

// Add conditions on many rows as matrix products, on few one by one.
func (f *bait) Add(candidates []int) error {
	f.selected = append(f.selected, candidates...)
	if len(candidates) >= manyRows {
		return f.refresh()
	}
	if f.stale {
		return nil // the next score is computed from all selected rows
	}
	for i, row := range candidates {
		if !f.rows.AddRow(row) {
			f.add(f.space.rows.Float64(candidates[i : i+1]).Row(0))
		}
		f.steps++
	}
	return nil
}

func (f *bait) add(phi []float64) {
	psi := f.conditioned(phi)
	moment := f.direction(psi)
	gamma2 := f.sigma2 + max(simd.For[float64]().Dot(psi, f.w), 0)
	f.cov.Update(f.w, -1, gamma2)
	w := f.cov.Latest()
	p := f.q
	simd.For[float64]().ScaleAdd(p, w, -2/math.Sqrt(gamma2), moment/gamma2)
	copy(f.aw, f.inFeatures(w))
	f.rows.Step(w, p, f.aw, f.inFeatures(p))
}

// conditioned returns ψ = Aφ, which is valid until the next call.
func (f *bait) conditioned(phi []float64) []float64 {
	if f.base.Root.Rows == 0 {
		return phi
	}
	f.mulVec(f.psi, f.base.Root, phi)
	return f.psi
}

// allConditioned returns ψ of rows, with the same numbers as conditioned.
func (f *bait) allConditioned(rows matrix.Dense[float64]) matrix.Dense[float64] {
	root := f.base.Root
	if root.Rows == 0 {
		return rows
	}
	psi := matrix.New[float64](rows.Rows, root.Rows)
	f.space.rows.Team().OverPieces(rows.Rows, cachedRows, func(_, from, to int) {
		for first := 0; first < root.Rows; first += cachedRows {
			last := min(first+cachedRows, root.Rows)
			part := root.Slice(first, last)
			for i := from; i < to; i++ {
				simd.For[float64]().DotRows(psi.Row(i)[first:last], rows.Row(i), part.Data, part.Stride)
			}
		}
	})
	return psi
}

// inFeatures returns Aᵀx, which is valid until the next call.
func (f *bait) inFeatures(x []float64) []float64 {
	if f.base.Root.Rows == 0 {
		return x
	}
	linalg.MulVecT(f.space.rows.Team(), f.psi, f.base.Root, x)
	return f.psi
}

// mulVec writes the product of a square matrix and a vector to dst.
func (f *bait) mulVec(dst []float64, a matrix.Dense[float64], x []float64) {
	f.space.rows.Team().OverPieces(a.Rows, 4*cachedRows, func(_, from, to int) {
		part := a.Slice(from, to)
		simd.For[float64]().DotRows(dst[from:to], x, part.Data, part.Stride)
	})
}

// direction computes w = Sψ, AMAᵀw and q = S·AMAᵀw, and returns ⟨w, AMAᵀw⟩.
func (f *bait) direction(psi []float64) float64 {
	f.cov.Apply(f.w, psi)
	f.mulVec(f.mw, f.inner, f.w)
	f.cov.Apply(f.q, f.mw)
	return simd.For[float64]().Dot(f.w, f.mw)
}

// refresh computes A, c and v from all selected rows.
func (f *bait) refresh() error {
	err := f.rebase(f.accurate, func() { f.start = f.rows.Rebase(f.base.Root, f.inner) })
	if err == nil {
		f.stale = false
	}
	return err
}

// rebase computes A from the selected rows, and c and v from A, with more digits if they
// are not accurate.
func (f *bait) rebase(accurate func(selected matrix.Dense[float64]) bool, compute func()) error {
	selected := f.space.rows.Float64(f.selected)
	done := func() bool {
		f.cov.Reset()
		f.steps = 0
		f.inner = f.innerMoments()
		compute()
		return selected.Rows == 0 || accurate(selected)
	}
	f.precise = false
	if f.base.ObserveAsRoot(selected) && done() {
		return nil
	}
	if f.space.Cancelled() { // numbers that were never computed are not accurate
		return f.space.rows.Ended()
	}
	f.precise = true
	if f.base.ObservePrecisely(selected) && done() {
		return nil
	}
	if f.space.Cancelled() {
		return f.space.rows.Ended()
	}
	return f.refusal()
}

func (f *bait) refusal() error {
	return &PrecisionError{Method: f.name, Largest: f.rows.Prior()}
}

// innerMoments returns AMAᵀ.
func (f *bait) innerMoments() matrix.Dense[float64] {
	switch {
	case f.base.Root.Rows == 0:
		return f.moments
	case !f.precise:
		return congruence(f.space.rows.Team(), f.base.Root, f.moments)
	}
	m := matrix.New[float64](f.cov.Dim, f.cov.Dim)
	f.rows.Moments(m, f.base.Root)
	return m
}

// accurate compares the scores of some rows with exact ones.
func (f *bait) accurate(selected matrix.Dense[float64]) bool {
	best, _, err := f.rows.Best()
	if err != nil || best.Row < 0 {
		return err == nil
	}
	sample := sampleOf(best.Row, f.space.limits.open)
	v, c := f.exactScores(f.space.rows.Float64(sample), selected)
	for i, row := range sample {
		off := math.Abs(f.rows.At(row) - v[i]/(c[i]+f.offset))
		if !(sampleMargin*off <= tolerance*best.Score) {
			return false
		}
	}
	return true
}

// congruence returns a·m·aᵀ.
func congruence(team *linalg.Team, a, m matrix.Dense[float64]) matrix.Dense[float64] {
	half, full := matrix.New[float64](a.Rows, m.Cols), matrix.New[float64](a.Rows, a.Rows)
	linalg.Gemm(team, half, 1, a, linalg.NoTrans, m, linalg.NoTrans, 0)
	linalg.Gemm(team, full, 1, half, linalg.NoTrans, a, linalg.Trans, 0)
	return full
}
