package selection

// Short rows: a lower bound of distances that reads 128 or 256 bytes of a row,
// not all of it. With Q an orthonormal set of 31 or 63 directions along which the
// rows differ most, μ their mean and s a scale, each row x has a short row
//
//	X = s·(Q(x−μ), ‖(x−μ) − QᵀQ(x−μ)‖)
//
// and by the triangle inequality in what Q leaves out
//
//	s²‖x − y‖² ≥ ‖X − Y‖².
//
// So a selected row y can be passed over for x if ‖X − Y‖² is above the limit of
// x, which follows from the distance that x has already.
//
// Why that is safe under rounding. s is such that s‖x−μ‖ ≤ 1 for all rows. Short
// rows are computed in float64 and kept in float32. Q(x−μ), the norms and the
// orthonormality of Q are exact up to (d+64)·2⁻⁵³ times a small factor; the last
// element is the root of a difference of squares, so its error is at most the
// root of that; keeping it in float32 adds 2⁻²⁴. All together it is below
//
//	η = √(32·(d+64)·2⁻⁵³) + 2⁻²²
//
// and so s‖x − y‖ ≥ ‖X − Y‖ − 2η. The distance itself, D = Σ (x_i − y_i)², and
// that of short rows are sums of squares, which round by a share of themselves:
// the computed D̃ is at least D/(1+γ) less what underflows, with γ = 2(d+8)u and u
// the rounding of one operation. Hence if the computed ‖X − Y‖² is above
//
//	limit = (s·√((d̃[x] + underflow)·(1+γ)) + 2η)²·(1 + 2⁻¹⁷)
//
// then D̃ > d̃[x], and the plain algorithm changes nothing. Rows for which that
// does not hold have D̃ computed as the plain algorithm does.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	coarseCols   = 32   // of a short row: two cache lines
	fineCols     = 64   // of a longer one, for what is left then
	leastCols    = 128  // features from which on short rows pay
	leastRows    = 2048 // rows of the pool from which on they do
	leastAdded   = 32   // selected rows from which on they do
	sampledRows  = 2048 // rows that the directions are made for
	directionFit = 4    // steps of the iteration for the directions
	shortBlock   = 256  // rows that are shortened at a time

	// leastCaptured is the share of the rows' variance along the directions
	// from which on bounds rule out enough.
	leastCaptured = 0.5
)

// shortener makes short rows.
type shortener[T matrix.Float] struct {
	mean       []float64
	directions matrix.Dense[float64] // Qᵀ; a column of zeros stands for none
	scale      float64
	eta        float64 // η
	gamma      float64 // γ
	underflow  float64
}

// newShortener returns nil if short rows would not pay, or if the caller wants
// none.
func newShortener[T matrix.Float](s *Space[T]) *shortener[T] {
	d, added := s.pool.rows.Cols, s.batch
	if s.mode == TP {
		added += s.TrainSize()
	}
	if s.plain || s.kernel != nil || d < leastCols || s.PoolSize() < leastRows || added < leastAdded {
		return nil
	}
	u, smallest := roundingOf[T]()
	h := &shortener[T]{gamma: 2 * float64(d+8) * u, underflow: float64(d) * smallest,
		eta: math.Sqrt(32*float64(d+64)*math.Ldexp(1, -53)) + math.Ldexp(1, -22)}
	if h.fit(sample(s.pool.rows)) < leastCaptured {
		return nil
	}
	reach := 0.0
	for _, one := range []*set[T]{&s.pool, &s.train, &s.target} {
		for _, v := range one.diag {
			reach = max(reach, float64(v))
		}
	}
	h.scale = 1 / (1.001 * (math.Sqrt(reach) + math.Sqrt(simd.For[float64]().SumSquares(h.mean))))
	if math.IsInf(h.scale, 0) {
		return nil // all rows are zero
	}
	return h
}

// shortRows is what a space keeps of short rows, made when it is needed.
type shortRows[T matrix.Float] struct {
	looked bool
	maker  *shortener[T]
	rows   map[*set[T]]shortened
}

// shortened holds the short rows of a set.
type shortened struct{ coarse, fine matrix.Dense[float32] }

// shortener returns nil if short rows do not pay.
func (s *Space[T]) shortener() *shortener[T] {
	if !s.short.looked {
		s.short = shortRows[T]{looked: true, maker: newShortener(s), rows: map[*set[T]]shortened{}}
	}
	return s.short.maker
}

// shortRows returns the short rows of a set.
func (s *Space[T]) shortRows(of *set[T]) shortened {
	rows, made := s.short.rows[of]
	if !made {
		rows = s.shortener().shorten(s, of.rows)
		s.short.rows[of] = rows
	}
	return rows
}

// shortRow returns the short rows of a candidate.
func (s *Space[T]) shortRow(candidate int) (coarse, fine []float32) {
	of := &s.pool
	if candidate >= s.PoolSize() {
		of, candidate = &s.train, candidate-s.PoolSize()
	}
	rows := s.shortRows(of)
	return rows.coarse.Row(candidate), rows.fine.Row(candidate)
}

// countPairs counts distances, and those of them that were computed.
func (s *Space[T]) countPairs(pairs, computed int64) {
	s.pairs += pairs
	s.computed += computed
}

func (s *Space[T]) computedShare() float64 {
	if s.pairs == 0 {
		return 1
	}
	return float64(s.computed) / float64(s.pairs)
}

// sample returns rows that are spread evenly over all, in float64.
func sample[T matrix.Float](rows matrix.Dense[T]) matrix.Dense[float64] {
	n := min(sampledRows, rows.Rows)
	m := matrix.New[float64](n, rows.Cols)
	for i := range n {
		at := i * rows.Rows / n
		matrix.Convert(m.Slice(i, i+1), rows.Slice(at, at+1))
	}
	return m
}

// fit computes mean and directions: some steps of subspace iteration, which need
// not converge, since every orthonormal set will do. The first directions are
// those along which the rows differ most. It returns the share of the variance
// along all of them.
func (h *shortener[T]) fit(rows matrix.Dense[float64]) float64 {
	d := rows.Cols
	h.mean = columnMeans(rows)
	set := simd.For[float64]()
	for i := range rows.Rows {
		set.Axpy(rows.Row(i), h.mean, -1)
	}
	moments := matrix.New[float64](d, d)
	linalg.Syrk(moments, 1, rows, linalg.Trans, 0)
	q, next := matrix.New[float64](fineCols-1, d), matrix.New[float64](fineCols-1, d)
	rng.FillNormal(rng.New(0, "selection directions"), q.Data)
	for range directionFit {
		linalg.Gemm(next, 1, q, linalg.NoTrans, moments, linalg.NoTrans, 0)
		orthonormalise(next)
		q, next = next, q
	}
	h.directions = matrix.New[float64](d, fineCols-1)
	for i := range q.Rows {
		for j, v := range q.Row(i) {
			h.directions.Row(j)[i] = v
		}
	}
	linalg.Gemm(next, 1, q, linalg.NoTrans, moments, linalg.NoTrans, 0)
	captured, all := 0.0, 0.0
	for i := range q.Rows {
		captured += set.Dot(q.Row(i), next.Row(i))
	}
	for i := range d {
		all += moments.At(i, i)
	}
	if all == 0 {
		return 1
	}
	return captured / all
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
		scale(v, 1/norm)
	}
}

// shorten returns the short rows.
func (h *shortener[T]) shorten(s *Space[T], rows matrix.Dense[T]) shortened {
	j := &shortenJob[T]{shortener: h, rows: rows, to: shortened{
		coarse: allocMatrix[float32](s, rows.Rows, coarseCols), fine: allocMatrix[float32](s, rows.Rows, fineCols)}}
	j.wide, j.products = make([]matrix.Dense[float64], linalg.Slots()), make([]matrix.Dense[float64], linalg.Slots())
	linalg.Run(pieces(rows.Rows, shortBlock), j)
	return j.to
}

// shortenJob shortens blocks of rows.
type shortenJob[T matrix.Float] struct {
	*shortener[T]
	rows           matrix.Dense[T]
	to             shortened
	wide, products []matrix.Dense[float64] // scratch of each thread
}

// Do shortens a block.
func (j *shortenJob[T]) Do(part, slot int) {
	set := simd.For[float64]()
	from := part * shortBlock
	to := min(from+shortBlock, j.rows.Rows)
	if j.wide[slot].Rows == 0 {
		// Rows that lie a multiple of 4 KiB apart would be copied.
		j.wide[slot] = matrix.New[float64](shortBlock, j.rows.Cols+8).Block(0, shortBlock, 0, j.rows.Cols)
		j.products[slot] = matrix.New[float64](shortBlock, fineCols-1)
	}
	wide, products := j.wide[slot].Slice(0, to-from), j.products[slot].Slice(0, to-from)
	matrix.Convert(wide, j.rows.Slice(from, to))
	for i := range wide.Rows {
		set.ScaleAdd(wide.Row(i), j.mean, j.scale, -j.scale)
	}
	linalg.Gemm(products, 1, wide, linalg.NoTrans, j.directions, linalg.NoTrans, 0)
	for i := range wide.Rows {
		norm := set.SumSquares(wide.Row(i))
		cut(j.to.coarse.Row(from+i), products.Row(i), norm)
		cut(j.to.fine.Row(from+i), products.Row(i), norm)
	}
}

// cut writes a short row: as many of the products as it takes, and the norm of
// the rest.
func cut(dst []float32, products []float64, norm float64) {
	products = products[:len(dst)-1]
	for i, v := range products {
		dst[i] = float32(v)
	}
	dst[len(products)] = float32(math.Sqrt(max(norm-simd.For[float64]().SumSquares(products), 0)))
}

// limit is the squared distance of short rows beyond which a selected row is
// farther away than the squared distance dist.
func (h *shortener[T]) limit(dist T) float32 {
	reach := h.scale*math.Sqrt((float64(dist)+h.underflow)*(1+h.gamma)) + 2*h.eta
	return float32(reach * reach * (1 + math.Ldexp(1, -17)))
}
