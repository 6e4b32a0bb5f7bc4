package matrix

import "unsafe"

// hugeFrom is the size in bytes from which an allocation asks for huge pages:
// below it the aligned inside holds too few of them to matter.
const hugeFrom = 8 << 20

// Alloc returns n zeroed elements from the Go heap. Large slices are marked for
// huge pages (2 MiB) where the system has them, until the collector frees them: a
// stream over a matrix of many megabytes otherwise loses a quarter of its speed to
// address translation.
func Alloc[T Float](n int) []T {
	data := make([]T, n)
	var zero T
	if size := uintptr(n) * unsafe.Sizeof(zero); size >= hugeFrom {
		adviseHuge(unsafe.Pointer(unsafe.SliceData(data)), size)
	}
	return data
}
