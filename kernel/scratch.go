package kernel

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
)

// Scratch is memory that is used again and again. The zero value is ready.
type Scratch[T matrix.Float] struct{ data []T }

// Matrix returns a matrix of the given shape, its contents undefined. The next
// call takes it back.
func (s *Scratch[T]) Matrix(rows, cols int) matrix.Dense[T] {
	stride := paddedStride[T](cols)
	if n := rows * stride; n > len(s.data) {
		s.data = matrix.Alloc[T](n)
	}
	return matrix.Dense[T]{Rows: rows, Cols: cols, Stride: stride, Data: s.data}
}

// paddedStride makes rows start at whole cache lines, and not at distances of
// 4 KiB: those would all fall into the same few lines of the first-level cache.
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
