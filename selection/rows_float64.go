package selection

// Rows in float64, for methods that compute in it. Those of a file stay there: where they
// are in float32, each is converted when it is read, which changes no number, and costs
// neither memory nor a second file of twice the size.

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

// ReadsSingle reports whether a method takes Problem.Single.
func ReadsSingle(m Method[float64]) bool {
	switch m := m.(type) {
	case MaxDet[float64]:
		return m.In != InKernelSpace
	case FrankWolfe[float64]:
		return m.In != InKernelSpace
	case BAIT[float64]:
		return true
	}
	return false
}

// rowsInFloat64 are the rows of a set.
type rowsInFloat64 struct {
	Rows, Cols int
	exact      matrix.Dense[float64]
	single     matrix.Dense[float32] // if exact has none
	buffers    *sync.Pool            // of *[]float64
	inFile     bool
	back       bool // the next pass visits the last block first, if all are in memory
}

// exactRows are rows in float64.
func exactRows(m matrix.Dense[float64]) *rowsInFloat64 {
	return &rowsInFloat64{Rows: m.Rows, Cols: m.Cols, exact: m}
}

// singleRows are rows of a file in float32 that are converted when they are read.
func singleRows(m matrix.Dense[float32]) *rowsInFloat64 {
	return &rowsInFloat64{Rows: m.Rows, Cols: m.Cols, single: m, inFile: true, buffers: &sync.Pool{New: func() any { return new([]float64) }}}
}

// inFloat64 returns the rows of a set in float64: a copy of those in float32, unless they
// are in a file.
func inFloat64[T matrix.Float](s *Space[T], of *set[T]) *rowsInFloat64 {
	if of.single.Rows > 0 {
		return singleRows(of.single)
	}
	switch rows := any(of.rows).(type) {
	case matrix.Dense[float64]:
		exact := exactRows(rows)
		exact.inFile = of.inFile
		return exact
	case matrix.Dense[float32]:
		if of.inFile {
			return singleRows(rows)
		}
	}
	converted := matrix.New[float64](of.rows.Rows, of.rows.Cols)
	s.team.OverPieces(of.rows.Rows, convertedRows, func(_, from, to int) {
		matrix.Convert(converted.Slice(from, to), of.rows.Slice(from, to))
	})
	return exactRows(converted)
}

// convertedRows is the number of rows that a thread converts at a time.
const convertedRows = 256

// read returns the rows from from to to-1, which are valid until the caller calls done.
// The caller must not write to them.
func (w *rowsInFloat64) read(from, to int) (rows matrix.Dense[float64], done func()) {
	if w.exact.Rows > 0 {
		return w.exact.Slice(from, to), nothing
	}
	rows, done = w.buffer(to - from)
	widen(rows, w.single.Slice(from, to))
	return rows, done
}

// readBlock is read for many rows, with all threads, for callers that go on with the rows
// from to on.
func (w *rowsInFloat64) readBlock(team *linalg.Team, from, to int) (rows matrix.Dense[float64], done func()) {
	w.readAhead(to, min(to+to-from, w.Rows))
	if w.exact.Rows > 0 {
		return w.exact.Slice(from, to), nothing
	}
	rows, done = w.buffer(to - from)
	team.OverPieces(rows.Rows, convertedRows, func(_, first, last int) {
		widen(rows.Slice(first, last), w.single.Slice(from+first, from+last))
	})
	return rows, done
}

// widen writes rows in float32 to dst.
func widen(dst matrix.Dense[float64], rows matrix.Dense[float32]) {
	for i := range rows.Rows {
		simd.For[float64]().Widen(dst.Row(i), rows.Row(i))
	}
}

// buffer returns memory for so many rows, until the caller calls done.
func (w *rowsInFloat64) buffer(rows int) (m matrix.Dense[float64], done func()) {
	buffer := w.buffers.Get().(*[]float64)
	if need := rows * w.Cols; len(*buffer) < need {
		*buffer = matrix.Alloc[float64](need)
	}
	return matrix.View(rows, w.Cols, *buffer), func() { w.buffers.Put(buffer) }
}

func nothing() {}

// row is read for one row.
func (w *rowsInFloat64) row(i int) (row []float64, done func()) {
	if w.exact.Rows > 0 {
		return w.exact.Row(i), nothing
	}
	rows, done := w.read(i, i+1)
	return rows.Row(0), done
}

// norms writes the squared norm of each row to dst.
func (w *rowsInFloat64) norms(stop func() bool, team *linalg.Team, dst []float64) {
	w.eachBlock(stop, team, func(from int, rows matrix.Dense[float64]) { linalg.RowNorms(team, dst[from:from+rows.Rows], rows) })
}

// eachBlock visits all rows in order, in blocks, until stop holds.
func (w *rowsInFloat64) eachBlock(stop func() bool, team *linalg.Team, visit func(from int, rows matrix.Dense[float64])) {
	for from := 0; from < w.Rows && !stop(); from += scanPiece {
		rows, done := w.readBlock(team, from, min(from+scanPiece, w.Rows))
		visit(from, rows)
		done()
	}
}

// passNumbers is how many numbers a block of a pass has. Tests set it.
var passNumbers = 1 << 25

// pass visits all rows in blocks until stop holds. The next block of a file is read meanwhile.
func (w *rowsInFloat64) pass(stop func() bool, visit func(from, to int)) {
	most := max(1, passNumbers/w.Cols)
	block := func(i int) (from, to int) { return i * most, min((i+1)*most, w.Rows) }
	order := w.order(linalg.Pieces(w.Rows, most), block)
	for i, now := range order {
		if stop() {
			return
		}
		var ahead sync.WaitGroup
		if i+1 < len(order) {
			from, to := block(order[i+1])
			ahead.Go(func() { w.readAhead(from, to) })
		}
		visit(block(now))
		ahead.Wait()
	}
}

// order returns the order in which a pass visits blocks: forth and back in turn and, of a file
// that exceeds memory, first those that the system has in memory. To make space for another
// block, it drops those that it has had for longest, visited or not.
func (w *rowsInFloat64) order(blocks int, block func(i int) (from, to int)) []int {
	list, resident := make([]int, blocks), make([]float64, blocks)
	for i := range list {
		list[i], resident[i] = i, w.resident(block(i))
	}
	if w.back {
		slices.Reverse(list)
	}
	w.back = !w.back
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(resident[b], resident[a]) })
	return list
}

// ask has the system read listed rows of a file, many at a time. One thread that waits for
// each of them would use a fraction of what a disk can do.
func (w *rowsInFloat64) ask(team *linalg.Team, list []int32) {
	if !w.inFile {
		return
	}
	team.OverPieces(len(list), cachedRows, func(_, from, to int) {
		for _, row := range list[from:to] {
			w.readAhead(int(row), int(row)+1)
		}
	})
}

// readAhead has the system read rows of a file.
func (w *rowsInFloat64) readAhead(from, to int) {
	switch {
	case !w.inFile:
	case w.exact.Rows > 0:
		matrix.ReadAhead(w.exact.Slice(from, to))
	default:
		matrix.ReadAhead(w.single.Slice(from, to))
	}
}

// resident returns the share of rows of a file that the system has in memory.
func (w *rowsInFloat64) resident(from, to int) float64 {
	switch {
	case !w.inFile:
		return 1
	case w.exact.Rows > 0:
		return matrix.Resident(w.exact.Slice(from, to))
	}
	return matrix.Resident(w.single.Slice(from, to))
}

// largestNumbers returns the largest magnitude of each feature, unless stop holds meanwhile.
func (w *rowsInFloat64) largestNumbers(stop func() bool, team *linalg.Team) []float64 {
	scales := make([]float64, w.Cols)
	w.eachBlock(stop, team, func(_ int, rows matrix.Dense[float64]) {
		for i := range rows.Rows {
			for j, v := range rows.Row(i) {
				scales[j] = max(scales[j], math.Abs(v))
			}
		}
	})
	return scales
}

// float64Norms returns the squared norms of the features of a set, in float64.
func float64Norms[T matrix.Float](s *Space[T], of *set[T], pool *rowsInFloat64) []float64 {
	norms := matrix.Alloc[float64](pool.Rows)
	if known, ok := any(of.diag).([]float64); ok {
		copy(norms, known)
	} else {
		pool.norms(s.Cancelled, s.team, norms)
		tally.Rows[float64](s.tally, pool.Rows, pool.Cols)
	}
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
		row, done := w.row(first + int(at))
		simd.For[float64]().DotRows(dst[i:i+1], vector, row, w.Cols)
		done()
	}
}
