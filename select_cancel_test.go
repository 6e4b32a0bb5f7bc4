package nextbatch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/spec"
)

// endsAfter is a context that is cancelled once somebody has looked at it so
// many times.
type endsAfter struct {
	context.Context
	looks, limit int
}

func (c *endsAfter) Err() error {
	if c.looks++; c.looks > c.limit {
		return context.Canceled
	}
	return nil
}

// TestSelectCancelled ends every kind of selection at many places, from the
// first block of the kernel to the last step.
func TestSelectCancelled(t *testing.T) {
	p := smallProblem(t)
	for _, published := range spec.Published() {
		spec := small(t, published)
		whole := &endsAfter{Context: t.Context(), limit: 1 << 30}
		if _, err := nextbatch.Select(whole, spec, p); err != nil {
			t.Fatalf("%v: %v", spec, err)
		}
		if whole.looks <= p.Batch {
			t.Errorf("%v looks %d times at the context, for %d steps", spec, whole.looks, p.Batch)
		}
		for limit, next := 0, 1; limit < whole.looks; limit, next = next, limit+next {
			ctx := &endsAfter{Context: t.Context(), limit: limit}
			batch, err := nextbatch.Select(ctx, spec, p)
			if !errors.Is(err, context.Canceled) || batch != nil {
				t.Fatalf("%v, cancelled after %d looks: %v, error %v", spec, limit, batch, err)
			}
			if ctx.looks > limit+5 {
				t.Errorf("%v goes on for %d looks after the end", spec, ctx.looks-limit)
			}
		}
	}
}

func TestFeaturesCancelled(t *testing.T) {
	p := smallProblem(t)
	spec := spec.MustParse("maxdet-p:grad>sketch(24)>train")
	for limit := range 3 {
		if _, err := nextbatch.Features(&endsAfter{Context: t.Context(), limit: limit}, spec, p, p.Pool); !errors.Is(err, context.Canceled) {
			t.Errorf("features, cancelled after %d looks: %v", limit, err)
		}
		if _, err := nextbatch.Gram(&endsAfter{Context: t.Context(), limit: limit}, spec, p, p.Pool, p.Train); !errors.Is(err, context.Canceled) {
			t.Errorf("matrix, cancelled after %d looks: %v", limit, err)
		}
	}
}
