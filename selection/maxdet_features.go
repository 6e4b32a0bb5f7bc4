package selection

// MaxDet in feature space (paper, algorithm "MaxDet pseudocode implementation in
// feature space"), without rewriting the features (covariance.go):
//
//	INIT    c[x] = ⟨φ(x), φ(x)⟩
//	ADD(x)  w = S·φ(x),  γ² = σ² + ⟨φ(x), w⟩,  u = Φ·w
//	        c = c − γ⁻²·u⊙u,  S = S − γ⁻²·w·wᵀ
//	NEXT    argmax c

import (
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

type maxDetFeatures[T matrix.Float] struct {
	space       *Space[T]
	pool, train matrix.Dense[float64]
	selected    []int
	cov         *covariance
	c           []float64 // posterior variance of each pool row
	w           []float64
}

func newMaxDetFeatures[T matrix.Float](s *Space[T], name string, sigma2 float64) (Forward, error) {
	pool, train, _, err := wideFeatures(s, name)
	if err != nil {
		return nil, err
	}
	return &maxDetFeatures[T]{space: s, pool: pool, train: train, cov: newCovariance(pool.Cols, sigma2, s.Note),
		c: wideNorms(s, pool), w: make([]float64, pool.Cols)}, nil
}

// Next returns the row of largest variance, which is its score.
func (f *maxDetFeatures[T]) Next() (Choice, error) {
	row, err := bestOpen(f.c, f.space.limits.open)
	if err != nil {
		return Choice{}, err
	}
	return Choice{Row: row, Score: f.c[row]}, nil
}

// Add conditions on many rows as matrix products, on few one by one.
func (f *maxDetFeatures[T]) Add(candidates []int) error {
	f.selected = append(f.selected, candidates...)
	if len(candidates) >= manyRows {
		if err := f.cov.observe(rowsOf(f.pool, f.train, f.selected)); err != nil {
			return err
		}
		f.cov.diag(f.c, f.pool)
		return nil
	}
	for _, x := range candidates {
		f.add(rowOf(f.pool, f.train, x))
	}
	return nil
}

func (f *maxDetFeatures[T]) add(phi []float64) {
	set := simd.For[float64]()
	f.cov.apply(f.w, phi)
	gamma2 := f.cov.sigma2 + max(set.Dot(phi, f.w), 0)
	overPieces(f.pool.Rows, readPiece, func(_, from, to int) {
		var u [readPiece]float64
		part := f.pool.Slice(from, to)
		set.DotRows(u[:to-from], f.w, part.Data, part.Stride)
		for i, v := range u[:to-from] {
			f.c[from+i] = max(f.c[from+i]-v*v/gamma2, 0)
		}
	})
	f.cov.update(f.w, -1, gamma2)
}

// rowOf returns the features of a candidate.
func rowOf(pool, train matrix.Dense[float64], candidate int) []float64 {
	if candidate < pool.Rows {
		return pool.Row(candidate)
	}
	return train.Row(candidate - pool.Rows)
}

// rowsOf copies the features of candidates.
func rowsOf(pool, train matrix.Dense[float64], candidates []int) matrix.Dense[float64] {
	rows := matrix.New[float64](len(candidates), pool.Cols)
	for i, x := range candidates {
		copy(rows.Row(i), rowOf(pool, train, x))
	}
	return rows
}
