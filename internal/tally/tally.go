// Package tally counts what an algorithm that rules out most of its work still has to
// do, for `make bench` and for tests. A context carries the counter; without one
// nothing is counted.
package tally

import (
	"context"
	"sync/atomic"
	"unsafe"
)

// Counter counts. Its methods may be called on nil, and from any goroutine.
type Counter struct{ bytes, pairs, computed atomic.Int64 }

type key struct{}

// With returns a context that carries a new counter.
func With(ctx context.Context) (context.Context, *Counter) {
	c := new(Counter)
	return context.WithValue(ctx, key{}, c), c
}

// Of returns the counter that the context carries, nil if there is none.
func Of(ctx context.Context) *Counter {
	c, _ := ctx.Value(key{}).(*Counter)
	return c
}

// Read counts bytes that were read: features, and what stands for them where bounds
// rule out rows.
func (c *Counter) Read(bytes int) {
	if c != nil {
		c.bytes.Add(int64(bytes))
	}
}

// Rows counts rows of the given width in numbers of type T as read.
func Rows[T any](c *Counter, rows, cols int) {
	var zero T
	c.Read(rows * cols * int(unsafe.Sizeof(zero)))
}

// Pairs counts pairs of a row and a selected row that the plain algorithm would
// compute, and those of them that were computed.
func (c *Counter) Pairs(all, computed int64) {
	if c != nil {
		c.pairs.Add(all)
		c.computed.Add(computed)
	}
}

// Bytes is how many bytes were read.
func (c *Counter) Bytes() float64 { return float64(c.bytes.Load()) }

// Computed is the share of pairs that had to be computed: 1 if none could be ruled
// out.
func (c *Counter) Computed() float64 {
	if c.pairs.Load() == 0 {
		return 1
	}
	return float64(c.computed.Load()) / float64(c.pairs.Load())
}
