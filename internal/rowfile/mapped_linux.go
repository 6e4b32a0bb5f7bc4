package rowfile

import (
	"os"
	"syscall"
	"unsafe"
)

const (
	adviceNone     = 0  // MADV_NORMAL
	adviceRandom   = 1  // MADV_RANDOM
	adviceSequence = 2  // MADV_SEQUENTIAL
	adviceAhead    = 3  // MADV_WILLNEED
	adviceDrop     = 21 // MADV_PAGEOUT, since Linux 5.4
	adviceFetch    = 22 // MADV_POPULATE_READ, since Linux 5.14
	adviceHuge     = 14 // MADV_HUGEPAGE
	adviceNoHuge   = 15 // MADV_NOHUGEPAGE
	// Linux reads no more than a device transfers at once, whatever it is asked for: half a
	// megabyte, for most devices.
	aheadBytes = 512 << 10
)

// ReadAhead asks the system to read the rows, and returns when it has accepted that. One
// page at a time, when they are touched, takes many times as long.
func (r Mapped) ReadAhead() {
	for from := 0; from < len(r.bytes); from += aheadBytes {
		r.part(from, from+aheadBytes).advise(adviceAhead)
	}
}

// InSequence tells the system that the next rows will be read in long sequences.
func (r Mapped) InSequence() {
	r.advise(adviceSequence)
	r.advise(adviceHuge)
}

// AtRandom tells the system that the next rows will be read by themselves, so that it reads
// nothing around them: megabytes for each, which take the space of others.
func (r Mapped) AtRandom() {
	r.advise(adviceRandom)
	r.advise(adviceNoHuge)
}

// AsUsual undoes InSequence and AtRandom.
func (r Mapped) AsUsual() {
	r.advise(adviceNone)
	r.advise(adviceNoHuge)
}

// Fetch has the system read the rows, and returns when it has. In a sequence it takes memory
// in pieces of up to two megabytes, which cost it far less than single pages: to read, to
// touch and to drop.
func (r Mapped) Fetch() {
	if !r.advise(adviceFetch) {
		r.ReadAhead()
	}
}

// Drop makes the system drop the rows from memory; it reads them again when they are touched.
func (r Mapped) Drop() { r.advise(adviceDrop) }

// Resident returns the share of the pages of the rows that the system has in memory: 1 if
// that is not known.
func (r Mapped) Resident() float64 {
	if len(r.bytes) == 0 {
		return 1
	}
	from, size, page := r.pages()
	var pages [4096]byte // at a time
	there, all := 0, 0
	for end := from + size; from < end; from += uintptr(len(pages)) * page {
		some := pages[:min((end-from+page-1)/page, uintptr(len(pages)))]
		if _, _, failed := syscall.Syscall(syscall.SYS_MINCORE, from, uintptr(len(some))*page,
			uintptr(unsafe.Pointer(&some[0]))); failed != 0 {
			return 1
		}
		for _, p := range some {
			there += int(p & 1)
		}
		all += len(some)
	}
	return float64(there) / float64(all)
}

// part returns the bytes from from to to-1, as far as there are any.
func (r Mapped) part(from, to int) Mapped { return Mapped{r.bytes[from:min(to, len(r.bytes))]} }

// advise returns whether the system knows the advice.
func (r Mapped) advise(advice uintptr) bool {
	if len(r.bytes) == 0 {
		return true
	}
	from, size, _ := r.pages()
	_, _, failed := syscall.Syscall(syscall.SYS_MADVISE, from, size, advice)
	return failed != syscall.EINVAL
}

// pages returns where the first page starts, the bytes from there on, and the size of a page.
func (r Mapped) pages() (from, size, page uintptr) {
	page = uintptr(os.Getpagesize())
	first := uintptr(unsafe.Pointer(&r.bytes[0]))
	from = first &^ (page - 1)
	return from, first - from + uintptr(len(r.bytes)), page
}
