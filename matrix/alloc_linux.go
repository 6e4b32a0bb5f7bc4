package matrix

import (
	"syscall"
	"unsafe"
)

const (
	hugePage   = 2 << 20
	adviceHuge = 14 // MADV_HUGEPAGE of the Linux kernel, on every architecture that Go has
)

// adviseHuge marks the whole huge pages inside the allocation. It is advice:
// a kernel that refuses changes nothing but speed, so its answer is ignored.
func adviseHuge(start unsafe.Pointer, size uintptr) {
	skip, length := wholePages(uintptr(start), size)
	if length > 0 {
		_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Add(start, skip)), length), adviceHuge)
	}
}

// wholePages returns where the aligned huge pages inside an address range begin,
// counted from its start, and how many bytes they take.
func wholePages(start, size uintptr) (skip, length uintptr) {
	const mask = hugePage - 1
	skip = -start & mask
	if skip >= size {
		return 0, 0
	}
	return skip, (size - skip) &^ mask
}
