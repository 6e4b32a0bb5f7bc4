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

// Resident returns the share of the pages of rows of a mapped file that the system has in
// memory: 1 if it does not tell.
func Resident[T Float](m Dense[T]) float64 {
	if m.Rows == 0 || m.Cols == 0 {
		return 1
	}
	from, to, page := pagesOf(m)
	pages := make([]byte, (to-from+page-1)/page)
	if _, _, failed := syscall.Syscall(syscall.SYS_MINCORE, from, to-from, uintptr(unsafe.Pointer(&pages[0]))); failed != 0 {
		return 1
	}
	there := 0
	for _, p := range pages {
		there += int(p & 1)
	}
	return float64(there) / float64(len(pages))
}

// ReadAhead has the system read rows of a mapped file in large pieces, before they are
// touched: one page at a time takes many times as long. It returns when the system has
// accepted the request. Rows in memory stay as they are.
func ReadAhead[T Float](m Dense[T]) {
	if m.Rows == 0 || m.Cols == 0 {
		return
	}
	from, to, _ := pagesOf(m)
	for ; from < to; from += aheadBytes {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, min(to-from, aheadBytes), adviceAhead)
	}
}

// pagesOf returns where the first page of rows starts, where the rows end, and the size of a page.
func pagesOf[T Float](m Dense[T]) (from, to, page uintptr) {
	page = uintptr(os.Getpagesize())
	from = uintptr(unsafe.Pointer(&m.Data[0])) &^ (page - 1)
	return from, uintptr(unsafe.Pointer(&m.Data[len(m.Data)-1])) + unsafe.Sizeof(m.Data[0]), page
}
