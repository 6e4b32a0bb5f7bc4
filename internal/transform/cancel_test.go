package transform_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// cancelling is a feature map that cancels a context when it has seen a block of rows.
type cancelling struct {
	kernel.FeatureMap[float64]
	cancel context.CancelFunc
	blocks int
}

func (m *cancelling) Features(ctx context.Context, dst, rows matrix.Dense[float64]) error {
	m.blocks++
	m.cancel()
	return m.FeatureMap.Features(ctx, dst, rows)
}

// TestPosteriorIsCancelled: a posterior checks the context once per block of training
// rows.
func TestPosteriorIsCancelled(t *testing.T) {
	t.Parallel()
	train := matrix.New[float64](3*kernel.BlockRows, 4)
	rng.FillNormal(rng.New(1, "cancel test"), train.Data)
	ctx, cancel := context.WithCancel(t.Context())
	m := &cancelling{FeatureMap: kernel.NewLinear[float64](4), cancel: cancel}
	_, _, err := transform.Posterior(ctx, kernel.NewFeatureMap[float64](m), train, 1e-3)
	if !errors.Is(err, context.Canceled) || m.blocks != 1 {
		t.Errorf("error %v after %d blocks", err, m.blocks)
	}
}
