package transform_test

import (
	"runtime"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// The features of a pool are the only large thing in memory: everything that is
// allocated along with them, including the sketch and the network's blocks, adds
// at most 15 %.
func TestMemoryOfASketchedPool(t *testing.T) {
	const rows, inputs, p = 40_000, 10, 256
	net, err := network.NewMLP(inputs, network.Architecture{Hidden: []int{128, 128}}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	pool := matrix.New[float32](rows, inputs)
	rng.FillNormal(rng.New(1, "pool"), pool.Data)
	before := allocated()
	taps := network.NewTaps(net, kernel.BlockRows, nil)
	k := must(transform.Sketch(kernels.NewGrad(taps), p, transform.Seeded(1, "sketch"), transform.Paper))
	features, err := kernels.FeatureMatrix(t.Context(), k, pool)
	if err != nil {
		t.Fatal(err)
	}
	bytes := float64(allocated() - before)
	if bound := 1.15 * rows * p * 4; bytes > bound {
		t.Errorf("%.1f MB for %d x %d features, at most %.1f MB expected", bytes/1e6, features.Rows, features.Cols, bound/1e6)
	}
}

func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
