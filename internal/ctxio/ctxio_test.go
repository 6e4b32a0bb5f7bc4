package ctxio_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/ctxio"
)

func TestReaderEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := ctxio.Reader(ctx, strings.NewReader("ab"))
	one := make([]byte, 1)
	if n, err := r.Read(one); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	cancel()
	if rest, err := io.ReadAll(r); err != context.Canceled || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}
