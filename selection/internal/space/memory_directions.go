package space

// FrankWolfe's scores of rows in memory, in float64. memory_directions_bounds.go finds the
// rows that can be the best, and only their scores are computed.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

type memoryDirections[T matrix.Float] struct {
	*memoryRows[T]
	pool     *rowsInFloat64
	c        []float64 // norms of the rows
	scores   []float64 // or upper bounds
	residual []float64 // u − v, which the scores are for
	bounds   *frankWolfeBounds
}

func (m *memoryRows[T]) Directions() (Directions, error) {
	if m.space.kernel != nil {
		return nil, &place.MethodError{Method: "frankwolfe", Reason: "it needs features, but the kernel has no explicit ones"}
	}
	pool := inFloat64(m.space, m.of)
	return &memoryDirections[T]{memoryRows: m, pool: pool, c: matrix.Alloc[float64](pool.Rows),
		scores: matrix.Alloc[float64](pool.Rows),
		bounds: newFrankWolfeBounds(m.space, pool)}, nil
}

// surveyed is the number of rows that a thread sums up at a time: a block of sums
// has several such pieces.
const surveyed = sumBlock / 8

// Sums also measures the rows, for the scores and their bounds.
func (f *memoryDirections[T]) Sums(u []float64, r float64) float64 {
	set := simd.For[float64]()
	tally.Rows[float64](f.space.tally, f.pool.Rows, f.pool.Cols)
	sums := matrix.New[float64](linalg.Pieces(f.pool.Rows, surveyed), f.pool.Cols)
	f.space.team.OverPieces(f.pool.Rows, surveyed, func(piece, from, to int) {
		part, buffer := f.pool.read(from, to)
		defer buffer.end()
		for i := from; i < to; i++ {
			phi := part.Row(i - from)
			f.c[i] = math.Sqrt(set.SumSquares(phi))
			set.Axpy(sums.Row(piece), phi, 1)
			if f.bounds != nil {
				f.bounds.rows.set(i, phi, 0)
			}
		}
	})
	blocks := sumRuns(sums, sumBlock/surveyed)
	for block := range blocks.Rows {
		set.Axpy(u, blocks.Row(block), 1)
	}
	return addSum(r, f.c)
}

// AddRow leaves v to the caller.
func (f *memoryDirections[T]) AddRow(int) bool { return false }

func (f *memoryDirections[T]) Best(u, v []float64, _ float64) (best Found, zero bool, err error) {
	f.residual = append(f.residual[:0], u...)
	simd.For[float64]().Axpy(f.residual, v, -1)
	f.space.tally.Pairs(int64(f.pool.Rows), 0)
	if f.bounds.ready() {
		f.scoreByBounds()
	} else {
		f.space.team.OverPieces(f.pool.Rows, readPiece, func(_, from, to int) { f.scoreAll(from, to) })
		f.countScores(int64(f.pool.Rows))
	}
	return bestDirection(f.space.team, f.scores, f.open)
}

func (f *memoryDirections[T]) countScores(rows int64) {
	f.space.tally.Pairs(0, rows)
	tally.Rows[float64](f.space.tally, int(rows), f.pool.Cols)
}

// scoreAll computes the scores of the rows from from to to-1.
func (f *memoryDirections[T]) scoreAll(from, to int) {
	part, buffer := f.pool.read(from, to)
	defer buffer.end()
	simd.For[float64]().DotRows(f.scores[from:to], f.residual, part.Data, part.Stride)
	for i := from; i < to; i++ {
		f.scores[i] = perNorm(f.scores[i], f.c[i])
	}
}

// perNorm divides a score by a norm. A row without a direction comes after all others.
func perNorm(score, norm float64) float64 {
	if norm == 0 {
		return math.Inf(-1)
	}
	return score / norm
}

// bestDirection returns the open row of largest score, and whether all open rows with a
// direction have the score 0.
func bestDirection(team *linalg.Team, scores []float64, open []bool) (best Found, zero bool, err error) {
	row, err := bestOpen(team, scores, open)
	if err != nil || row < 0 {
		return Found{-1, math.Inf(-1)}, true, err
	}
	return Found{row, scores[row]}, scores[row] == 0 && allZero(scores, open), nil
}

// allZero reports whether all open rows with a direction have the score 0.
func allZero(scores []float64, open []bool) bool {
	for i, s := range scores {
		if open[i] && s != 0 && !math.IsInf(s, -1) {
			return false
		}
	}
	return true
}
