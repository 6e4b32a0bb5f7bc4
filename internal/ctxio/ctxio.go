// Package ctxio makes readers stop when a context ends.
package ctxio

import (
	"context"
	"io"
)

// Reader returns a reader that stops when the context ends. The context is
// checked once per block.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

type reader struct {
	ctx  context.Context
	from io.Reader
}

func (r *reader) Read(to []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(to)
}

// Detached returns a reader that stops when the context ends even while r waits
// for bytes, as a terminal or a pipe may do for ever. Such a read of r is
// abandoned, and its bytes are lost. Calls must not overlap.
func Detached(ctx context.Context, r io.Reader) io.Reader {
	return &detached{ctx: ctx, from: r, results: make(chan result, 1)}
}

type detached struct {
	ctx     context.Context
	from    io.Reader
	buffer  []byte
	results chan result // of the read under way
	waiting bool        // for a result
	rest    result      // what is not yet returned
}

type result struct {
	bytes []byte
	err   error
}

const detachedBlock = 64 << 10

func (d *detached) Read(to []byte) (int, error) {
	if len(d.rest.bytes) == 0 && d.rest.err == nil {
		if err := d.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(to, d.rest.bytes)
	if d.rest.bytes = d.rest.bytes[n:]; len(d.rest.bytes) > 0 {
		return n, nil
	}
	err := d.rest.err
	d.rest.err = nil
	return n, err
}

// fetch reads a block in another goroutine.
func (d *detached) fetch() error {
	if d.ctx.Err() != nil {
		return d.ctx.Err()
	}
	if d.buffer == nil {
		d.buffer = make([]byte, detachedBlock)
	}
	if !d.waiting {
		d.waiting = true
		go func() {
			n, err := d.from.Read(d.buffer)
			d.results <- result{d.buffer[:n], err}
		}()
	}
	select {
	case d.rest = <-d.results:
		d.waiting = false
		return nil
	case <-d.ctx.Done():
		return d.ctx.Err()
	}
}
