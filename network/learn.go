package network

import (
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// learner computes the gradient of the parameters of one layer after the other,
//
//	∂loss/∂W̃_l = x̃_lᵀ·g_l,
//
// and lets Adam change them as soon as their gradient is known. The caller has
// used W̃_l for the last time before.
//
// The sum over the rows of the mini-batch runs in the same order for any threads;
// the work is cut along the parameters.
type learner struct {
	adam    *adam
	written []corner // of each layer's gradient, by the last step
	update  updateAll
	columns learnColumns
}

const (
	// With fewer than fewRows rows in W̃, its columns are divided among the threads.
	fewRows     = 64
	columnPiece = 64
	updatePiece = 1 << 14
)

func (n *learner) learn(p *pass, l int) {
	x, _ := p.operands(l)
	g := p.gradient(l)
	gradient, offset := p.net.layer(n.adam.gradient, l), p.net.offsets[l]
	switch {
	case gradient.Rows <= fewRows:
		n.columns = learnColumns{p.team, n.adam, offset, gradient, p.in[l].Slice(0, p.n), g}
		p.team.Run(ceilDiv(gradient.Cols, columnPiece), &n.columns)
	default:
		// Adam after the product, not as its end: the moments would push the
		// operands out of the cache, which costs more than reading the
		// gradient again.
		row, column := gradient.Rows-x.Cols, gradient.Cols-g.Cols
		linalg.GemmSplit(p.team, gradient.Block(row, gradient.Rows, column, gradient.Cols), 1, x, linalg.Trans, g,
			linalg.NoTrans, 0, nil)
		n.clear(gradient, &n.written[l], corner{row, column})
		n.update = updateAll{n.adam, offset, len(gradient.Data)}
		p.team.Run(ceilDiv(len(gradient.Data), updatePiece), &n.update)
	}
}

// corner is the first row and column of the part of a gradient that may not be
// zero.
type corner struct{ row, column int }

// clear zeroes what an earlier step wrote of a gradient, but this one does not.
func (n *learner) clear(gradient matrix.Dense[Real], before *corner, now corner) {
	for i := before.row; i < gradient.Rows; i++ {
		end := now.column
		if i < now.row {
			end = gradient.Cols
		}
		if before.column < end {
			clear(gradient.Row(i)[before.column:end])
		}
	}
	*before = now
}

// updateAll takes the step of Adam for a layer, piece by piece: the hardware prefetches
// long runs of memory.
type updateAll struct {
	adam           *adam
	offset, length int
}

func (u *updateAll) Do(part, _ int) {
	from, to := part*updatePiece, min((part+1)*updatePiece, u.length)
	u.adam.update(u.offset+from, u.offset+to)
}

// learnColumns is gradient and step for a layer of few inputs, cut along its outputs.
type learnColumns struct {
	team           *linalg.Team // that is at work here: products inside a part stay in their thread
	adam           *adam
	offset         int
	gradient, x, g matrix.Dense[Real]
}

func (j *learnColumns) Do(part, _ int) {
	c0, c1 := part*columnPiece, min((part+1)*columnPiece, j.gradient.Cols)
	skip := j.gradient.Cols - j.g.Cols // leading columns that are zero
	from := min(max(c0, skip), c1)
	if from < c1 {
		to, g := j.gradient.Block(0, j.gradient.Rows, from, c1), j.g.Block(0, j.g.Rows, from-skip, c1-skip)
		linalg.Gemm(j.team, to, 1, j.x, linalg.Trans, g, linalg.NoTrans, 0)
	}
	for i := range j.gradient.Rows {
		clear(j.gradient.Row(i)[c0:from])
		start := j.offset + i*j.gradient.Cols
		j.adam.update(start+c0, start+c1)
	}
}
