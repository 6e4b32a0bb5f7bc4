package incontext

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

const headSize = 32 // of attention

// network is weights. It does not change.
type network struct {
	width, heads   int
	expanded       int // width of the small networks
	cell, label    embedding
	name           *linalg.Packed[float32]
	thinking       matrix.Dense[float32] // rows of the network's own, before all others
	blocks         []block
	lastGain       []float32
	hidden, answer affine
	edges          []float64 // of the bins of a standardised label
}

type block struct {
	columnGain, rowGain, gain []float32
	columnIn, columnOut       *linalg.Packed[float32] // queries, keys and values from tokens, and back
	rowIn, rowOut             *linalg.Packed[float32]
	up, down                  *linalg.Packed[float32]
	sharpness                 []float32 // of attention over rows: a constant of each head, then one by the log of the rows
}

// affine is x ↦ x·Wᵀ + b.
type affine struct {
	weights *linalg.Packed[float32]
	bias    []float32
}

func (a affine) of(x matrix.Dense[float32]) matrix.Dense[float32] {
	y := matrix.New[float32](x.Rows, len(a.bias))
	a.weights.Mul(y, 1, x)
	for i := range y.Rows {
		vectors.Axpy(y.Row(i), a.bias, 1)
	}
	return y
}

// embedding is a linear map and a small network beside it.
type embedding struct {
	straight, up affine
	down         *linalg.Packed[float32]
}

func (e embedding) of(x matrix.Dense[float32]) matrix.Dense[float32] {
	y, hidden := e.straight.of(x), e.up.of(x)
	silu(hidden.Data)
	more := matrix.New[float32](y.Rows, y.Cols)
	e.down.Mul(more, 1, hidden)
	vectors.Axpy(y.Data, more.Data, 1)
	return y
}

var vectors = simd.For[float32]()

// silu replaces x by x·σ(x).
func silu(x []float32) { vectors.SiLU(x, make([]float32, len(x)), x) }

// rms writes rows of deviation 1 around 0, times a gain.
func rms(to, from matrix.Dense[float32], gain []float32) {
	for i := range from.Rows {
		row := from.Row(i)
		mean := float64(vectors.SumSquares(row)) / float64(len(row))
		over := float32(1 / math.Sqrt(mean+1e-6))
		vectors.Mul(to.Row(i), row, gain)
		vectors.ScaleAdd(to.Row(i), row, over, 0)
	}
}

// tokens are those of some rows of a table: one for each pair of columns and one for the label. Those of the first pair
// come first, row by row.
type tokens struct {
	columns, rows int
	h             matrix.Dense[float32]
}

func (n *network) newTokens(columns, rows int) *tokens {
	return &tokens{columns, rows, matrix.New[float32](columns*rows, n.width)}
}

// column returns the tokens of a column from a row on.
func (t *tokens) column(c, from, to int) matrix.Dense[float32] {
	return t.h.Slice(c*t.rows+from, c*t.rows+to)
}

// reading is what the labelled rows, and those of the network's own, became in each block: the keys and values that
// other rows attend to, for each column.
type reading struct {
	columns, rows int
	kept          []matrix.Dense[float32] // of each block: keys and values of columns·rows tokens
}

// piece is how many tokens or rows one thread takes at once. Results do not depend on it.
const piece = 64

// pass sends tokens through the blocks. Rows attend to those of `from`; where that has not been filled, to their own,
// which it then keeps.
func (n *network) pass(team *linalg.Team, t *tokens, from *reading) {
	own := from.kept == nil
	if own {
		from.columns, from.rows = t.columns, t.rows
	}
	all := t.columns * t.rows
	qkv, mixed := matrix.New[float32](all, 3*n.width), matrix.New[float32](all, n.width)
	for i := range n.blocks {
		b := &n.blocks[i]
		team.OverPieces(all, piece, func(_, a, z int) {
			rms(mixed.Slice(a, z), t.h.Slice(a, z), b.columnGain)
			b.columnIn.Mul(qkv.Slice(a, z), 1, mixed.Slice(a, z))
		})
		team.OverPieces(t.rows, piece, func(_, a, z int) {
			for row := a; row < z; row++ {
				n.acrossColumns(mixed, qkv, t, row)
			}
		})
		sharp := b.sharpnessOf(from.rows)
		team.OverPieces(all, piece, func(_, a, z int) {
			n.add(t.h.Slice(a, z), mixed.Slice(a, z), b.columnOut)
			rms(mixed.Slice(a, z), t.h.Slice(a, z), b.rowGain)
			b.rowIn.Mul(qkv.Slice(a, z), 1, mixed.Slice(a, z))
		})
		if own {
			kept := matrix.New[float32](all, 2*n.width)
			matrix.Copy(kept, qkv.Block(0, all, n.width, 3*n.width))
			from.kept = append(from.kept, kept)
		}
		pieces := (t.rows + piece - 1) / piece
		team.OverPieces(t.columns*pieces, 1, func(k, _, _ int) {
			c, a := k/pieces, k%pieces*piece
			n.acrossRows(mixed, qkv, t, c, a, min(a+piece, t.rows), from, i, sharp)
		})
		team.OverPieces(all, piece, func(_, a, z int) {
			h, x := t.h.Slice(a, z), mixed.Slice(a, z)
			n.add(h, x, b.rowOut)
			rms(x, h, b.gain)
			hidden := matrix.New[float32](z-a, n.expanded)
			b.up.Mul(hidden, 1, x)
			silu(hidden.Data)
			n.add(h, hidden, b.down)
		})
	}
}

// add adds x·Wᵀ to h.
func (n *network) add(h, x matrix.Dense[float32], w *linalg.Packed[float32]) {
	more := matrix.New[float32](h.Rows, n.width)
	w.Mul(more, 1, x)
	vectors.Axpy(h.Data[:h.Rows*n.width], more.Data, 1)
}

// sharpnessOf returns by what the queries of each head are multiplied.
func (b *block) sharpnessOf(rows int) []float32 {
	heads := len(b.sharpness) / 2
	list := make([]float32, heads)
	for k := range list {
		list[k] = 1 + b.sharpness[k] + b.sharpness[heads+k]*float32(math.Log(float64(rows))-4)
	}
	return list
}

var scale = float32(1 / math.Sqrt(headSize))

// acrossColumns lets the tokens of a row attend to one another.
func (n *network) acrossColumns(to, qkv matrix.Dense[float32], t *tokens, row int) {
	weights := make([]float32, t.columns)
	for k := range n.heads {
		at := k * headSize
		for c := range t.columns {
			q := qkv.Row(c*t.rows + row)[at : at+headSize]
			for j := range t.columns {
				weights[j] = scale * vectors.Dot(q, qkv.Row(j*t.rows + row)[n.width+at:n.width+at+headSize])
			}
			softmax(weights)
			out := to.Row(c*t.rows + row)[at : at+headSize]
			clear(out)
			for j, w := range weights {
				vectors.Axpy(out, qkv.Row(j*t.rows + row)[2*n.width+at:2*n.width+at+headSize], w)
			}
		}
	}
}

// acrossRows lets rows of a column attend to the labelled ones.
func (n *network) acrossRows(to, qkv matrix.Dense[float32], t *tokens, c, a, z int, from *reading, block int,
	sharp []float32) {
	kept := from.kept[block].Slice(c*from.rows, (c+1)*from.rows)
	weights := matrix.New[float32](z-a, from.rows)
	a, z = c*t.rows+a, c*t.rows+z
	for k := range n.heads {
		at := k * headSize
		keys := kept.Block(0, kept.Rows, at, at+headSize)
		values := kept.Block(0, kept.Rows, n.width+at, n.width+at+headSize)
		linalg.Gemm(alone, weights, scale*sharp[k], qkv.Block(a, z, at, at+headSize), linalg.NoTrans, keys, linalg.Trans, 0)
		for i := range weights.Rows {
			softmax(weights.Row(i))
		}
		linalg.Gemm(alone, to.Block(a, z, at, at+headSize), 1, weights, linalg.NoTrans, values, linalg.NoTrans, 0)
	}
}

// alone is for products within a piece.
var alone = linalg.NewTeam(1)

// softmax replaces numbers by shares in proportion to their exponentials.
func softmax(x []float32) {
	top := x[vectors.ArgMax(x)]
	for i := range x {
		x[i] -= top
	}
	vectors.Exp(x, x)
	over := 1 / vectors.Sum(x)
	for i := range x {
		x[i] *= over
	}
}
