//go:build !noasm

package simd

import "syscall"

// requestTiles asks the kernel for the use of the tile registers, which make a
// thread's state so large that Linux wants to be asked, once for all threads. From
// then on signal stacks have to hold that state: Go's do. Where a thread of C has a
// smaller one, the answer is no.
func requestTiles() bool {
	const requestState, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestState, tileData, 0)
	return errno == 0
}
