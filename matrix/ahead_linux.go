package matrix

import (
	"os"
	"syscall"
	"unsafe"
)

const (
	adviceAhead = 3 // MADV_WILLNEED
	// Linux reads no more than a device transfers at once, whatever it is asked for: half a
	// megabyte, for most devices.
	aheadBytes = 512 << 10
)

// ReadAhead has the system read rows of a mapped file in large pieces, before they are
// touched: one page at a time takes many times as long. It returns when the system has
// accepted the request. Rows in memory stay as they are.
func ReadAhead[T Float](m Dense[T]) {
	if m.Rows == 0 || m.Cols == 0 {
		return
	}
	page := uintptr(os.Getpagesize())
	from := uintptr(unsafe.Pointer(&m.Data[0])) &^ (page - 1)
	to := uintptr(unsafe.Pointer(&m.Data[len(m.Data)-1])) + unsafe.Sizeof(m.Data[0])
	for ; from < to; from += aheadBytes {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, min(to-from, aheadBytes), adviceAhead)
	}
}
