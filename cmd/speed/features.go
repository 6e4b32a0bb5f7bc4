package main

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// The shapes of the features section: a pool, the paper's network, its largest
// training set.
const (
	poolRows   = 100_000
	trainRows  = 4096
	poolInputs = 10
	hidden     = 512 // neurons of each of the two hidden layers
	sketched   = 512 // random features
	noise      = 1e-6
)

// featuresSection measures how the features of a pool are computed, on all
// threads. Operations are named as in a spec. A multiplication with its addition
// counts as two floating-point operations; element-wise work does not count.
func featuresSection(b *bench) {
	net, err := network.NewMLP(poolInputs, network.Architecture{Hidden: []int{hidden, hidden}}, 1, 0)
	must(err)
	taps := network.NewTaps(net, kernel.BlockRows, nil)
	gradSketch(b, taps)
	lastLayerTrain(b, taps)
	featuresTrain(b)
}

// forward counts the operations of the two hidden layers per row; the output is not
// needed.
const forward = 2 * ((poolInputs+1)*hidden + (hidden+1)*hidden)

// gradSketch counts, in addition to forward, one backward product, and for each
// layer the two sketch products, of its inputs and of its gradients; the gradient
// of the last layer is 1.
func gradSketch(b *bench, taps *network.Taps) {
	const backward = 2 * hidden * hidden
	const sketch = 2 * sketched * ((poolInputs + 1) + hidden + (hidden + 1) + hidden + (hidden + 1))
	k, err := transform.Sketch(kernels.NewGrad(taps), sketched, transform.Seeded(1, "sketch"), transform.Paper)
	must(err)
	pool := random[float32](poolRows, poolInputs)
	features := matrix.New[float32](poolRows, sketched)
	b.seconds(fmt.Sprintf("grad>sketch(%d)", sketched), size(features), fma32, allThreads(),
		poolRows*(forward+backward+sketch), func(*linalg.Team) { must(k.Features(context.Background(), features, pool)) })
}

// lastLayerTrain counts the forward products, which are in float32 and therefore
// count half against the limit of float64, and what posteriorWork counts.
func lastLayerTrain(b *bench, taps *network.Taps) {
	ll, err := kernels.NewLastLayers(taps, 1)
	must(err)
	k := kernels.ToFloat64(ll)
	train, pool := random[float64](trainRows, poolInputs), random[float64](poolRows, poolInputs)
	features := matrix.New[float64](poolRows, k.Dim())
	b.seconds("ll>train", size(features), fma64, allThreads(),
		(trainRows+poolRows)*forward/2+posteriorWork(k.Dim()), func(*linalg.Team) { trainAndApply(features, k, train, pool) })
}

func featuresTrain(b *bench) {
	train, pool := random[float64](trainRows, sketched), random[float64](poolRows, sketched)
	features := matrix.New[float64](poolRows, sketched)
	k := kernel.NewLinear[float64](sketched)
	b.seconds("features>train", size(features), fma64, allThreads(),
		posteriorWork(sketched), func(*linalg.Team) { trainAndApply(features, k, train, pool) })
}

// posteriorWork counts half of the product ΦᵀΦ of the training features, which is
// symmetric, its Cholesky factorisation, and a product with a triangle per row of
// the pool.
func posteriorWork(dim int) float64 {
	d := float64(dim)
	return trainRows*d*d + d*d*d/3 + poolRows*d*d
}

func trainAndApply(features matrix.Dense[float64], k kernel.Kernel[float64], train, pool matrix.Dense[float64]) {
	after, _, err := transform.Train(context.Background(), k, train, noise)
	must(err)
	must(after.(kernel.FeatureMap[float64]).Features(context.Background(), features, pool))
}

func size[T matrix.Float](m matrix.Dense[T]) string { return fmt.Sprintf("%dx%d", m.Rows, m.Cols) }

// must panics on an error, which is a bug: all inputs are made here.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
