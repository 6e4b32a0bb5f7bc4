package linalg

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

func TestTrimDropsUnusedValues(t *testing.T) {
	var l freeList[int]
	three := []*int{l.get(), l.get(), l.get()}
	for _, v := range three {
		l.put(v)
	}
	for i, want := range []int{3, 1, 0} { // all were in use, then one, then none
		if i == 1 {
			l.put(l.get())
		}
		l.trim()
		if len(l.idle) != want {
			t.Errorf("after trim %d the list has %d values, want %d", i+1, len(l.idle), want)
		}
	}
}

func TestCollectionsTrim(t *testing.T) {
	lists := newFreeLists[int, string]()
	lists.f32.put(new(int))
	idle := func() int {
		lists.f32.mu.Lock()
		defer lists.f32.mu.Unlock()
		return len(lists.f32.idle)
	}
	for idle() > 0 { // until the test times out
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// TestLargeEigenScratchIsNotKept looks for scratch memory as large as a large
// matrix.
func TestLargeEigenScratchIsNotKept(t *testing.T) {
	for _, n := range []int{keptOrder + 88, 40} {
		a := randomSPD(rand.New(rand.NewPCG(3, 4)), n)
		if err := SymEigen(nil, make([]float64, n), a, a); err != nil {
			t.Fatal(err)
		}
	}
	list := listOf[eigenJob[float64]](eigenJobs)
	list.mu.Lock()
	defer list.mu.Unlock()
	for _, j := range list.idle {
		if n := cap(j.m.Data); n > 2*keptOrder*keptOrder {
			t.Errorf("scratch of %d elements is kept", n)
		}
	}
}
