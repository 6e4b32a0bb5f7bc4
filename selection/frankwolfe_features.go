package selection

// FrankWolfe in feature space (paper, algorithm of that name), X_cand the pool
// and, in mode TP, the training rows:
//
//	INIT    c[x] = ‖φ(x)‖,  r = Σ c,  φ̃(x) = φ(x)/c[x],  u = Σ φ(x),  v = 0
//	ADD(x)  γ = ⟨rφ̃(x) − v, u − v⟩ / ‖rφ̃(x) − v‖²,  v = (1−γ)v + γrφ̃(x)
//	NEXT    argmax ⟨φ̃(x), u − v⟩

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

type frankWolfeFeatures struct {
	space *Space
	rows  space.Directions
	r     float64
	u, v  []float64
	added []int
}

func newFrankWolfeFeatures(s *Space) (Forward, error) {
	rows, err := s.rows.Directions()
	if err != nil {
		return nil, err
	}
	d := s.rows.Cols()
	f := &frankWolfeFeatures{space: s, rows: rows, u: make([]float64, d), v: make([]float64, d)}
	f.r = rows.Sums(f.u, 0)
	if s.Mode() == TP {
		f.r = s.rows.SumTrain(f.u, f.r)
	}
	return f, nil
}

// Add moves v towards each of the rows.
func (f *frankWolfeFeatures) Add(candidates []int) error {
	f.added = append(f.added, candidates...)
	for i, x := range candidates {
		if x >= f.space.PoolSize() || !f.rows.AddRow(x) {
			f.add(f.space.rows.Float64(candidates[i : i+1]).Row(0))
		}
	}
	return nil
}

func (f *frankWolfeFeatures) add(phi []float64) {
	set := simd.For[float64]()
	norm := math.Sqrt(set.SumSquares(phi))
	if norm == 0 {
		return // it has no direction
	}
	// The way from v to the vertex rφ̃.
	way := make([]float64, len(phi))
	set.Axpy(way, phi, f.r/norm)
	set.Axpy(way, f.v, -1)
	square := set.SumSquares(way)
	if square == 0 {
		return // v is there
	}
	residual := slices.Clone(f.u)
	set.Axpy(residual, f.v, -1)
	set.Axpy(f.v, way, set.Dot(way, residual)/square)
}

// Next returns the row whose direction is closest to the residual u − v.
func (f *frankWolfeFeatures) Next() (Choice, error) {
	return f.space.chooseDirection(f.rows.Best(f.u, f.v, f.r))
}

// left is the objective ‖u − v‖². A device may have v, so it is computed again.
func (f *frankWolfeFeatures) left() (float64, error) {
	again := &frankWolfeFeatures{space: f.space, r: f.r, u: f.u, v: make([]float64, len(f.u))}
	for i := range f.added {
		again.add(f.space.rows.Float64(f.added[i : i+1]).Row(0))
	}
	set := simd.For[float64]()
	set.Axpy(again.v, f.u, -1)
	return f.space.rows.InUnits(set.SumSquares(again.v), 2), nil
}
