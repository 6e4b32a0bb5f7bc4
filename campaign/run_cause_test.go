package campaign

import (
	"context"
	"database/sql"
	"errors"
	"testing"
)

// TestCauseOf: an ask that a run cancels at its end is not an error, whatever the store reports about its transaction.
func TestCauseOf(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if err := causeOf(ctx, sql.ErrTxDone); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("before the end: %v", err)
	}
	cancel()
	if err := causeOf(ctx, sql.ErrTxDone); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if err := causeOf(ctx, nil); err != nil {
		t.Errorf("an ask that was in time: %v", err)
	}
}
