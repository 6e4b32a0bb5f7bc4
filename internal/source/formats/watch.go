package formats

import (
	"context"
	"os"
	"time"
)

// watchedAt is random-access content that can be read until the context ends.
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

// release makes reads of the file return when the context ends, even one that
// waits for the other end of a pipe. The returned function undoes that.
func release(ctx context.Context, file *os.File) (stop func() bool) {
	// regular files have no deadline and never wait
	return context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Now()) })
}

// ended replaces an error that the end of the context caused: the file is not damaged.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
