package selection

import (
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
)

// TestFrankWolfeLeavesOut compares picks and their scores with those of the
// version that computes all scores, to the last bit.
func TestFrankWolfeLeavesOut(t *testing.T) {
	for name, f := range hardRows() {
		p := Problem[float64]{Pool: hardMatrix[float64](f, 2100, 1), Train: hardMatrix[float64](f, 40, 2), Batch: 60}
		clear(p.Pool.Row(5))
		for _, mode := range []Mode{P, TP} {
			p.Mode, p.Plain = mode, true
			p.Constraints = Constraints{Exclude: []int{1, 700}, Require: []int{4, 2}}
			want, err := selectCounted(t.Context(), FrankWolfe[float64]{}, p)
			must(t, err)
			p.Plain = false
			for threads := range 2 {
				got, err := selectCounted(linalg.WithThreads(t.Context(), threads), FrankWolfe[float64]{}, p)
				must(t, err)
				if !slices.Equal(got.Picks, want.Picks) {
					t.Errorf("%s, %s: %v, plain %v", name, mode, got.Rows(), want.Rows())
				}
				if got.Computed() > want.Computed() {
					t.Errorf("%s, %s: a share of %v was computed", name, mode, got.Computed())
				}
			}
		}
	}
}

// TestFrankWolfeBoundsHold compares bounds and scores of all rows in each step,
// those that begin with an earlier product among them.
func TestFrankWolfeBoundsHold(t *testing.T) {
	for name, rows := range hardRows() {
		s := mustSpace(t, Problem[float64]{Pool: hardMatrix[float64](rows, 2100, 1), Batch: 40})
		state, err := newFrankWolfeFeatures(s)
		must(t, err)
		f := state.(*frankWolfeFeatures[float64])
		pool := f.pool.(*memoryDirections[float64])
		for step := range 12 {
			copy(f.residual, f.u)
			simd.For[float64]().Axpy(f.residual, f.v, -1)
			pool.residual = f.residual
			pool.bounds.take(f.residual)
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
			must(t, f.Add([]int{step * 61}))
		}
	}
}
