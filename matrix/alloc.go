package matrix

import "unsafe"

// hugeFrom is the size in bytes from which an allocation asks for huge pages. A
// smaller one contains too few aligned huge pages to matter.
const hugeFrom = 8 << 20

// Alloc returns n zeroed elements from the Go heap. Large slices are marked for
// huge pages (2 MiB) where the system has them, until the garbage collector frees
// them: without these, streaming over a matrix of many megabytes loses a quarter
// of its speed to address translation.
func Alloc[T Float](n int) []T {
	data := make([]T, n)
	var zero T
	if size := uintptr(n) * unsafe.Sizeof(zero); size >= hugeFrom {
		adviseHuge(unsafe.Pointer(unsafe.SliceData(data)), size)
	}
	return data
}
