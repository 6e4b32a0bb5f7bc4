package matrix

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
)

func TestWholePages(t *testing.T) {
	t.Parallel()
	const page = uintptr(hugePage)
	tests := []struct{ start, size, skip, length uintptr }{
		{0, 0, 0, 0},
		{4 * page, page - 1, 0, 0},
		{4 * page, page, 0, page},
		{4 * page, 3*page + 5, 0, 3 * page},
		{4*page + 8, page, page - 8, 0},
		{4*page + 8, 2*page - 9, page - 8, 0},
		{4*page + 8, 2*page - 8, page - 8, page},
		{5*page - 8, 7, 0, 0},
		{5*page - 8, 8, 0, 0},
		{5*page - 8, 2*page + 9, 8, 2 * page},
	}
	for _, test := range tests {
		skip, length := wholePages(test.start, test.size)
		if skip != test.skip || length != test.length {
			t.Errorf("%#x + %#x: skip %#x, length %#x, want %#x and %#x",
				test.start, test.size, skip, length, test.skip, test.length)
		}
	}
}

// advisedBytes is how many bytes of an allocation carry the advice. The runtime may have
// given it for memory of its own.
func advisedBytes(t *testing.T, start, size uintptr) (sum uintptr) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	var from, to uintptr
	for line := range strings.Lines(string(text)) {
		var first, end uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &first, &end); n == 2 {
			from, to = max(first, start), min(end, start+size)
		}
		if from < to && strings.HasPrefix(line, "VmFlags:") && slices.Contains(strings.Fields(line), "hg") {
			sum += to - from
		}
	}
	return sum
}

// TestAdviceIsWithdrawn waits until the garbage collector has freed a large
// allocation. If the advice stayed in place, a few small objects there would take
// up all of its memory again.
func TestAdviceIsWithdrawn(t *testing.T) {
	t.Parallel()
	const size = 256 << 20
	data := Alloc[float32](size / 4)
	start := uintptr(unsafe.Pointer(&data[0]))
	if advisedBytes(t, start, size) < size/2 {
		t.Skip("the system takes no advice")
	}
	runtime.KeepAlive(data)
	for advisedBytes(t, start, size) > 0 { // until the test times out
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// TestAdviceOfASuccessorStays allocates again and again where memory was freed.
func TestAdviceOfASuccessorStays(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	for range 10 {
		data := Alloc[float32](size / 4)
		start := uintptr(unsafe.Pointer(&data[0]))
		if advisedBytes(t, start, size) == 0 {
			t.Skip("the system takes no advice")
		}
		runtime.GC()
		time.Sleep(time.Millisecond) // meanwhile the advice for freed memory is withdrawn
		if got := advisedBytes(t, start, size); got < size-2*hugePage {
			t.Fatalf("%d bytes carry the advice, want %d", got, size)
		}
		runtime.KeepAlive(data)
	}
}
