// Package matrix defines Dense, the row-major matrix that all packages share.
//
// A Dense is a view: copying the struct copies the description, never the
// numbers. Functions that write take the destination first. A destination may be
// the same view as a source only where the function's comment allows it; partly
// overlapping views are never allowed.
package matrix

import (
	"fmt"
	"math"
	"math/bits"
)

// Float is the set of element types.
type Float interface{ float32 | float64 }

// Dense is a row-major view of Rows x Cols numbers. Row i starts at
// Data[i*Stride]; Stride is at least Cols. The zero value is the empty matrix.
type Dense[T Float] struct {
	Rows, Cols, Stride int
	Data               []T
}

// New returns a zeroed rows x cols matrix without padding. A large matrix asks
// the operating system for huge pages, which streaming over it needs.
func New[T Float](rows, cols int) Dense[T] {
	d := Dense[T]{Rows: rows, Cols: cols, Stride: cols}
	d.mustFit("matrix.New", math.MaxInt)
	d.Data = Alloc[T](rows * cols)
	return d
}

// View wraps data as a matrix without padding. The length of data is at least
// rows·cols.
func View[T Float](rows, cols int, data []T) Dense[T] {
	d := Dense[T]{Rows: rows, Cols: cols, Stride: cols, Data: data}
	d.MustBeValid("matrix.View")
	return d
}

// FromRows copies a slice of equally long rows.
func FromRows[T Float](rows [][]T) Dense[T] {
	if len(rows) == 0 {
		return Dense[T]{}
	}
	d := New[T](len(rows), len(rows[0]))
	for i, row := range rows {
		if len(row) != d.Cols {
			panic(ShapeError{Op: fmt.Sprintf("matrix.FromRows, row %d", i),
				Got: Shape{1, len(row)}, Want: Shape{1, d.Cols}})
		}
		copy(d.Row(i), row)
	}
	return d
}

// Shape returns the number of rows and columns.
func (d Dense[T]) Shape() Shape { return Shape{d.Rows, d.Cols} }

// Row returns row i, a slice into the matrix that cannot grow into the next row.
func (d Dense[T]) Row(i int) []T {
	mustIndex("matrix.Row", i, d.Rows)
	if d.Cols == 0 {
		return nil // the data may be empty, whatever the stride
	}
	start := i * d.Stride
	return d.Data[start : start+d.Cols : start+d.Cols]
}

// At returns the element in row i and column j.
func (d Dense[T]) At(i, j int) T { return *d.element("matrix.At", i, j) }

// Set writes the element in row i and column j.
func (d Dense[T]) Set(i, j int, v T) { *d.element("matrix.Set", i, j) = v }

func (d Dense[T]) element(op string, i, j int) *T {
	mustIndex(op, i, d.Rows)
	mustIndex(op, j, d.Cols)
	return &d.Data[i*d.Stride+j]
}

// Slice returns a view of rows from to to-1.
func (d Dense[T]) Slice(from, to int) Dense[T] { return d.Block(from, to, 0, d.Cols) }

// Block returns a view of rows r0 to r1-1 and columns c0 to c1-1.
func (d Dense[T]) Block(r0, r1, c0, c1 int) Dense[T] {
	if r0 < 0 || r1 < r0 || r1 > d.Rows || c0 < 0 || c1 < c0 || c1 > d.Cols {
		panic(ShapeError{Op: fmt.Sprintf("matrix.Block [%d:%d, %d:%d]", r0, r1, c0, c1),
			Got: Shape{r1 - r0, c1 - c0}, Want: d.Shape()})
	}
	b := Dense[T]{Rows: r1 - r0, Cols: c1 - c0, Stride: d.Stride}
	if n := b.extent(); n > 0 {
		start := r0*d.Stride + c0
		b.Data = d.Data[start : start+n : start+n]
	}
	return b
}

// Clone returns a copy without padding.
func (d Dense[T]) Clone() Dense[T] {
	c := New[T](d.Rows, d.Cols)
	Copy(c, d)
	return c
}

// Stack returns a copy of the parts, one below the other. Parts without rows may
// have any number of columns.
func Stack[T Float](parts ...Dense[T]) Dense[T] {
	rows, cols := 0, 0
	for _, p := range parts {
		if p.Rows > 0 {
			rows, cols = rows+p.Rows, p.Cols
		}
	}
	d, at := New[T](rows, cols), 0
	for _, p := range parts {
		if p.Rows > 0 {
			Copy(d.Slice(at, at+p.Rows), p)
			at += p.Rows
		}
	}
	return d
}

// SelectRows returns a copy of the rows in index, in that order.
func (d Dense[T]) SelectRows(index []int) Dense[T] {
	s := New[T](len(index), d.Cols)
	for i, r := range index {
		copy(s.Row(i), d.Row(r))
	}
	return s
}

// Copy writes src to dst, which has the same shape.
func Copy[T Float](dst, src Dense[T]) {
	MustMatch("matrix.Copy", dst.Shape(), src.Shape())
	for i := range src.Rows {
		copy(dst.Row(i), src.Row(i))
	}
}

// Convert writes src to dst, which has the same shape, rounding to dst's type.
func Convert[To, From Float](dst Dense[To], src Dense[From]) {
	MustMatch("matrix.Convert", dst.Shape(), src.Shape())
	for i := range src.Rows {
		to := dst.Row(i)
		for j, v := range src.Row(i) {
			to[j] = To(v)
		}
	}
}

// Converted returns a copy of src with elements of type To.
func Converted[To, From Float](src Dense[From]) Dense[To] {
	dst := New[To](src.Rows, src.Cols)
	Convert(dst, src)
	return dst
}

// MustBeValid panics with a LayoutError if the view extends beyond its data.
func (d Dense[T]) MustBeValid(op string) { d.mustFit(op, len(d.Data)) }

// mustFit panics with a LayoutError unless the view fits into n elements. It
// multiplies to 128 bits, so that an overflow does not look like a fit.
func (d Dense[T]) mustFit(op string, n int) {
	fits := d.Rows >= 0 && d.Cols >= 0 && d.Stride >= d.Cols
	if fits && d.Rows > 0 && d.Cols > 0 {
		high, low := bits.Mul(uint(d.Rows-1), uint(d.Stride))
		fits = high == 0 && d.Cols <= n && low <= uint(n-d.Cols)
	}
	if !fits {
		panic(LayoutError{Op: op, Shape: d.Shape(), Stride: d.Stride, Len: n})
	}
}

// extent is the number of elements from the first to the last, including the
// padding between rows.
func (d Dense[T]) extent() int {
	if d.Rows == 0 || d.Cols == 0 {
		return 0
	}
	return (d.Rows-1)*d.Stride + d.Cols
}
