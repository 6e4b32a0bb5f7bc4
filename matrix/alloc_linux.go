package matrix

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// Advice to the Linux kernel, the same on every architecture that Go supports.
const (
	hugePage     = 2 << 20
	adviceHuge   = 14 // MADV_HUGEPAGE
	adviceNoHuge = 15 // MADV_NOHUGEPAGE
)

// adviseHuge marks the whole huge pages inside the allocation until the garbage
// collector frees it. Advice left in place would cost memory: the heap reuses the
// addresses for small objects, and each of them would bring back a huge page.
func adviseHuge(start unsafe.Pointer, size uintptr) {
	skip, length := wholePages(uintptr(start), size)
	if length == 0 {
		return
	}
	r := hugeRange{uintptr(start) + skip, length}
	r.advise()
	runtime.AddCleanup((*byte)(start), hugeRange.withdraw, r)
}

// hugeRange is an address range of whole huge pages.
type hugeRange struct{ start, length uintptr }

// advised counts, per page, the allocations that asked for the advice. By the time
// the advice for a freed allocation is withdrawn, another may have taken its
// place.
var advised = struct {
	sync.Mutex
	count map[uintptr]int
}{count: map[uintptr]int{}}

func (r hugeRange) advise() {
	advised.Lock()
	defer advised.Unlock()
	for page := r.start; page < r.start+r.length; page += hugePage {
		advised.count[page]++
	}
	r.tell(adviceHuge)
}

func (r hugeRange) withdraw() {
	advised.Lock()
	defer advised.Unlock()
	free := hugeRange{start: r.start} // a run of pages for which no allocation needs the advice
	for page := r.start; page < r.start+r.length; page += hugePage {
		if advised.count[page]--; advised.count[page] == 0 {
			delete(advised.count, page)
			free.length += hugePage
			continue
		}
		free.tell(adviceNoHuge)
		free = hugeRange{start: page + hugePage}
	}
	free.tell(adviceNoHuge)
}

// tell gives the advice. If the Linux kernel refuses it, only speed suffers, so
// the result is ignored.
func (r hugeRange) tell(advice uintptr) {
	if r.length > 0 {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, r.start, r.length, advice)
	}
}

// wholePages returns the offset of the first aligned huge page inside an address
// range, and how many bytes the aligned huge pages take.
func wholePages(start, size uintptr) (skip, length uintptr) {
	const mask = hugePage - 1
	skip = -start & mask
	if skip >= size {
		return 0, 0
	}
	return skip, (size - skip) &^ mask
}
