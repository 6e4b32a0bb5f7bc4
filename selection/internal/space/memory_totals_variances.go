package space

// What BAIT recomputes for all rows, with S = I: c = ‖ψ‖² and v = ψᵀ AMAᵀ ψ, second
// moments of posterior features, as in the paper. A symmetric form is twice that of
// its upper triangle with half the diagonal, and A is triangular itself. A few rows at
// a time go through all of it while they are in the cache.

import (
	"sync"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	varianceRows = 84 // rows at a time: whole tiles of products
	upperCols    = 64 // columns of a triangle at a time
	// rowGap separates rows that would be a multiple of 4 KiB apart and compete for
	// the same few lines of the first-level cache.
	rowGap = 8
)

// variances writes c and v of rows. bounds, unless nil, learn the ψ of all rows.
func variances[T matrix.Float](space *space[T], root, inner matrix.Dense[float64], c, v []float64,
	rows *rowsInFloat64, bounds *baitBounds) {
	toPsi, form := packUpper(transposed(root)), packUpper(halfOf(inner))
	tally.Rows[float64](space.tally, rows.Rows, rows.Cols)
	var rounding float64
	if bounds != nil {
		rounding = rootRounding(root)
	}
	eachPart(space, rows, func(s *varianceScratch, from int, phi matrix.Dense[float64]) {
		psi := s.psi(phi, toPsi)
		form.mul(s.product.Slice(0, psi.Rows), psi)
		for i := range psi.Rows {
			set := simd.For[float64]()
			v[from+i] = 2 * set.Dot(psi.Row(i), s.product.Row(i))
			c[from+i] = set.SumSquares(psi.Row(i))
			if bounds != nil {
				bounds.rows.set(from+i, psi.Row(i), rowRounding(rounding, phi.Row(i)))
			}
		}
	})
}

// eachPart visits all rows, a few at a time, on all threads, until the context is cancelled.
func eachPart[T matrix.Float](space *space[T], rows *rowsInFloat64,
	visit func(s *varianceScratch, from int, phi matrix.Dense[float64])) {
	scratch := sync.Pool{New: func() any { return newVarianceScratch(rows.Cols) }}
	rows.pass(space.Cancelled, func(first, end int) {
		space.team.OverPieces(end-first, varianceRows, func(_, from, to int) {
			s := scratch.Get().(*varianceScratch)
			defer scratch.Put(s)
			phi, buffer := rows.read(first+from, first+to)
			defer buffer.end()
			visit(s, first+from, phi)
		})
	})
}

// varianceScratch belongs to a piece of rows.
type varianceScratch struct{ rows, conditioned, product matrix.Dense[float64] }

func newVarianceScratch(cols int) *varianceScratch {
	part := func() matrix.Dense[float64] {
		return matrix.New[float64](varianceRows, cols+rowGap).Block(0, varianceRows, 0, cols)
	}
	return &varianceScratch{part(), part(), part()}
}

// psi returns ψ = Aφ of rows.
func (s *varianceScratch) psi(rows matrix.Dense[float64], toPsi upperPacked[float64]) matrix.Dense[float64] {
	phi := s.rows.Slice(0, rows.Rows)
	matrix.Copy(phi, rows)
	if len(toPsi) == 0 {
		return phi
	}
	psi := s.conditioned.Slice(0, rows.Rows)
	toPsi.mul(psi, phi)
	return psi
}

// upperPacked is a matrix that is zero below its diagonal, some columns after the
// other, each with the rows down to its last column.
type upperPacked[T matrix.Float] []*linalg.Packed[T]

func packUpper[T matrix.Float](u matrix.Dense[T]) (list upperPacked[T]) {
	for from := 0; from < u.Cols; from += upperCols {
		to := min(from+upperCols, u.Cols)
		list = append(list, linalg.Pack(u.Block(0, to, from, to), linalg.NoTrans))
	}
	return list
}

// mul writes a·u to dst, in the calling goroutine.
func (p upperPacked[T]) mul(dst, a matrix.Dense[T]) {
	for i, part := range p {
		from, to := i*upperCols, min((i+1)*upperCols, a.Cols)
		part.Mul(dst.Block(0, a.Rows, from, to), 1, a.Block(0, a.Rows, 0, to))
	}
}

// transposed returns the transpose of a square matrix.
func transposed(m matrix.Dense[float64]) matrix.Dense[float64] {
	t := matrix.New[float64](m.Cols, m.Rows)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			t.Row(j)[i] = v
		}
	}
	return t
}

// halfOf returns a triangular T with xᵀTx = ½·xᵀmx for a symmetric m.
func halfOf(m matrix.Dense[float64]) matrix.Dense[float64] {
	t := m.Clone()
	for i := range t.Rows {
		clear(t.Row(i)[:i])
		t.Row(i)[i] /= 2
	}
	return t
}
