package matrix

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// Advice to the Linux kernel, the same on every architecture that Go has.
const (
	hugePage     = 2 << 20
	adviceHuge   = 14 // MADV_HUGEPAGE
	adviceNoHuge = 15 // MADV_NOHUGEPAGE
)

// adviseHuge marks the whole huge pages inside the allocation until the collector
// frees it. Advice that stayed would cost memory: the heap uses the addresses again
// for small objects, and each of them would bring a huge page back.
func adviseHuge(start unsafe.Pointer, size uintptr) {
	skip, length := wholePages(uintptr(start), size)
	if length == 0 {
		return
	}
	r := hugeRange{uintptr(start) + skip, length}
	r.advise()
	runtime.AddCleanup((*byte)(start), hugeRange.withdraw, r)
}

// hugeRange is addresses of whole huge pages.
type hugeRange struct{ start, length uintptr }

// advised counts the allocations that want the advice for a page. By the time that
// the advice of a freed one is withdrawn, there may be another one in its place.
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
	free := hugeRange{start: r.start} // pages in a row that nobody wants the advice for
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

// tell gives advice. A kernel that refuses changes nothing but speed, so its answer
// is ignored.
func (r hugeRange) tell(advice uintptr) {
	if r.length > 0 {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, r.start, r.length, advice)
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
