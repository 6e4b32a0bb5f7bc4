package space

import (
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
)

// TestFrankWolfeBoundsHold compares bounds and scores of all rows in each step,
// those that begin with an earlier product among them.
func TestFrankWolfeBoundsHold(t *testing.T) {
	for name, kind := range hardrows.Some() {
		rows := hardrows.Matrix[float64](kind, 2100, 150, 1)
		s := mustSpace(t, Source[float64]{Pool: rows, Use: Use{Batch: 40}})
		directions, err := s.Directions()
		must(t, err)
		pool := directions.(*memoryDirections[float64])
		u, v, set := make([]float64, rows.Cols), make([]float64, rows.Cols), simd.For[float64]()
		r := pool.Sums(u, 0)
		for step := range 12 {
			pool.residual = slices.Clone(u)
			set.Axpy(pool.residual, v, -1)
			pool.bounds.take(pool.residual)
			(*linalg.Team)(nil).OverPieces(len(pool.c), readPiece, pool.boundPiece)
			for row, bound := range pool.scores {
				pool.scoreListed(row, []int32{0})
				if pool.scores[row] > bound {
					t.Fatalf("%s, step %d: the score of row %d is %v, its bound %v", name, step, row, pool.scores[row], bound)
				}
				if (row+step)%3 == 0 {
					pool.bounds.when[row] = 0
				}
			}
			moveTowards(v, u, rows.Row(step*61), r)
		}
	}
}

// moveTowards moves v towards a row, as ADD of FrankWolfe does.
func moveTowards(v, u, phi []float64, r float64) {
	set := simd.For[float64]()
	way, residual := make([]float64, len(phi)), slices.Clone(u)
	if norm := math.Sqrt(set.SumSquares(phi)); norm > 0 {
		set.Axpy(way, phi, r/norm)
	}
	set.Axpy(way, v, -1)
	set.Axpy(residual, v, -1)
	if square := set.SumSquares(way); square > 0 {
		set.Axpy(v, way, set.Dot(way, residual)/square)
	}
}
