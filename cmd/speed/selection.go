package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
)

// The shapes of the selection section. Slow plain versions are measured on part of
// the pool, unless the section runs alone.
const (
	labelledRows = 2048
	partRows     = 10_000
	batchRows    = 256
	fitEpochs    = 32
)

// selectionSection measures whole selections on the features of a trained
// network, on all threads: a method as it is, and as "plain" the blocked version
// of the paper's algorithm, which does every step for every row. Both pick the
// same rows. Percent is the share of distances, or of products with the
// features, that had to be computed: 100 for the plain version.
func selectionSection(b *bench) {
	pool, train := trainedFeatures()
	distances := selection.Problem[float32]{Pool: pool, Train: train, Mode: selection.TP}
	measureWork(b, selection.LCMD{}, distances)
	measureWork(b, selection.MaxDist{}, distances)
	measureWork(b, selection.KMeansPP{}, distances)

	variances := selection.Problem[float64]{Pool: posteriorOf(pool, train), Mode: selection.P}
	part := variances
	part.Pool = part.Pool.Slice(0, partRows)
	measureWork(b, selection.MaxDet{}, variances)
	for _, m := range []selection.Method{selection.BAIT{}, selection.BAIT{Backward: true}, selection.FrankWolfe{}} {
		if b.alone {
			measureWork(b, m, variances)
			continue
		}
		measure(b, m, variances)
		measureWork(b, m, part)
	}
}

// measureWork measures a method and its plain version, and notes what share of
// the plain version's reads is left.
func measureWork[T matrix.Float](b *bench, m selection.Method, p selection.Problem[T]) {
	shipped := selectBest(m, p)
	p.Plain = true
	plain := selectOnce(m, p)
	b.printSelection(shipped, fmt.Sprintf("reads %.2g %% of the plain version's; %s%s",
		100*shipped.work.Bytes()/plain.work.Bytes(), b.overLimit(shipped), compared(shipped, plain)))
	b.printSelection(plain, b.overLimit(plain))
}

// measure measures a method.
func measure[T matrix.Float](b *bench, m selection.Method, p selection.Problem[T]) {
	r := selectBest(m, p)
	b.printSelection(r, b.overLimit(r))
}

// otherRows begins the note of a line if the picks differ from those of the plain
// version.
const otherRows = " PICKS OTHER ROWS"

func compared(shipped, plain measured) string {
	got, want := shipped.Rows(), plain.Rows()
	if slices.Equal(got, want) {
		return ""
	}
	at := 0
	for got[at] == want[at] {
		at++
	}
	return fmt.Sprintf("%s from the %dth on", otherRows, at+1)
}

// measured is one selection.
type measured struct {
	*selection.Result
	op, shape string
	work      *tally.Counter
	seconds   float64
}

// selectBest runs a method, twice if it takes little, and returns the shorter run.
func selectBest[T matrix.Float](m selection.Method, p selection.Problem[T]) measured {
	const little = 0.3
	first := selectOnce(m, p)
	if first.seconds > little {
		return first
	}
	if second := selectOnce(m, p); second.seconds < first.seconds {
		return second
	}
	return first
}

func selectOnce[T matrix.Float](m selection.Method, p selection.Problem[T]) measured {
	p.Batch, p.Seed = batchRows, 1
	r := measured{op: m.Name() + "-" + p.Mode.String(), shape: size(p.Pool)}
	if p.Plain {
		r.op += " plain"
	}
	ctx, work := tally.With(context.Background())
	start := time.Now()
	result, err := selection.Select(ctx, m, p)
	must(err)
	r.Result, r.work, r.seconds = result, work, time.Since(start).Seconds()
	return r
}

func (b *bench) printSelection(r measured, note string) {
	b.print(line{Section: b.section, Op: r.op, Shape: r.shape, Threads: allThreads(),
		Value: r.seconds, Unit: "s", Percent: 100 * r.work.Computed(), Note: note})
}

// overLimit reports how much longer a selection takes than its reads of the rows
// would take at the limit of the memory. It counts neither operations nor what is
// kept per row besides its features.
func (b *bench) overLimit(r measured) string {
	reads := r.work.Bytes() / 1e9 / b.ceilings[ceiling{memory, allThreads()}]
	return fmt.Sprintf("%.1fx of reads %.2g s at the limit of the memory", r.seconds/reads, reads)
}

// posteriorOf returns the features of the pool after scaling and conditioning on
// the training rows.
func posteriorOf(pool, train matrix.Dense[float32]) matrix.Dense[float64] {
	k := kernel.NewLinear[float64](sketched)
	features := matrix.New[float64](pool.Rows, sketched)
	trainAndApply(features, k, matrix.Converted[float64](train), matrix.Converted[float64](pool))
	return features
}

// trainedFeatures returns gradient sketches of a network that has learned
// Friedman's function from the training rows.
func trainedFeatures() (pool, train matrix.Dense[float32]) {
	x, y := friedman(labelledRows, 1)
	c := network.ReLUPreset()
	c.Training.Epochs = fitEpochs
	net, _, err := network.Train(context.Background(), c, network.Data{X: x, Y: y}, nil)
	must(err)
	k, err := transform.Sketch(kernels.NewGrad(network.NewTaps(net, kernel.BlockRows, nil)), sketched,
		transform.Seeded(1, "sketch"), transform.Paper)
	must(err)
	rows, _ := friedman(poolRows, 2)
	pool, train = matrix.New[float32](poolRows, sketched), matrix.New[float32](labelledRows, sketched)
	must(k.Features(context.Background(), pool, rows))
	must(k.Features(context.Background(), train, x))
	return pool, train
}

// friedman draws rows with ten inputs of variance 1, and noisy labels of Friedman's
// function in units of their standard deviation.
func friedman(rows int, seed uint64) (x, y matrix.Dense[float32]) {
	r := rand.New(rand.NewPCG(seed, 0))
	x, y = matrix.New[float32](rows, poolInputs), matrix.New[float32](rows, 1)
	for i := range rows {
		var u [poolInputs]float64
		for j := range u {
			u[j] = r.Float64()
			x.Set(i, j, float32((u[j]-0.5)*math.Sqrt(12)))
		}
		label := 10*math.Sin(math.Pi*u[0]*u[1]) + 20*(u[2]-0.5)*(u[2]-0.5) + 10*u[3] + 5*u[4] + r.NormFloat64()
		y.Set(i, 0, float32((label-14.4)/5))
	}
	return x, y
}
