package matrix

import "fmt"

// Shape is a number of rows and columns.
type Shape struct{ Rows, Cols int }

func (s Shape) String() string { return fmt.Sprintf("%dx%d", s.Rows, s.Cols) }

// ShapeError is the panic value for mismatched shapes.
type ShapeError struct {
	Op        string // the operation that was called
	Got, Want Shape
}

func (e ShapeError) Error() string {
	return fmt.Sprintf("%s: shape %v does not fit %v", e.Op, e.Got, e.Want)
}

// LayoutError is the panic value for a view that extends beyond its data.
type LayoutError struct {
	Op          string
	Shape       Shape
	Stride, Len int
}

func (e LayoutError) Error() string {
	return fmt.Sprintf("%s: %v with stride %d does not fit into %d elements", e.Op, e.Shape, e.Stride, e.Len)
}

// IndexError is the panic value for a row or column outside the matrix.
type IndexError struct {
	Op           string
	Index, Limit int
}

func (e IndexError) Error() string {
	return fmt.Sprintf("%s: index %d is out of range [0, %d)", e.Op, e.Index, e.Limit)
}

// MustMatch panics with a ShapeError unless got equals want.
func MustMatch(op string, got, want Shape) {
	if got != want {
		panic(ShapeError{Op: op, Got: got, Want: want})
	}
}

func mustIndex(op string, index, limit int) {
	if uint(index) >= uint(limit) {
		panic(IndexError{Op: op, Index: index, Limit: limit})
	}
}
