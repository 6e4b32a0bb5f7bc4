package nextbatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/nextbatch/nextbatch"
)

// endsAfter is a context that is cancelled once somebody has looked at it so
// many times.
type endsAfter struct {
	context.Context
	limit int64
	looks atomic.Int64 // from any thread
}

func (c *endsAfter) Err() error {
	if c.looks.Add(1) > c.limit {
		return context.Canceled
	}
	return nil
}

// TestSelectCancelled ends every kind of selection at many places, from the
// first block of the kernel to the last step.
func TestSelectCancelled(t *testing.T) {
	p := smallProblem(t)
	for _, published := range nextbatch.PublishedSpecs() {
		spec := small(t, published)
		whole := &endsAfter{Context: t.Context(), limit: 1 << 30}
		if _, err := nextbatch.Select(whole, spec, p); err != nil {
			t.Fatalf("%v: %v", spec, err)
		}
		if whole.looks.Load() <= int64(p.Batch) {
			t.Errorf("%v looks %d times at the context, for %d steps", spec, whole.looks.Load(), p.Batch)
		}
		for limit, next := int64(0), int64(1); limit < whole.looks.Load(); limit, next = next, limit+next {
			ctx := &endsAfter{Context: t.Context(), limit: limit}
			batch, err := nextbatch.Select(ctx, spec, p)
			if !errors.Is(err, context.Canceled) || batch != nil {
				t.Fatalf("%v, cancelled after %d looks: %v, error %v", spec, limit, batch, err)
			}
			if after := ctx.looks.Load() - limit; after > 12 { // all pieces of a pass look
				t.Errorf("%v goes on for %d looks after the end", spec, after)
			}
		}
	}
}

func TestFeaturesCancelled(t *testing.T) {
	p := smallProblem(t)
	spec := nextbatch.MustParseSpec("maxdet-p:grad>sketch(24)>train")
	for limit := range int64(3) {
		if _, err := nextbatch.Features(&endsAfter{Context: t.Context(), limit: limit}, spec, p, p.Pool); !errors.Is(err, context.Canceled) {
			t.Errorf("features, cancelled after %d looks: %v", limit, err)
		}
		if _, err := nextbatch.Gram(&endsAfter{Context: t.Context(), limit: limit}, spec, p, p.Pool, p.Train); !errors.Is(err, context.Canceled) {
			t.Errorf("matrix, cancelled after %d looks: %v", limit, err)
		}
	}
}
