//go:build !noasm

package simd

import "syscall"

// requestTiles asks the Linux kernel for permission to use the tile registers,
// which is needed once for all threads because they make a thread's state so large.
// From then on signal stacks have to hold that state: Go's do. If a C thread has a
// smaller one, the kernel refuses.
func requestTiles() bool {
	const requestState, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestState, tileData, 0)
	return errno == 0
}
