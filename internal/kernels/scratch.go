package kernels

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
)

// Scratch is memory that an Embedding, Form or Map reuses from call to call. The zero
// value is ready to use.
type Scratch[T matrix.Float] struct{ data []T }

// Matrix returns a matrix of the given shape with undefined contents. It is valid
// until the next call.
func (s *Scratch[T]) Matrix(rows, cols int) matrix.Dense[T] {
	stride := paddedStride[T](cols)
	if n := rows * stride; n > len(s.data) {
		s.data = matrix.Alloc[T](n)
	}
	return matrix.Dense[T]{Rows: rows, Cols: cols, Stride: stride, Data: s.data}
}

// paddedStride makes rows start at whole cache lines, but not a multiple of 4 KiB
// apart: such rows would all compete for the same few lines of the first-level
// cache.
func paddedStride[T matrix.Float](cols int) int {
	var zero T
	size := int(unsafe.Sizeof(zero))
	line := 64 / size
	stride := (cols + line - 1) / line * line
	if stride*size%4096 == 0 {
		stride += line
	}
	return stride
}
