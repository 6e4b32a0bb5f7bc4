package matrix

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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

// advisedBytes is the size of the mappings of this process that carry the advice.
func advisedBytes(t *testing.T) (sum int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	size := 0
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case fields[0] == "Size:":
			size, _ = strconv.Atoi(fields[1])
		case fields[0] == "VmFlags:" && slices.Contains(fields, "hg"):
			sum += size << 10
		}
	}
	return sum
}

// TestAdviceIsWithdrawn waits until the garbage collector has freed a large
// allocation. If the advice stayed in place, a few small objects there would take
// up all of its memory again.
func TestAdviceIsWithdrawn(t *testing.T) {
	t.Parallel()
	before := advisedBytes(t)
	const size = 256 << 20
	data := Alloc[float32](size / 4)
	if advisedBytes(t) < before+size/2 {
		t.Skip("the system takes no advice")
	}
	runtime.KeepAlive(data)
	for advisedBytes(t) > before { // until the test times out
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// TestAdviceOfASuccessorStays allocates again and again where memory was freed.
func TestAdviceOfASuccessorStays(t *testing.T) {
	t.Parallel()
	if Alloc[float32](64 << 20); advisedBytes(t) == 0 {
		t.Skip("the system takes no advice")
	}
	for range 10 {
		const size = 64 << 20
		data := Alloc[float32](size / 4)
		runtime.GC()
		time.Sleep(time.Millisecond) // meanwhile the advice for freed memory is withdrawn
		if got := advisedBytes(t); got < size-2*hugePage {
			t.Fatalf("%d bytes carry the advice, want %d", got, size)
		}
		runtime.KeepAlive(data)
	}
}
