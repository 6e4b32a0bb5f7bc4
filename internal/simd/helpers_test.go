package simd

import (
	"math/rand/v2"
	"testing"
)

func random[T Float](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.NormFloat64())
	}
	return x
}

// guard surrounds a buffer with values that must not change.
type guard[T Float] struct{ all, body []T }

const (
	guardLen   = 67
	guardValue = 1234567
)

// guarded returns a guarded copy of x, which starts at an odd address.
func guarded[T Float](x []T) guard[T] {
	all := make([]T, len(x)+2*guardLen)
	for i := range all {
		all[i] = guardValue
	}
	body := all[guardLen : guardLen+len(x) : guardLen+len(x)]
	copy(body, x)
	return guard[T]{all, body}
}

func (g guard[T]) check(t *testing.T) {
	t.Helper()
	for i, v := range g.all {
		inside := i >= guardLen && i < guardLen+len(g.body)
		if !inside && v != guardValue {
			t.Fatalf("wrote outside the slice, at %d of %d", i-guardLen, len(g.body))
		}
	}
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

// Available returns all sets that this CPU can run, "go" first.
func Available[T Float]() []*Set[T] {
	sets := make([]*Set[T], len(available32))
	for i := range sets {
		sets[i] = pick[T](available32[i], available64[i])
	}
	return sets
}
