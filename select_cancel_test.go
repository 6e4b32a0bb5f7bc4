package nextbatch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/spec"
)

// endsAfter is a context that is cancelled once it has been checked limit times.
type endsAfter struct {
	context.Context
	checks, limit int
}

func (c *endsAfter) Err() error {
	if c.checks++; c.checks > c.limit {
		return context.Canceled
	}
	return nil
}

// TestSelectCancelled cancels every kind of selection at many points, from the first
// block of the kernel to the last step.
func TestSelectCancelled(t *testing.T) {
	t.Parallel()
	p := smallProblem(t)
	for _, published := range spec.Published() {
		spec := small(t, published)
		whole := &endsAfter{Context: t.Context(), limit: 1 << 30}
		if _, err := nextbatch.Select(whole, spec, p); err != nil {
			t.Fatalf("%v: %v", spec, err)
		}
		if whole.checks <= p.Batch {
			t.Errorf("%v checks the context %d times in %d steps", spec, whole.checks, p.Batch)
		}
		for limit, next := 0, 1; limit < whole.checks; limit, next = next, limit+next {
			ctx := &endsAfter{Context: t.Context(), limit: limit}
			batch, err := nextbatch.Select(ctx, spec, p)
			if !errors.Is(err, context.Canceled) || batch != nil {
				t.Fatalf("%v, cancelled after %d checks: %v, error %v", spec, limit, batch, err)
			}
			if ctx.checks > limit+5 {
				t.Errorf("%v continues for %d checks after it was cancelled", spec, ctx.checks-limit)
			}
		}
	}
}

func TestFeaturesCancelled(t *testing.T) {
	t.Parallel()
	p := smallProblem(t)
	spec := spec.MustParse("maxdet-p:grad>sketch(24)>train")
	for limit := range 3 {
		if _, err := nextbatch.Features(&endsAfter{Context: t.Context(), limit: limit}, spec, p,
			p.Pool); !errors.Is(err, context.Canceled) {
			t.Errorf("features, cancelled after %d checks: %v", limit, err)
		}
		if _, err := nextbatch.Gram(&endsAfter{Context: t.Context(), limit: limit}, spec, p, p.Pool,
			p.Train); !errors.Is(err, context.Canceled) {
			t.Errorf("matrix, cancelled after %d checks: %v", limit, err)
		}
	}
}
