package linalg

import (
	"runtime"
	"slices"
	"sync"

	"github.com/nextbatch/nextbatch/matrix"
)

// freeList keeps values for another use. Unlike sync.Pool it keeps them for every
// thread alike, and in the order of their use: it holds as many as were in use at
// the same time, and the one whose memory is in the cache comes first.
type freeList[V any] struct {
	mu    sync.Mutex
	idle  []*V
	spare int // the fewest that were idle at any time since the last trim
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

// trim drops what nobody has used since the trim before.
func (l *freeList[V]) trim() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = slices.Delete(l.idle, 0, l.spare)
	l.spare = len(l.idle)
}

// freeLists is a free list for each element type, of values that depend on it.
type freeLists[V32, V64 any] struct {
	f32 freeList[V32]
	f64 freeList[V64]
}

func (l *freeLists[V32, V64]) trim() {
	l.f32.trim()
	l.f64.trim()
}

// newFreeLists returns lists that are trimmed after each garbage collection: what
// serves now stays, and a process that has gone idle gives its scratch back.
func newFreeLists[V32, V64 any]() *freeLists[V32, V64] {
	l := &freeLists[V32, V64]{}
	trimAfterCollection(l)
	return l
}

// trimAfterCollection trims when an object that nobody refers to is collected, and
// then waits for the next one.
func trimAfterCollection(l interface{ trim() }) {
	type marker struct{ _ *marker } // with a pointer, so that it shares its memory with nothing
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

// grow returns a slice of length n, the given one if it is long enough. The
// contents are undefined.
func grow[T matrix.Float](buf []T, n int) []T {
	if cap(buf) >= n {
		return buf[:n]
	}
	return matrix.Alloc[T](n)
}
