package selection

// Greedy k-means++ (paper, "Other options"; Celebi et al., 2013): each step draws
// several candidates as k-means++ does and keeps the one that leaves the
// smallest sum of squared distances,
//
//	NEXT = argmin_{x drawn} Σ_y w(y)·min(d(y)², d_k(x, y)²)
//
// over the target distribution, which is the pool unless another one is given.

import (
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// GreedyKMeansPP draws several rows a step and keeps the best.
type GreedyKMeansPP[T matrix.Float] struct {
	Candidates int // draws a step; zero means 2 + ⌊ln N_batch⌋
}

// Name returns "greedy-kmeanspp".
func (GreedyKMeansPP[T]) Name() string { return "greedy-kmeanspp" }

// Init starts with no distances.
func (m GreedyKMeansPP[T]) Init(s *Space[T]) (Forward, error) {
	if m.Candidates < 0 {
		return nil, &MethodError{m.Name(), "the number of candidates must not be negative"}
	}
	f := &greedyKMeansPP[T]{sampler: newSampler(s), candidates: m.Candidates}
	if f.candidates == 0 {
		f.candidates = 2 + int(math.Log(float64(s.Batch())))
	}
	of := f.judged().of
	f.fresh = alloc[T](s, of.rows.Rows)
	return f, nil
}

type greedyKMeansPP[T matrix.Float] struct {
	*sampler[T]
	candidates int
	fresh      []T
}

// judged is the set whose distances are to become small.
func (f *greedyKMeansPP[T]) judged() *nearest[T] {
	if f.target != nil {
		return f.target
	}
	return f.pool
}

// Next draws candidates; the score is the sum of squared distances that the best
// one leaves, negative, so that more is better.
func (f *greedyKMeansPP[T]) Next() (Choice, error) {
	if f.empty() {
		return f.first()
	}
	best, least := -1, math.Inf(1)
	f.weighByDistance()
	for range f.candidates {
		row, err := f.pick()
		if err != nil {
			return Choice{}, err
		}
		left, err := f.potential(row)
		if err != nil {
			return Choice{}, err
		}
		if left < least || left == least && row < best {
			best, least = row, left
		}
	}
	return f.choose(best, -least), nil
}

// potential is the sum of squared distances with one more row selected.
func (f *greedyKMeansPP[T]) potential(row int) (float64, error) {
	of := f.judged()
	if err := f.space.sqDist(f.fresh, of.of, row); err != nil {
		return 0, err
	}
	sums := make([]float64, pieces(len(f.fresh), scanPiece))
	overPieces(len(f.fresh), scanPiece, func(piece, from, to int) {
		for i := from; i < to; i++ {
			d := float64(min(f.fresh[i], of.dist[i]))
			if f.target == nil {
				d *= f.weight(i)
			}
			sums[piece] += d
		}
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return total, nil
}
