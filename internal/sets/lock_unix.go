//go:build unix

package sets

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// noFollow makes os.OpenFile refuse a link.
const noFollow = syscall.O_NOFOLLOW

// lockFolder waits until no other process fetches into the folder: two that
// write the same part would corrupt it. The lock ends with the process, however
// that ends.
func lockFolder(ctx context.Context, dir string) (unlock func(), err error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) { // we hold it, or the file system has no locks
			return func() { _ = folder.Close() }, nil
		}
		if !sleep(ctx, 100*time.Millisecond) {
			_ = folder.Close()
			return nil, ctx.Err()
		}
	}
}
