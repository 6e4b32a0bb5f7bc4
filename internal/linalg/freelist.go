package linalg

import (
	"runtime"
	"slices"
	"sync"

	"github.com/nextbatch/nextbatch/matrix"
)

// freeList keeps values for reuse. Unlike sync.Pool, it serves all threads from
// one list, and the value used last comes first, whose memory is still in the
// cache. It holds as many values as were in use at the same time.
type freeList[V any] struct {
	mu    sync.Mutex
	idle  []*V
	spare int // the smallest number of idle values since the last trim
}

func (l *freeList[V]) get() *V {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.idle)
	if n == 0 {
		return new(V)
	}
	v := l.idle[n-1]
	l.idle[n-1] = nil
	l.idle = l.idle[:n-1]
	l.spare = min(l.spare, n-1)
	return v
}

func (l *freeList[V]) put(v *V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, v)
}

// trim drops the values that have not been used since the previous trim.
func (l *freeList[V]) trim() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = slices.Delete(l.idle, 0, l.spare)
	l.spare = len(l.idle)
}

// freeLists is one free list per element type.
type freeLists[V32, V64 any] struct {
	f32 freeList[V32]
	f64 freeList[V64]
}

func (l *freeLists[V32, V64]) trim() {
	l.f32.trim()
	l.f64.trim()
}

// newFreeLists returns lists that are trimmed after each garbage collection: values
// in regular use stay, and an idle process releases its scratch memory.
func newFreeLists[V32, V64 any]() *freeLists[V32, V64] {
	l := &freeLists[V32, V64]{}
	trimAfterCollection(l)
	return l
}

// trimAfterCollection trims the lists when an unreferenced object is collected,
// and then sets up the next such object.
func trimAfterCollection(l interface{ trim() }) {
	type marker struct{ _ *marker } // with a pointer, so that it is not batched with other tiny objects
	runtime.AddCleanup(&marker{}, func(l interface{ trim() }) {
		l.trim()
		trimAfterCollection(l)
	}, l)
}

// listOf returns the list of the pair that holds values of type V.
func listOf[V, V32, V64 any](l *freeLists[V32, V64]) *freeList[V] {
	if list, ok := any(&l.f32).(*freeList[V]); ok {
		return list
	}
	return any(&l.f64).(*freeList[V])
}

// grow returns a slice of length n with undefined contents. It reuses the given
// one if that is long enough.
func grow[T matrix.Float](buf []T, n int) []T {
	if cap(buf) >= n {
		return buf[:n]
	}
	return matrix.Alloc[T](n)
}
