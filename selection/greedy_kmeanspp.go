package selection

// Greedy k-means++ (paper, "Other options"; Celebi et al., 2013): each step draws
// several candidates as k-means++ does and keeps the one that leaves the
// smallest sum of squared distances, which is the one that takes most from it,
//
//	NEXT = argmax_{x drawn} Σ_y w(y)·max(d(y)² − d_k(x, y)², 0)
//
// over the target distribution, which is the pool unless another one is given. A
// candidate takes nothing from rows that are nearer to a selected one; boxes.go
// rules out most of them unseen.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
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
	if s.kernel == nil {
		f.boxes = newBoxes(of.rows)
	} else {
		f.fresh = allocMatrix[T](s, f.candidates, of.rows.Rows)
	}
	return f, nil
}

func (GreedyKMeansPP[T]) scaleFree() {}

type greedyKMeansPP[T matrix.Float] struct {
	*sampler[T]
	candidates int
	boxes      *boxes[T]       // of the judged rows; nil without features
	fresh      matrix.Dense[T] // squared distances from each candidate, without features
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
	total, gains, err := f.gains(drawn)
	if err != nil {
		return Choice{}, err
	}
	best := 0
	for i := range drawn {
		if gains[i] > gains[best] || gains[i] == gains[best] && drawn[i] < drawn[best] {
			best = i
		}
	}
	left := max(total-gains[best], 0)
	return Choice{Row: drawn[best], Score: -f.space.inUnits(left, 2), Cluster: f.clusterOf(drawn[best])}, nil
}

// gains returns the sum of squared distances, and what each of several rows would
// take from it.
func (f *greedyKMeansPP[T]) gains(rows []int) (total float64, gains []float64, err error) {
	var parts matrix.Dense[float64] // total and gains of each piece
	if f.boxes != nil {
		parts = f.gainsInBoxes(rows)
	} else if parts, err = f.gainsByKernel(rows); err != nil {
		return 0, nil, err
	}
	gains = make([]float64, len(rows))
	for piece := range parts.Rows {
		part := parts.Row(piece)
		total += part[0]
		for c, v := range part[1:] {
			gains[c] += v
		}
	}
	return total, gains, nil
}

func (f *greedyKMeansPP[T]) gainsInBoxes(rows []int) matrix.Dense[float64] {
	drawn, places := make([][]T, len(rows)), make([][]float64, len(rows))
	for c, x := range rows {
		row, _ := f.space.row(x)
		drawn[c], places[c] = row.Row(0), f.boxes.place(row.Row(0))
	}
	parts := matrix.New[float64](pieces(len(f.boxes.groups), boxPiece), 1+len(rows))
	overPieces(f.space.team, len(f.boxes.groups), boxPiece, func(piece, from, to int) {
		part, dist := parts.Row(piece), f.judged().dist
		for group := from; group < to; group++ {
			top := T(0)
			for _, i := range f.boxes.groups[group] {
				top = max(top, dist[i])
				part[0] += f.worth(int(i), float64(dist[i]))
			}
			if top == 0 {
				continue
			}
			for c, row := range drawn {
				if f.space.plain || !f.boxes.beyond(places[c], group, top) {
					part[1+c] += f.gain(row, f.boxes.groups[group])
				}
			}
		}
	})
	return parts
}

// gain is what a row takes from the distances of a group.
func (f *greedyKMeansPP[T]) gain(row []T, group []int32) float64 {
	of := f.judged()
	var fresh [boxRows]T
	simd.For[T]().SqDistListed(fresh[:len(group)], row, of.of.rows.Data, of.of.rows.Stride, group)
	sum := 0.0
	for k, i := range group {
		if d := of.dist[i]; fresh[k] < d {
			sum += f.worth(int(i), float64(d)-float64(fresh[k]))
		}
	}
	return sum
}

func (f *greedyKMeansPP[T]) gainsByKernel(rows []int) (matrix.Dense[float64], error) {
	of := f.judged()
	for c, x := range rows {
		if err := f.space.sqDist(f.fresh.Row(c), of.of, x); err != nil {
			return matrix.Dense[float64]{}, err
		}
	}
	parts := matrix.New[float64](pieces(len(of.dist), scanPiece), 1+len(rows))
	overPieces(f.space.team, len(of.dist), scanPiece, func(piece, from, to int) {
		part := parts.Row(piece)
		for i := from; i < to; i++ {
			part[0] += f.worth(i, float64(of.dist[i]))
			for c := range rows {
				part[1+c] += f.worth(i, float64(of.dist[i])-float64(min(f.fresh.Row(c)[i], of.dist[i])))
			}
		}
	})
	return parts, nil
}

// worth is a squared distance of a judged row, by the weight of the row.
func (f *greedyKMeansPP[T]) worth(row int, squared float64) float64 {
	if f.target != nil {
		return squared
	}
	return f.weight(row) * squared
}
