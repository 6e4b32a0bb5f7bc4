//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/device/cuda"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
)

// BenchmarkSelect times whole selections: the features are copied to the card first.
func BenchmarkSelect(b *testing.B) {
	card := open(b, 0)
	pool, train := features(200_000, 1), features(4096, 2)
	narrow := func(n, labelled int, mode selection.Mode) selection.Problem[float32] {
		return selection.Problem[float32]{Pool: pool.Slice(0, n), Train: train.Slice(0, labelled),
			Mode: mode, Batch: 256, Seed: 1}
	}
	run(b, card, "lcmd-tp 200000 4096", selection.LCMD{}, narrow(200_000, 4096, selection.TP))
	run(b, card, "lcmd-tp 100000 2048", selection.LCMD{}, narrow(100_000, 2048, selection.TP))
	run(b, card, "maxdist-tp 100000 2048", selection.MaxDist{}, narrow(100_000, 2048, selection.TP))
	run(b, card, "kmeanspp-tp 100000 2048", selection.KMeansPP{}, narrow(100_000, 2048, selection.TP))
	double := selection.Problem[float64]{Pool: matrix.Converted[float64](pool.Slice(0, 100_000)),
		Train: matrix.Converted[float64](train.Slice(0, 2048)), Batch: 256, Seed: 1}
	run(b, card, "maxdet-p 100000", selection.MaxDet{}, double)
	run(b, card, "bait-f-p 100000", selection.BAIT{}, double)
	run(b, card, "bait-fb-p 100000", selection.BAIT{Backward: true}, double)
	run(b, card, "frankwolfe-p 100000", selection.FrankWolfe{}, double)
}

// BenchmarkTrain times whole trainings of the paper's network, 256 epochs with 1024 rows for
// validation.
func BenchmarkTrain(b *testing.B) {
	ctx := device.With(b.Context(), open(b, 0))
	for _, c := range []struct{ rows, networks int }{{4352, 1}, {1024, 1}, {4352, 4}, {4352, 16}, {4352, 64}} {
		b.Run(fmt.Sprintf("%d rows, %d networks", c.rows, c.networks), func(b *testing.B) {
			d := trainingData(c.rows, 1024)
			best, work := math.Inf(1), network.Config{}.Work(10, c.rows, 1024)*float64(c.networks)
			for b.Loop() {
				begin := time.Now()
				if _, _, err := (network.OnDevice{}).Train(ctx, network.Config{}, c.networks, d, nil); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(begin).Seconds())
			}
			b.ReportMetric(best, "best-s")
			b.ReportMetric(best/float64(c.networks), "each-s")
			b.ReportMetric(work/best/1e12, "TFLOP/s")
			b.ReportMetric(best/float64(256*(c.rows/256))*1e6, "step-us")
		})
	}
}

// BenchmarkTrainBeside times trainings of one network each that several goroutines start at
// the same time, as the runs of a benchmark do.
func BenchmarkTrainBeside(b *testing.B) {
	ctx := device.With(b.Context(), open(b, 0))
	d := trainingData(4352, 1024)
	for _, many := range []int{1, 4, 8, 16, 32} {
		b.Run(fmt.Sprintf("%d at once", many), func(b *testing.B) {
			best := math.Inf(1)
			for b.Loop() {
				begin := time.Now()
				var wait sync.WaitGroup
				for i := range many {
					wait.Go(func() {
						if _, _, err := (network.OnDevice{}).Train(ctx, network.Config{Seed: uint64(i)}, 1, d, nil); err != nil {
							b.Error(err)
						}
					})
				}
				wait.Wait()
				best = min(best, time.Since(begin).Seconds())
			}
			b.ReportMetric(best, "best-s")
			b.ReportMetric(best/float64(many), "each-s")
		})
	}
}

// BenchmarkTiles times short trainings with each tile.
func BenchmarkTiles(b *testing.B) {
	ctx := device.With(b.Context(), open(b, 0))
	d := trainingData(4352, 1024)
	for _, networks := range []int{1, 4, 8, 16, 64} {
		for _, tile := range []int{32, 64, 128} {
			b.Run(fmt.Sprintf("%d networks, tile %d", networks, tile), func(b *testing.B) {
				cuda.ForceTile(b, tile)
				for b.Loop() {
					if _, _, err := (network.OnDevice{}).Train(ctx, network.Config{Training: network.Training{Epochs: 16}},
						networks, d, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkGroups times short trainings of many networks in groups.
func BenchmarkGroups(b *testing.B) {
	ctx := device.With(b.Context(), open(b, 0))
	d := trainingData(4352, 1024)
	for _, networks := range []int{8, 16, 32, 64, 128} {
		for _, groups := range []int{1, 2, 3, 4, 8} {
			b.Run(fmt.Sprintf("%d networks, %d groups", networks, groups), func(b *testing.B) {
				cuda.ForceGroups(b, groups)
				for b.Loop() {
					if _, _, err := (network.OnDevice{}).Train(ctx, network.Config{Training: network.Training{Epochs: 16}},
						networks, d, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// trainingData returns rows of ten inputs with labels of the function of Friedman.
func trainingData(rows, valid int) (d network.Data) {
	r := rand.New(rand.NewPCG(4, 4))
	part := func(n int) (x, y matrix.Dense[float32]) {
		x, y = matrix.New[float32](n, 10), matrix.New[float32](n, 1)
		for i := range n {
			v := x.Row(i)
			for j := range v {
				v[j] = float32(r.NormFloat64())
			}
			y.Set(i, 0,
				float32(math.Sin(float64(v[0]*v[1]))+0.5*float64(v[2]*v[2])+0.4*float64(v[3])+0.2*float64(v[4])+0.05*
					r.NormFloat64()))
		}
		return x, y
	}
	d.X, d.Y = part(rows)
	d.ValidX, d.ValidY = part(valid)
	return d
}

func run[T matrix.Float](b *testing.B, d device.Device, name string, m selection.Method, p selection.Problem[T]) {
	b.Run(name, func(b *testing.B) {
		var best *selection.Result
		for b.Loop() {
			r, err := selection.Select(device.With(b.Context(), d), m, p)
			if err != nil {
				b.Fatal(err)
			}
			if best == nil || r.Timing.Total < best.Timing.Total {
				best = r
			}
		}
		for unit, took := range map[string]time.Duration{"init-ms": best.Timing.Init, "train-ms": best.Timing.Train,
			"forward-ms":  best.Timing.Forward,
			"backward-ms": best.Timing.Backward, "report-ms": best.Timing.Report, "best-ms": best.Timing.Total} {
			b.ReportMetric(float64(took.Microseconds())/1000, unit)
		}
	})
}

// features returns rows whose variances fall along 512 directions, as those of sketched
// gradients do.
func features(n int, seed uint64) matrix.Dense[float32] {
	m := matrix.New[float32](n, 512)
	var wait sync.WaitGroup
	const each = 4096
	for from := 0; from < n; from += each {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(from)))
			for i := from; i < min(from+each, n); i++ {
				for j := range m.Row(i) {
					m.Row(i)[j] = float32(r.NormFloat64()) / float32(1+j/8)
				}
			}
		})
	}
	wait.Wait()
	return m
}

// BenchmarkPredict times predictions with standard deviations.
func BenchmarkPredict(b *testing.B) {
	p := wholeProblem(b, 100_000, 1000, 1, 512)
	s := network.Sample{X: p.Train, Y: p.Labels.Data}
	model,
		err := network.Fit(b.Context(), s,
		network.Options{Config: network.Config{Architecture: network.Architecture{Hidden: []int{512, 512}},
			Training: network.Training{Epochs: 1}}})
	if err != nil {
		b.Fatal(err)
	}
	for name, ctx := range map[string]context.Context{"card": device.With(b.Context(), open(b, 0)), "CPU": b.Context()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := model.PredictStd(ctx, p.Pool); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
