package space

// Rows in float64, for methods that compute in it. Those of a file stay there: where they
// are in float32, each is converted when it is read, which changes no number, and costs
// neither memory nor a second file of twice the size.

import (
	"math"
	"sync"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

// rowsInFloat64 are the rows of a set.
type rowsInFloat64 struct {
	Rows, Cols int
	exact      matrix.Dense[float64]
	single     matrix.Dense[float32] // if exact has none
	buffers    *sync.Pool            // of *[]float64
	block      matrix.Dense[float64] // what convert writes to
	inFile     bool
	latest     *blockPass // that visited all blocks
}

// exactRows are rows in float64.
func exactRows(m matrix.Dense[float64]) *rowsInFloat64 {
	return &rowsInFloat64{Rows: m.Rows, Cols: m.Cols, exact: m}
}

// singleRows are rows of a file in float32 that are converted when they are read.
func singleRows(m matrix.Dense[float32]) *rowsInFloat64 {
	return &rowsInFloat64{Rows: m.Rows, Cols: m.Cols, single: m, inFile: true,
		buffers: &sync.Pool{New: func() any { return new([]float64) }}}
}

// inFloat64 returns the rows of a set in float64: a copy of those in float32, unless they
// are in a file.
func inFloat64[T matrix.Float](s *space[T], of *set[T]) *rowsInFloat64 {
	if of.inFile {
		return of.fileInFloat64()
	}
	if rows, ok := any(of.rows).(matrix.Dense[float64]); ok {
		return exactRows(rows)
	}
	converted := matrix.New[float64](of.rows.Rows, of.rows.Cols)
	s.team.OverPieces(of.rows.Rows, convertedRows, func(_, from, to int) {
		matrix.Convert(converted.Slice(from, to), of.rows.Slice(from, to))
	})
	return exactRows(converted)
}

// fileInFloat64 returns the rows of a file, always the same, which know of passes before.
func (one *set[T]) fileInFloat64() *rowsInFloat64 {
	if one.inDouble != nil {
		return one.inDouble
	}
	if one.single.Rows > 0 {
		one.inDouble = singleRows(one.single)
		return one.inDouble
	}
	switch rows := any(one.rows).(type) {
	case matrix.Dense[float32]:
		one.inDouble = singleRows(rows)
	case matrix.Dense[float64]:
		one.inDouble = exactRows(rows)
		one.inDouble.inFile = true
	}
	return one.inDouble
}

// convertedRows is the number of rows that a thread converts at a time.
const convertedRows = 256

// read returns the rows from from to to-1, which are valid until the caller ends the loan.
// The caller must not write to them.
func (w *rowsInFloat64) read(from, to int) (matrix.Dense[float64], loan) {
	if w.exact.Rows > 0 {
		return w.exact.Slice(from, to), loan{}
	}
	rows, buffer := w.borrow(to - from)
	widen(rows, w.single.Slice(from, to))
	return rows, buffer
}

// convert is read for many rows, with all threads. They are valid until the next call.
func (w *rowsInFloat64) convert(team *linalg.Team, from, to int) matrix.Dense[float64] {
	if w.exact.Rows > 0 {
		return w.exact.Slice(from, to)
	}
	rows := w.block.Slice(0, to-from)
	team.OverPieces(rows.Rows, convertedRows, func(_, first, last int) {
		widen(rows.Slice(first, last), w.single.Slice(from+first, from+last))
	})
	return rows
}

// widen writes rows in float32 to dst.
func widen(dst matrix.Dense[float64], rows matrix.Dense[float32]) {
	if n := rows.Rows * rows.Cols; dst.Stride == dst.Cols && rows.Stride == rows.Cols {
		simd.For[float64]().Widen(dst.Data[:n], rows.Data[:n])
		return
	}
	for i := range rows.Rows {
		simd.For[float64]().Widen(dst.Row(i), rows.Row(i))
	}
}

// loan is a buffer that belongs to the caller until it ends the loan: no closure, which would
// leave garbage for each of many millions of reads.
type loan struct {
	from   *sync.Pool
	buffer *[]float64
}

func (l loan) end() {
	if l.from != nil {
		l.from.Put(l.buffer)
	}
}

// borrow returns memory for the given number of rows.
func (w *rowsInFloat64) borrow(rows int) (matrix.Dense[float64], loan) {
	buffer := w.buffers.Get().(*[]float64)
	if need := rows * w.Cols; len(*buffer) < need {
		*buffer = matrix.Alloc[float64](need)
	}
	return matrix.View(rows, w.Cols, *buffer), loan{w.buffers, buffer}
}

// row is read for one row.
func (w *rowsInFloat64) row(i int) ([]float64, loan) {
	if w.exact.Rows > 0 {
		return w.exact.Row(i), loan{}
	}
	rows, buffer := w.read(i, i+1)
	return rows.Row(0), buffer
}

// each visits listed rows.
func (w *rowsInFloat64) each(list []int32, visit func(row int, phi []float64)) {
	if w.exact.Rows > 0 {
		for _, row := range list {
			visit(int(row), w.exact.Row(int(row)))
		}
		return
	}
	phi, buffer := w.borrow(1)
	defer buffer.end()
	for _, row := range list {
		widen(phi, w.single.Slice(int(row), int(row)+1))
		visit(int(row), phi.Row(0))
	}
}

// norms writes the squared norm of each row to dst.
func (w *rowsInFloat64) norms(stop func() bool, team *linalg.Team, dst []float64) {
	w.convertBlocks(stop, team, func(from int, rows matrix.Dense[float64]) {
		linalg.RowNorms(team,
			dst[from:from+rows.Rows], rows)
	})
}

// file returns the memory of rows of a file: none if they are not in one.
func (w *rowsInFloat64) file(from, to int) rowfile.Mapped {
	switch {
	case !w.inFile:
		return rowfile.Mapped{}
	case w.exact.Rows > 0:
		return rowfile.MappedRows(w.exact.Slice(from, to))
	}
	return rowfile.MappedRows(w.single.Slice(from, to))
}

// largestNumbers returns the largest magnitude of each feature, unless stop holds meanwhile.
func (w *rowsInFloat64) largestNumbers(stop func() bool, team *linalg.Team) []float64 {
	scales := make([]float64, w.Cols)
	w.convertBlocks(stop, team, func(_ int, rows matrix.Dense[float64]) {
		for i := range rows.Rows {
			for j, v := range rows.Row(i) {
				scales[j] = max(scales[j], math.Abs(v))
			}
		}
	})
	return scales
}

// float64Norms returns the squared norms of the features of a set, in float64. The caller
// must not write to them.
func float64Norms[T matrix.Float](s *space[T], of *set[T], pool *rowsInFloat64) []float64 {
	if known, ok := any(of.diag).([]float64); ok {
		return known
	}
	norms := matrix.Alloc[float64](pool.Rows)
	pool.norms(s.Cancelled, s.team, norms)
	tally.Rows[float64](s.tally, pool.Rows, pool.Cols)
	return norms
}

// dotListed writes the products of listed rows with a vector to dst. The list counts from
// the row first.
func (w *rowsInFloat64) dotListed(dst, vector []float64, first int, list []int32) {
	if w.exact.Rows > 0 {
		part := w.exact.Slice(first, w.Rows)
		simd.For[float64]().DotListed(dst, vector, part.Data, part.Stride, list)
		return
	}
	for i, at := range list {
		row, buffer := w.row(first + int(at))
		simd.For[float64]().DotRows(dst[i:i+1], vector, row, w.Cols)
		buffer.end()
	}
}
