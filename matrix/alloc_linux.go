package matrix

import (
	"syscall"
	"unsafe"
)

const (
	hugePage    = 2 << 20
	adviceHuge  = 14 // MADV_HUGEPAGE of the Linux kernel, on every architecture that Go has
	alignedMask = hugePage - 1
)

// adviseHuge marks the whole huge pages inside the allocation. It is advice:
// a kernel that refuses changes nothing but speed, so its answer is ignored.
func adviseHuge(start unsafe.Pointer, size uintptr) {
	skip := -uintptr(start) & alignedMask
	if skip >= size {
		return
	}
	inside := (size - skip) &^ uintptr(alignedMask)
	if inside == 0 {
		return
	}
	_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Add(start, skip)), inside), adviceHuge)
}
