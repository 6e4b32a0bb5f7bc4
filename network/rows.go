package network

import (
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// piece is the number of rows that the jobs below give to a thread at a time: enough to
// be worth it, few enough to divide a mini-batch.
const piece = 32

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// loadRows copies rows of x, scaled, to dst, which has one more column.
type loadRows struct {
	set   *simd.Set[Real]
	dst   matrix.Dense[Real]
	x     matrix.Dense[Real]
	rows  []int // nil means all
	scale Real
}

func (j *loadRows) Do(part, _ int) {
	for i := part * piece; i < min((part+1)*piece, j.dst.Rows); i++ {
		from := i
		if j.rows != nil {
			from = j.rows[i]
		}
		to := j.dst.Row(i)[:j.x.Cols]
		copy(to, j.x.Row(from))
		j.set.ScaleAdd(to, to, 0, j.scale)
	}
}

// rowProducts writes x·w to dst: a layer with a single output.
type rowProducts struct {
	set *simd.Set[Real]
	dst []Real
	x   matrix.Dense[Real]
	w   []Real
}

func (j *rowProducts) Do(part, _ int) {
	from, to := part*piece, min((part+1)*piece, j.x.Rows)
	j.set.DotRows(j.dst[from:to], j.w, j.x.Slice(from, to).Data, j.x.Stride)
}

// outerProducts is the backward product of a layer with a single output: row i
// of the result is scale·g[i]·w, bent.
type outerProducts struct {
	bend  *bend
	g     matrix.Dense[Real] // one column
	w     []Real
	scale Real
}

func (j *outerProducts) Do(part, _ int) {
	for i := part * piece; i < min((part+1)*piece, j.g.Rows); i++ {
		j.row(i)
	}
}

func (j *outerProducts) row(i int) {
	to := j.bend.g.Row(i)
	j.bend.row(to, j.w, i, 0, len(to))
	j.bend.set.ScaleAdd(to, to, 0, j.scale*j.g.At(i, 0))
}
