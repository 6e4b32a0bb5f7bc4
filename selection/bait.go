package selection

// BAIT, greedy total uncertainty minimization (paper, section of that name and
// the algorithms of BAIT-F and BAIT-FB in the appendix):
//
//	a(X)  = Σ_{x̃ in train ∪ pool} k_{→post(X, σ²)}(x̃, x̃)
//	NEXT  = argmax_{x in X_rem} a(X_sel) − a(X_sel ∪ {x}) = v[x]/(c[x] + σ²)
//
// The paper carries posterior features, their second moments Σ and v through
// rank-one updates. Here the features stay as they are (covariance.go); with
// M = Σ φ(x̃)φ(x̃)ᵀ over train and pool, or over the target,
//
//	c[x] = φ(x)ᵀSφ(x),   v[x] = φ(x)ᵀ S M S φ(x)
//	ADD(x)     w = Sφ(x), q = S M w, γ² = σ² + ⟨φ(x), w⟩, ṽ = ⟨w, M w⟩
//	           u = Φw, r = Φq                      one pass over the features
//	           v = v − 2γ⁻²·u⊙r + γ⁻⁴ṽ·u⊙u,  c = c − γ⁻²·u⊙u,  S = S − γ⁻²·w·wᵀ
//
// which is the paper's update, written in φ instead of the posterior features.
// v falls by many orders of magnitude while rounding errors stay what they are.
// Before these take over, c and v are computed anew from all selected rows.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
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
	f := &bait[T]{space: s, pool: pool, train: train, sigma2: sigma2, offset: sigma2,
		cov: newCovariance(pool.Cols, sigma2, s.Note)}
	if m.Compat {
		f.offset += 1e-8
	}
	f.c, f.v, f.scores = alloc[float64](s, pool.Rows), alloc[float64](s, pool.Rows), alloc[float64](s, pool.Rows)
	f.moments = secondMoments(s, pool, train, target)
	d := pool.Cols
	f.w, f.mw, f.q = make([]float64, d), make([]float64, d), make([]float64, d)
	f.stale = true // in mode TP the training rows come before the first score
	if m.Backward {
		return &baitFB[T]{bait: f}, nil
	}
	return f, nil
}

type bait[T matrix.Float] struct {
	space       *Space[T]
	pool, train matrix.Dense[float64]
	moments     matrix.Dense[float64] // M
	sigma2      float64
	offset      float64 // what is added to c in the score
	selected    []int
	cov         *covariance
	c, v        []float64
	scores      []float64
	w, mw, q    []float64
	start       float64 // the largest v when it was last computed anew
	stale       bool    // c and v do not belong to S
}

// secondMoments returns M = Σ w(x̃)·φ(x̃)φ(x̃)ᵀ.
func secondMoments[T matrix.Float](s *Space[T], pool, train, target matrix.Dense[float64]) matrix.Dense[float64] {
	m := allocMatrix[float64](s, pool.Cols, pool.Cols)
	switch {
	case target.Rows > 0:
		linalg.Syrk(m, 1, target, linalg.Trans, 0)
	case s.weights != nil:
		addWeighted(m, pool, s.weights)
	default:
		linalg.Syrk(m, 1, pool, linalg.Trans, 0)
		if train.Rows > 0 {
			linalg.Syrk(m, 1, train, linalg.Trans, 1)
		}
	}
	return m
}

// addWeighted adds Σ w_i·φ_iφ_iᵀ to m, in blocks of rows times √w.
func addWeighted(m, rows matrix.Dense[float64], weights []float64) {
	scratch := matrix.New[float64](min(conditionedBlock, rows.Rows), rows.Cols)
	for from := 0; from < rows.Rows; from += conditionedBlock {
		part := scratch.Slice(0, min(conditionedBlock, rows.Rows-from))
		for i := range part.Rows {
			copy(part.Row(i), rows.Row(from+i))
			scale(part.Row(i), math.Sqrt(weights[from+i]))
		}
		linalg.Syrk(m, 1, part, linalg.Trans, 1)
	}
}

// renewBelow is the share of its former size that v may fall to before it is
// computed anew: its rounding errors are then about 1e-9 of it.
const renewBelow = 1e-7

// Next returns the row of largest score v/(c + σ²).
func (f *bait[T]) Next() (Choice, error) {
	if f.stale {
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
	return Choice{Row: row, Score: f.score(row)}, nil
}

func (f *bait[T]) score(row int) float64 { return f.v[row] / (f.c[row] + f.offset) }

func (f *bait[T]) best() (int, error) {
	overPieces(len(f.scores), scanPiece, func(_, from, to int) {
		for i := from; i < to; i++ {
			f.scores[i] = f.score(i)
		}
	})
	return bestOpen(f.scores, f.space.limits.open)
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
	set := simd.For[float64]()
	vx := f.direction(phi)
	gamma2 := f.sigma2 + max(set.Dot(phi, f.w), 0)
	a, b := -2/gamma2, vx/(gamma2*gamma2)
	f.readFeatures(func(row int, u, r float64) {
		f.v[row] += a*u*r + b*u*u
		f.c[row] = max(f.c[row]-u*u/gamma2, 0)
	})
	f.cov.update(f.w, -1, gamma2)
}

// direction computes w = Sφ, M·w and q = S·M·w, and returns ⟨w, M·w⟩.
func (f *bait[T]) direction(phi []float64) float64 {
	f.cov.apply(f.w, phi)
	linalg.MulVec(f.mw, f.moments, f.w)
	f.cov.apply(f.q, f.mw)
	return simd.For[float64]().Dot(f.w, f.mw)
}

// readFeatures reads the features once and hands ⟨φ, w⟩ and ⟨φ, q⟩ of each row
// to change.
func (f *bait[T]) readFeatures(change func(row int, u, r float64)) {
	set := simd.For[float64]()
	overPieces(f.pool.Rows, readPiece, func(_, from, to int) {
		var u, r [cachedRows]float64
		for ; from < to; from += cachedRows {
			n := min(cachedRows, to-from)
			part := f.pool.Slice(from, from+n)
			set.DotRows(u[:n], f.w, part.Data, part.Stride)
			set.DotRows(r[:n], f.q, part.Data, part.Stride)
			for i := range n {
				change(from+i, u[i], r[i])
			}
		}
	})
}

// renew computes S, c and v from all selected rows.
func (f *bait[T]) renew() error {
	if err := f.cov.observeAsRoot(rowsOf(f.pool, f.train, f.selected)); err != nil {
		return err
	}
	f.variances(f.c, f.v, f.pool)
	f.start = 0
	for _, v := range f.v {
		f.start = max(f.start, v)
	}
	f.stale = false
	return nil
}

// variances computes c and v of rows from S as it was last computed anew. With
// S = AᵀA it is c = ‖Aφ‖² and v = (Aφ)ᵀ(A M Aᵀ)(Aφ): second moments of posterior
// features, as in the paper.
func (f *bait[T]) variances(c, v []float64, rows matrix.Dense[float64]) {
	a, moments := f.cov.root, f.moments
	if a.Rows > 0 {
		moments = congruence(a, f.moments)
	}
	block := min(conditionedBlock, rows.Rows)
	features, products := matrix.New[float64](block, rows.Cols), matrix.New[float64](block, rows.Cols)
	for from := 0; from < rows.Rows; from += conditionedBlock {
		part := rows.Slice(from, min(from+conditionedBlock, rows.Rows))
		if a.Rows > 0 {
			linalg.Gemm(features.Slice(0, part.Rows), 1, part, linalg.NoTrans, a, linalg.Trans, 0)
			part = features.Slice(0, part.Rows)
		}
		linalg.Gemm(products.Slice(0, part.Rows), 1, part, linalg.NoTrans, moments, linalg.NoTrans, 0)
		rowDots(v[from:from+part.Rows], part, products)
		linalg.RowNorms(c[from:from+part.Rows], part)
	}
}

// congruence returns a·m·aᵀ.
func congruence(a, m matrix.Dense[float64]) matrix.Dense[float64] {
	half, full := matrix.New[float64](a.Rows, m.Cols), matrix.New[float64](a.Rows, a.Rows)
	linalg.Gemm(half, 1, a, linalg.NoTrans, m, linalg.NoTrans, 0)
	linalg.Gemm(full, 1, half, linalg.NoTrans, a, linalg.Trans, 0)
	return full
}

// rowDots writes the product of row i of a and row i of b to dst.
func rowDots(dst []float64, a, b matrix.Dense[float64]) {
	set := simd.For[float64]()
	overPieces(len(dst), cachedRows, func(_, from, to int) {
		for i := from; i < to; i++ {
			dst[i] = set.Dot(a.Row(i), b.Row(i))
		}
	})
}
