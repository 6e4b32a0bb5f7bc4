package linalg

import (
	"sync"

	"github.com/nextbatch/nextbatch/matrix"
)

// freeList keeps values for another use. Unlike sync.Pool it never drops them,
// so a steady state allocates nothing; it holds as many as were ever in use at
// the same time.
type freeList[V any] struct {
	mu   sync.Mutex
	idle []*V
}

func (l *freeList[V]) get() *V {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle); n > 0 {
		v := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return v
	}
	return new(V)
}

func (l *freeList[V]) put(v *V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, v)
}

// freeLists is a free list for each element type, of values that depend on it.
type freeLists[V32, V64 any] struct {
	f32 freeList[V32]
	f64 freeList[V64]
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
