package space

// What a row would take from the squared distances of all rows as a centre: nothing
// from rows that are nearer to another one. Boxes around groups of rows rule out most of
// them unseen.

import (
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/nearest"
)

const (
	boxPiece      = 16                         // boxes that a thread takes at a time
	groupsOfBlock = sumBlock / nearest.BoxRows // exactly: 2¹⁴ rows are halved until 64 are left
)

func (f *memoryNearest[T]) Gains(sums []float64, rows matrix.Dense[T], diag []T) error {
	var blocks matrix.Dense[float64] // what each block adds to sums
	if f.space.kernel == nil {
		blocks = sumRuns(f.gainsInBoxes(rows), groupsOfBlock/boxPiece)
	} else {
		var err error
		if blocks, err = f.gainsByKernel(rows, diag); err != nil {
			return err
		}
	}
	for i := range blocks.Rows {
		simd.For[float64]().Axpy(sums, blocks.Row(i), 1)
	}
	return nil
}

func (f *memoryNearest[T]) gainsInBoxes(rows matrix.Dense[T]) matrix.Dense[float64] {
	if f.boxes == nil {
		eachBlock(f.of.rows.Rows, func(from, to int) {
			f.boxes = append(f.boxes,
				nearest.NewBoxes(f.of.rows.Slice(from, to)))
		})
	}
	places := make([][][]float64, rows.Rows)
	for c := range places {
		for _, b := range f.boxes {
			places[c] = append(places[c], b.Place(rows.Row(c)))
		}
	}
	last := len(f.boxes) - 1
	groups := last*groupsOfBlock + len(f.boxes[last].Groups)
	parts := matrix.New[float64](linalg.Pieces(groups, boxPiece), 1+rows.Rows)
	f.space.team.OverPieces(groups, boxPiece, func(piece, from, to int) {
		part, block := parts.Row(piece), from/groupsOfBlock
		boxes, first := f.boxes[block], block*sumBlock
		for group := from - block*groupsOfBlock; group < to-block*groupsOfBlock; group++ {
			sum, top := f.present(first, boxes.Groups[group])
			part[0] += sum
			for c := range places {
				if top > 0 && (f.space.Plain || !boxes.Beyond(places[c][block], group, top)) {
					part[1+c] += f.gain(rows.Row(c), first, boxes.Groups[group])
				}
			}
		}
	})
	return parts
}

// present returns the sum of the weighted squared distances of a group, and the largest
// distance. The rows of the group are numbered from first on.
func (f *memoryNearest[T]) present(first int, group []int32) (sum float64, top T) {
	for _, i := range group {
		d := f.search.Dist[first+int(i)]
		top = max(top, d)
		sum += f.weight(first+int(i)) * float64(d)
	}
	return sum, top
}

// gain is what a row takes from the distances of a group.
func (f *memoryNearest[T]) gain(row []T, first int, group []int32) float64 {
	var fresh [nearest.BoxRows]T
	block := f.of.rows.Slice(first, min(first+sumBlock, f.of.rows.Rows))
	simd.For[T]().SqDistListed(fresh[:len(group)], row, block.Data, block.Stride, group)
	sum := 0.0
	for k, i := range group {
		if d := f.search.Dist[first+int(i)]; fresh[k] < d {
			sum += f.weight(first+int(i)) * (float64(d) - float64(fresh[k]))
		}
	}
	return sum
}

func (f *memoryNearest[T]) gainsByKernel(rows matrix.Dense[T], diag []T) (matrix.Dense[float64], error) {
	dist := f.search.Dist
	blocks := matrix.New[float64](linalg.Pieces(len(dist), sumBlock), 1+rows.Rows)
	f.space.team.OverPieces(len(dist), sumBlock, func(block, from, to int) {
		for i := from; i < to; i++ {
			blocks.Row(block)[0] += f.weight(i) * float64(dist[i])
		}
	})
	return blocks, f.eachKernelRow(rows, diag, func(c int, fresh []T) {
		f.space.team.OverPieces(len(dist), sumBlock, func(block, from, to int) {
			for i := from; i < to; i++ {
				blocks.Row(block)[1+c] += f.weight(i) * (float64(dist[i]) - float64(min(fresh[i], dist[i])))
			}
		})
	})
}

// sumRuns adds up every run of consecutive rows; run is their number.
func sumRuns(parts matrix.Dense[float64], run int) matrix.Dense[float64] {
	sums := matrix.New[float64](linalg.Pieces(parts.Rows, run), parts.Cols)
	for i := range parts.Rows {
		simd.For[float64]().Axpy(sums.Row(i/run), parts.Row(i), 1)
	}
	return sums
}
