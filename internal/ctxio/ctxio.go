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
