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
	f.fresh = allocMatrix[T](s, f.candidates, f.judged().of.rows.Rows)
	return f, nil
}

func (GreedyKMeansPP[T]) scaleFree() {}

type greedyKMeansPP[T matrix.Float] struct {
	*sampler[T]
	candidates int
	fresh      matrix.Dense[T] // squared distances from each candidate
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
	f.weighByDistance()
	drawn := make([]int, f.candidates)
	for i := range drawn {
		var err error
		if drawn[i], err = f.pick(); err != nil {
			return Choice{}, err
		}
	}
	left, err := f.potentials(drawn)
	if err != nil {
		return Choice{}, err
	}
	best := 0
	for i := range drawn {
		if left[i] < left[best] || left[i] == left[best] && drawn[i] < drawn[best] {
			best = i
		}
	}
	return Choice{Row: drawn[best], Score: -f.space.inUnits(left[best], 2), Cluster: f.clusterOf(drawn[best])}, nil
}

// potentials returns the sum of squared distances with one more row selected,
// for each of several rows.
func (f *greedyKMeansPP[T]) potentials(rows []int) ([]float64, error) {
	of := f.judged()
	if err := f.space.sqDistMany(f.fresh, of.of, rows); err != nil {
		return nil, err
	}
	parts := matrix.New[float64](pieces(len(of.dist), scanPiece), len(rows))
	overPieces(len(of.dist), scanPiece, func(piece, from, to int) {
		for c := range rows {
			sum, fresh := 0.0, f.fresh.Row(c)
			for i := from; i < to; i++ {
				d := float64(min(fresh[i], of.dist[i]))
				if f.target == nil {
					d *= f.weight(i)
				}
				sum += d
			}
			parts.Set(piece, c, sum)
		}
	})
	sums := make([]float64, len(rows))
	for piece := range parts.Rows {
		for c, v := range parts.Row(piece) {
			sums[c] += v
		}
	}
	return sums, nil
}
