package nearest

// Short rows: a lower bound of distances that reads a small part of what the
// rows take. With Q an orthonormal set of directions along which the rows differ
// most, and s a scale, each row x has a short row X = s·Qx, and
//
//	s‖x − y‖ ≥ ‖X − Y‖,
//
// for the leading directions alone as well. So a centre y can be ruled out for x if
// ‖X − Y‖² is above the limit of x, which follows from the present distance of x.
//
// Why that is safe under rounding. s is such that s‖x‖ ≤ 1 for all rows. Short
// rows are products of d numbers with rounding u each, kept in float32, so each
// of their k elements is wrong by at most (1.1·(d+4)·u + 3·2⁻²⁴)·s‖x‖, and
//
//	‖X − Y‖ ≤ s‖x − y‖ + ε·s·(‖x‖ + ‖y‖),   ε = √k·(1.1·(d+4)·u + 3·2⁻²⁴).
//
// A factor of 1 − 2⁻¹⁸ makes up for Q being orthonormal only up to rounding.
// The distance itself, D = Σ (x_i − y_i)², and that of short rows are sums of
// squares, which round by a share of themselves: the computed D̃ is at least
// D/(1+γ) minus what underflows, with γ = 2(d+8)u. Now if D̃ ≤ d̃[x], then
//
//	s‖x − y‖ ≤ r = s·√((d̃[x] + underflow)·(1+γ))   and   s‖y‖ ≤ s‖x‖ + r,
//
// hence the computed ‖X − Y‖² is at most
//
//	limit = (r + ε·(2s‖x‖ + r) + 2⁻⁶⁰)²·(1 + 2⁻¹⁶),
//
// where 2⁻⁶⁰ is far above all that underflows. If it is more, the plain algorithm
// changes nothing. Rows for which it is not have D̃ computed as the plain
// algorithm does.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	coarseCols   = 16      // directions of the rows that a step reads: one cache line
	middleCols   = 48      // directions for the survivors
	fineCols     = 96      // and then, if there are twice as many features
	leastCols    = 64      // with fewer features short rows do not pay
	sampledRows  = 1024    // rows that the directions are fitted to
	directionFit = 4       // steps of the iteration for the directions
	shortBlock   = 4096    // rows that are shortened at a time, with a copy
	stretch      = 1 << 17 // without one

	// leastReach is what the largest norm must exceed for its square, in
	// float32, to be far from underflow.
	leastReach = 1e-12
)

// Pays determines when short rows pay; tests change it.
var Pays = struct {
	Work  int     // features that the plain version must read at least, so that finding out is cheap
	Reads float64 // at most this share of them may be read with short rows
}{1 << 31, 0.75}

// Shortener makes short rows, for all sets of rows and centres that belong together.
type Shortener[T matrix.Float] struct {
	Env
	fine       int             // directions
	directions matrix.Dense[T] // Qᵀ
	scale      float64         // s
	share      float64         // ε
	gamma      float64         // γ
	underflow  float64
}

// NewShortener makes directions for rows, or returns nil if short rows would not pay.
// No row or centre has a squared norm above largest. Of the centres, single ones are
// added one by one, and the others as a product.
func NewShortener[T matrix.Float](env Env, rows matrix.Dense[T], largest T, single, centres int) *Shortener[T] {
	reach := math.Sqrt(float64(largest))
	if !mayPay(rows, single, centres) || !(reach >= leastReach) {
		return nil
	}
	d := float64(rows.Cols)
	u, smallest := roundingOf[T]()
	h := &Shortener[T]{Env: env, scale: 1 / (1.001 * reach), gamma: 2 * (d + 8) * u,
		underflow: d * smallest, fine: middleCols}
	if d >= 2*fineCols {
		h.fine = fineCols
	}
	h.share = math.Sqrt(float64(h.fine)) * (1.1*(d+4)*u + 3*math.Ldexp(1, -24))
	some := sample(rows)
	h.fit(matrix.Converted[float64](some))
	if h.reads(some, centres) > Pays.Reads {
		return nil
	}
	return h
}

// mayPay reports whether the plain version would take long. A product takes about an
// eighth of the time per centre.
func mayPay[T matrix.Float](rows matrix.Dense[T], single, centres int) bool {
	return rows.Cols >= leastCols && rows.Rows*rows.Cols*(single+(centres-single)/8) >= Pays.Work
}

// rows returns the short rows of rows; the coarse ones are the front of the fine ones.
func (h *Shortener[T]) rows(rows matrix.Dense[T]) (coarse, fine matrix.Dense[float32]) {
	coarse, fine = matrix.New[float32](rows.Rows, coarseCols), matrix.New[float32](rows.Rows, h.fine)
	h.shorten(fine, rows)
	tally.Rows[T](h.Tally, rows.Rows, rows.Cols)
	h.Team.OverPieces(rows.Rows, scanPiece, func(_, from, to int) {
		matrix.Copy(coarse.Slice(from, to), fine.Block(from, to, 0, coarseCols))
	})
	return coarse, fine
}

// row returns the fine short row of one row.
func (h *Shortener[T]) row(x []T) []float32 {
	products, short := make([]T, h.fine), make([]float32, h.fine)
	for j, v := range x {
		simd.For[T]().Axpy(products, h.directions.Row(j), v)
	}
	for i, v := range products {
		short[i] = float32(v * h.factor())
	}
	return short
}

// factor is the factor of products with directions.
func (h *Shortener[T]) factor() T { return T(h.scale * (1 - math.Ldexp(1, -18))) }

// sample returns rows that are spread evenly over all.
func sample[T matrix.Float](rows matrix.Dense[T]) matrix.Dense[T] {
	index := make([]int, min(sampledRows, rows.Rows))
	for i := range index {
		index[i] = i * rows.Rows / len(index)
	}
	return rows.SelectRows(index)
}

// fit computes directions for the rows, which it changes: some steps of subspace
// iteration, which need not converge, since every orthonormal set will do. The
// first directions are those along which the rows differ most.
func (h *Shortener[T]) fit(rows matrix.Dense[float64]) {
	d := rows.Cols
	mean := columnMeans(rows)
	for i := range rows.Rows {
		simd.For[float64]().Axpy(rows.Row(i), mean, -1)
	}
	moments := matrix.New[float64](d, d)
	linalg.Syrk(h.Team, moments, 1, rows, linalg.Trans, 0)
	q, next := matrix.New[float64](h.fine, d), matrix.New[float64](h.fine, d)
	rng.FillNormal(rng.New(0, "selection directions"), q.Data)
	for range directionFit {
		linalg.Gemm(h.Team, next, 1, q, linalg.NoTrans, moments, linalg.NoTrans, 0)
		orthonormalise(next)
		q, next = next, q
	}
	h.directions = matrix.New[T](d, h.fine)
	for i := range q.Rows {
		for j, v := range q.Row(i) {
			h.directions.Row(j)[i] = T(v)
		}
	}
}

// orthonormalise is Gram and Schmidt's method, twice over. A row that depends on
// those before it becomes zero.
func orthonormalise(m matrix.Dense[float64]) {
	set := simd.For[float64]()
	for i := range m.Rows {
		row := m.Row(i)
		before := math.Sqrt(set.SumSquares(row))
		for range 2 {
			normalise(row)
			for j := range i {
				set.Axpy(row, m.Row(j), -set.Dot(m.Row(j), row))
			}
			if !(math.Sqrt(set.SumSquares(row)) > 1e-8) || before == 0 {
				clear(row)
			}
		}
		normalise(row)
	}
}

func normalise(v []float64) {
	if norm := math.Sqrt(simd.For[float64]().SumSquares(v)); norm > 0 {
		for i := range v {
			v[i] /= norm
		}
	}
}

// shorten writes short rows, those of the last rows first: of a file that exceeds memory,
// these have been read last.
func (h *Shortener[T]) shorten(dst matrix.Dense[float32], rows matrix.Dense[T]) {
	if same, ok := any(dst).(matrix.Dense[T]); ok {
		backward(rows.Rows, stretch, func(from, to int) {
			linalg.Gemm(h.Team, same.Slice(from, to), h.factor(), rows.Slice(from, to), linalg.NoTrans,
				h.directions, linalg.NoTrans, 0)
		})
		return
	}
	products := matrix.New[T](min(shortBlock, rows.Rows), h.fine)
	backward(rows.Rows, shortBlock, func(from, to int) {
		part := products.Slice(0, to-from)
		linalg.Gemm(h.Team, part, h.factor(), rows.Slice(from, to), linalg.NoTrans, h.directions, linalg.NoTrans, 0)
		matrix.Convert(dst.Slice(from, to), part)
	})
}

// backward visits n rows in blocks, the last block first.
func backward(n, block int, visit func(from, to int)) {
	for to := n; to > 0; to -= block {
		visit(max(0, to-block), to)
	}
}

// reads estimates the share of the features of all pairs that is read with short
// rows and count centres, from pairs of the rows. Scattered reads count twice.
func (h *Shortener[T]) reads(rows matrix.Dense[T], count int) float64 {
	const tried = 32
	step := max(1, rows.Rows/max(1, count))
	centres := make([]int, 0, rows.Rows)
	for i := 0; i < rows.Rows; i += step {
		centres = append(centres, i)
	}
	selected := rows.SelectRows(centres)
	short := matrix.New[float32](rows.Rows, h.fine)
	h.shorten(short, rows)
	shortSelected := short.SelectRows(centres)
	read := make([]int, min(tried, rows.Rows))
	h.Team.OverPieces(len(read), 1, func(i, _, _ int) {
		row := i * rows.Rows / len(read)
		read[i] = h.readsOf(rows.Row(row), selected, short.Row(row), shortSelected)
	})
	sum := 0
	for _, n := range read {
		sum += n
	}
	return float64(sum) / float64(len(read)*len(centres)*rows.Cols)
}

// readsOf is reads for one row, which may be one of the selected ones.
func (h *Shortener[T]) readsOf(row []T, selected matrix.Dense[T], short []float32,
	shortSelected matrix.Dense[float32]) int {
	dist, low := make([]T, selected.Rows), make([]float32, selected.Rows)
	simd.For[T]().SqDistRows(dist, row, selected.Data, selected.Stride)
	nearest := T(math.Inf(1))
	for _, d := range dist {
		if d > 0 {
			nearest = min(nearest, d)
		}
	}
	limit := h.limit(nearest, simd.For[T]().SumSquares(row))
	left := func(cols int) (n int) {
		simd.For[float32]().SqDistRows(low, short[:cols], shortSelected.Data, shortSelected.Stride)
		for _, v := range low {
			if v <= limit {
				n++
			}
		}
		return n
	}
	return coarseCols*len(low) + 2*(h.fine-coarseCols)*left(coarseCols) + 2*len(row)*left(h.fine)
}

// limit is the squared distance of short rows beyond which a centre is
// farther from a row of the given squared norm than the squared distance dist.
func (h *Shortener[T]) limit(dist, norm T) float32 {
	r := h.scale * math.Sqrt((float64(dist)+h.underflow)*(1+h.gamma))
	r += h.share*(2.02*h.scale*math.Sqrt(float64(norm))+r) + math.Ldexp(1, -60)
	return float32(r * r * (1 + math.Ldexp(1, -16)))
}
