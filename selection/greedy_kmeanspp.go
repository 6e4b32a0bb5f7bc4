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

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/nearest"
)

// boxPiece is the number of boxes that a thread takes at a time.
const boxPiece = 16

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
		eachBlock(of.rows.Rows, func(from, to int) { f.boxes = append(f.boxes, nearest.NewBoxes(of.rows.Slice(from, to))) })
	} else {
		f.fresh = matrix.New[T](f.candidates, of.rows.Rows)
	}
	return f, nil
}

func (GreedyKMeansPP[T]) scaleFree() {}

type greedyKMeansPP[T matrix.Float] struct {
	*sampler[T]
	candidates int
	boxes      []*nearest.Boxes[T] // of each block of the judged rows; nil without features
	fresh      matrix.Dense[T]     // squared distances from each candidate, without features
}

// judged is the set whose distances are to become small.
func (f *greedyKMeansPP[T]) judged() *nearestRows[T] {
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
	var blocks matrix.Dense[float64] // total and gains of each block
	if f.boxes != nil {
		blocks = sumRuns(f.gainsInBoxes(rows), sumBlock/(nearest.BoxRows*boxPiece))
	} else if blocks, err = f.gainsByKernel(rows); err != nil {
		return 0, nil, err
	}
	sums := sumRuns(blocks, max(1, blocks.Rows)).Row(0)
	return sums[0], sums[1:], nil
}

func (f *greedyKMeansPP[T]) gainsInBoxes(rows []int) matrix.Dense[float64] {
	const groupsOfBlock = sumBlock / nearest.BoxRows // exactly: 2¹⁴ rows are halved until 64 are left
	drawn, places := make([][]T, len(rows)), make([][][]float64, len(rows))
	for c, x := range rows {
		row, _ := f.space.row(x)
		drawn[c] = row.Row(0)
		for _, b := range f.boxes {
			places[c] = append(places[c], b.Place(drawn[c]))
		}
	}
	last := len(f.boxes) - 1
	groups := last*groupsOfBlock + len(f.boxes[last].Groups)
	parts := matrix.New[float64](linalg.Pieces(groups, boxPiece), 1+len(rows))
	f.space.team.OverPieces(groups, boxPiece, func(piece, from, to int) {
		part, block := parts.Row(piece), from/groupsOfBlock
		boxes, first := f.boxes[block], block*sumBlock
		for number := from; number < to; number++ {
			group := boxes.Groups[number-block*groupsOfBlock]
			sum, top := f.present(first, group)
			part[0] += sum
			for c, row := range drawn {
				if top > 0 && (f.space.plain || !boxes.Beyond(places[c][block], number-block*groupsOfBlock, top)) {
					part[1+c] += f.gain(row, first, group)
				}
			}
		}
	})
	return parts
}

// present returns the sum of the squared distances of a group, and the largest.
// The rows of the group are numbered from first on.
func (f *greedyKMeansPP[T]) present(first int, group []int32) (sum float64, top T) {
	for _, i := range group {
		d := f.judged().Dist[first+int(i)]
		top = max(top, d)
		sum += f.worth(first+int(i), float64(d))
	}
	return sum, top
}

// gain is what a row takes from the distances of a group.
func (f *greedyKMeansPP[T]) gain(row []T, first int, group []int32) float64 {
	of := f.judged()
	var fresh [nearest.BoxRows]T
	block := of.of.rows.Slice(first, min(first+sumBlock, of.of.rows.Rows))
	simd.For[T]().SqDistListed(fresh[:len(group)], row, block.Data, block.Stride, group)
	sum := 0.0
	for k, i := range group {
		if d := of.Dist[first+int(i)]; fresh[k] < d {
			sum += f.worth(first+int(i), float64(d)-float64(fresh[k]))
		}
	}
	return sum
}

// sumRuns adds up runs of so many rows.
func sumRuns(parts matrix.Dense[float64], run int) matrix.Dense[float64] {
	sums := matrix.New[float64](linalg.Pieces(parts.Rows, run), parts.Cols)
	for i := range parts.Rows {
		simd.For[float64]().Axpy(sums.Row(i/run), parts.Row(i), 1)
	}
	return sums
}

func (f *greedyKMeansPP[T]) gainsByKernel(rows []int) (matrix.Dense[float64], error) {
	of := f.judged()
	for c, x := range rows {
		if err := f.space.sqDist(f.fresh.Row(c), of.of, x); err != nil {
			return matrix.Dense[float64]{}, err
		}
	}
	parts := matrix.New[float64](linalg.Pieces(len(of.Dist), sumBlock), 1+len(rows))
	f.space.team.OverPieces(len(of.Dist), sumBlock, func(block, from, to int) {
		part := parts.Row(block)
		for i := from; i < to; i++ {
			part[0] += f.worth(i, float64(of.Dist[i]))
			for c := range rows {
				part[1+c] += f.worth(i, float64(of.Dist[i])-float64(min(f.fresh.Row(c)[i], of.Dist[i])))
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
