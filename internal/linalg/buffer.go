package linalg

import "github.com/nextbatch/nextbatch/matrix"

// buffer is general-purpose scratch memory. Arrays on the stack would not do: they
// escape when they are passed to a vector loop, which is called through a
// variable.
type buffer[T matrix.Float] struct{ data []T }

var buffers = newFreeLists[buffer[float32], buffer[float64]]()

// borrow returns a buffer with n undefined elements; return it with giveBack.
func borrow[T matrix.Float](n int) *buffer[T] {
	b := listOf[buffer[T]](buffers).get()
	b.data = grow(b.data, n)
	return b
}

func giveBack[T matrix.Float](b *buffer[T]) { listOf[buffer[T]](buffers).put(b) }

// scratchMatrix returns a matrix with undefined elements in the memory of m, or in
// new memory if that is too small. Its rows are not a multiple of 4 KiB apart,
// which would map a column to few lines of the cache.
func scratchMatrix[T matrix.Float](m matrix.Dense[T], rows, cols int) matrix.Dense[T] {
	stride := (cols+15)&^15 + 8
	return matrix.Dense[T]{Rows: rows, Cols: cols, Stride: stride, Data: grow(m.Data, rows*stride)}
}
