package rowfile

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
)

// Mapped is the memory of rows of a mapped file, or empty. What it asks of the system is
// advice, which changes no number: where the system does not know it, nothing happens.
type Mapped struct{ bytes []byte }

// MappedRows returns the memory of rows of a mapped file.
func MappedRows[T matrix.Float](m matrix.Dense[T]) Mapped {
	if m.Rows == 0 || m.Cols == 0 {
		return Mapped{}
	}
	return Mapped{unsafe.Slice((*byte)(unsafe.Pointer(&m.Data[0])), uintptr(len(m.Data))*unsafe.Sizeof(m.Data[0]))}
}
