package selection

// FrankWolfe in feature space (paper, algorithm of that name), X_cand the pool
// and, in mode TP, the training rows:
//
//	INIT    c[x] = ‖φ(x)‖,  r = Σ c,  φ̃(x) = φ(x)/c[x],  u = Σ φ(x),  v = 0
//	ADD(x)  γ = ⟨rφ̃(x) − v, u − v⟩ / ‖rφ̃(x) − v‖²,  v = (1−γ)v + γrφ̃(x)
//	NEXT    argmax ⟨φ̃(x), u − v⟩

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

type frankWolfeFeatures[T matrix.Float] struct {
	space    *Space[T]
	pool     directionSearch
	r        float64
	u, v     []float64
	residual []float64 // u − v
}

func newFrankWolfeFeatures[T matrix.Float](s *Space[T]) (Forward, error) {
	pool, err := s.rows.Directions()
	if err != nil {
		return nil, err
	}
	d := s.pool.rows.Cols
	f := &frankWolfeFeatures[T]{space: s, pool: pool, u: make([]float64, d), v: make([]float64, d), residual: make([]float64, d)}
	f.r = pool.Sums(f.u, 0)
	if s.Mode() == TP {
		f.sumTrain()
	}
	return f, nil
}

// sumTrain adds the training rows to u and r.
func (f *frankWolfeFeatures[T]) sumTrain() {
	train := newMemoryRows(f.space, &f.space.train, nil)
	directions := &memoryDirections[T]{memoryRows: train, pool: inFloat64(f.space, &f.space.train), c: make([]float64, f.space.TrainSize())}
	f.r = directions.Sums(f.u, f.r)
}

// Add moves v towards each of the rows.
func (f *frankWolfeFeatures[T]) Add(candidates []int) error {
	adder, _ := f.pool.(rowAdder)
	for _, x := range candidates {
		if adder != nil && x < f.space.PoolSize() && adder.addRow(x) {
			continue
		}
		row, _ := f.space.row(x)
		f.add(matrix.Converted[float64](row).Row(0))
	}
	return nil
}

func (f *frankWolfeFeatures[T]) add(phi []float64) {
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
	copy(f.residual, f.u)
	set.Axpy(f.residual, f.v, -1)
	set.Axpy(f.v, way, set.Dot(way, f.residual)/square)
}

// Next returns the row whose direction is closest to the residual.
func (f *frankWolfeFeatures[T]) Next() (Choice, error) {
	if device, ok := f.pool.(*deviceDirections[T]); ok {
		device.start(f.u, f.v, f.r)
	}
	copy(f.residual, f.u)
	simd.For[float64]().Axpy(f.residual, f.v, -1)
	best, zero, err := f.pool.Best(f.residual)
	return f.space.chooseDirection(best, zero, err)
}
