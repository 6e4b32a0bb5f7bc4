package source

import (
	"context"
	"io"
	"os"
	"time"
)

// watched is a reader that ends with the context, which is checked once per block.
func watched(ctx context.Context, r io.Reader) io.Reader { return &contextReader{ctx, r} }

type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (r *contextReader) Read(to []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(to)
}

// watchedAt is watched for content that is read at any place.
type watchedAt struct {
	sized
	ctx context.Context
}

func (r watchedAt) ReadAt(to []byte, at int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.sized.ReadAt(to, at)
}

// release makes a read of the file return when the context ends, also one that
// waits for the other end of a pipe. The returned function stops that.
func release(ctx context.Context, file *os.File) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Now()) }) // regular files have no deadline and never wait
}

// ended replaces an error that the end of the context caused: such a file is not
// damaged.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
