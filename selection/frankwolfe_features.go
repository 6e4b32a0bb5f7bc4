package selection

// FrankWolfe in feature space (paper, algorithm of that name), X_cand the pool
// and, in mode TP, the training rows:
//
//	INIT    c[x] = ‖φ(x)‖,  r = Σ c,  φ̃(x) = φ(x)/c[x],  u = Σ φ(x),  v = 0
//	ADD(x)  γ = ⟨rφ̃(x) − v, u − v⟩ / ‖rφ̃(x) − v‖²,  v = (1−γ)v + γrφ̃(x)
//	NEXT    argmax ⟨φ̃(x), u − v⟩
//
// frankwolfe_bounds.go says which rows can be the best, and only the scores of
// these are computed.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

type frankWolfeFeatures[T matrix.Float] struct {
	space       *Space[T]
	pool, train matrix.Dense[float64]
	c           []float64 // norms of the pool rows
	r           float64
	u, v        []float64
	rest        []float64 // u − v
	scores      []float64 // or above them
	bounds      *frankWolfeBounds
}

func newFrankWolfeFeatures[T matrix.Float](s *Space[T], name string) (Forward, error) {
	pool, train, _, err := wideFeatures(s, name)
	if err != nil {
		return nil, err
	}
	d := pool.Cols
	f := &frankWolfeFeatures[T]{space: s, pool: pool, train: train, c: matrix.Alloc[float64](pool.Rows),
		u: make([]float64, d), v: make([]float64, d), rest: make([]float64, d), scores: matrix.Alloc[float64](pool.Rows)}
	f.bounds = newFrankWolfeBounds(s, pool)
	f.survey(pool, f.c, f.bounds)
	if s.Mode() == TP {
		f.survey(train, make([]float64, train.Rows), nil)
	}
	return f, nil
}

// surveyed is the number of rows that a thread sums up at a time: a block of sums
// has several such pieces.
const surveyed = sumBlock / 8

// survey writes the norms of rows to c and adds rows to u and norms to r. bounds,
// if there are any, learn the rows.
func (f *frankWolfeFeatures[T]) survey(rows matrix.Dense[float64], c []float64, bounds *frankWolfeBounds) {
	set := simd.For[float64]()
	tally.Rows[float64](f.space.tally, rows.Rows, rows.Cols)
	if bounds != nil {
	}
	sums := matrix.New[float64](linalg.Pieces(rows.Rows, surveyed), rows.Cols)
	f.space.team.OverPieces(rows.Rows, surveyed, func(piece, from, to int) {
		for i := from; i < to; i++ {
			c[i] = math.Sqrt(set.SumSquares(rows.Row(i)))
			set.Axpy(sums.Row(piece), rows.Row(i), 1)
			if bounds != nil {
				bounds.rows.set(i, rows.Row(i), 0)
			}
		}
	})
	blocks := sumRuns(sums, sumBlock/surveyed)
	for block := range blocks.Rows {
		set.Axpy(f.u, blocks.Row(block), 1)
	}
	f.r = addSum(f.r, c)
}

// Add moves v towards each of the rows.
func (f *frankWolfeFeatures[T]) Add(candidates []int) error {
	for _, x := range candidates {
		f.add(rowOf(f.pool, f.train, x))
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
	copy(f.rest, f.u)
	set.Axpy(f.rest, f.v, -1)
	set.Axpy(f.v, way, set.Dot(way, f.rest)/square)
}

// Next returns the row whose direction is closest to what is missing.
func (f *frankWolfeFeatures[T]) Next() (Choice, error) {
	copy(f.rest, f.u)
	simd.For[float64]().Axpy(f.rest, f.v, -1)
	f.space.tally.Pairs(int64(f.pool.Rows), 0)
	if f.bounds.ready() {
		f.scoreByBounds()
	} else {
		f.space.team.OverPieces(f.pool.Rows, readPiece, func(_, from, to int) { f.scoreAll(from, to) })
		f.countScores(int64(f.pool.Rows))
	}
	return bestDirection(f.space, f.scores)
}

func (f *frankWolfeFeatures[T]) countScores(rows int64) {
	f.space.tally.Pairs(0, rows)
	tally.Rows[float64](f.space.tally, int(rows), f.pool.Cols)
}

// scoreAll computes the scores of the rows from from to to-1.
func (f *frankWolfeFeatures[T]) scoreAll(from, to int) {
	part := f.pool.Slice(from, to)
	simd.For[float64]().DotRows(f.scores[from:to], f.rest, part.Data, part.Stride)
	for i := from; i < to; i++ {
		f.scores[i] = perNorm(f.scores[i], f.c[i])
	}
}

// perNorm divides a score by a norm. Without a direction it is below all others.
func perNorm(score, norm float64) float64 {
	if norm == 0 {
		return math.Inf(-1)
	}
	return score / norm
}
