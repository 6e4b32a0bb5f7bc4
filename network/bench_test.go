package network

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/simd"
)

// BenchmarkTrain trains the paper's networks with 1024 rows for validation, for
// as many epochs as keep a run below a second, and reports the speed of the
// matrix products and what part of the arithmetic ceiling it is, measured in the
// same run.
//
//	go test -run '^$' -bench Train -benchtime 3x ./network
func BenchmarkTrain(b *testing.B) {
	for _, a := range []Activation{ReLU, SiLU} {
		for _, inputs := range []int{10, 379} {
			for _, rows := range []int{256, 1024, 4352} {
				b.Run(fmt.Sprintf("%v/%dx%d", a, rows, inputs), func(b *testing.B) { benchmarkTrain(b, a, rows, inputs) })
			}
		}
	}
}

func benchmarkTrain(b *testing.B, a Activation, rows, inputs int) {
	const validRows = 1024
	c := Config{Architecture: Architecture{Activation: a}}.WithDefaults()
	c.Training.Epochs = 256 * 256 / rows
	d := wave(1, rows, validRows, inputs, 1)
	best := time.Duration(1 << 62)
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		if _, _, err := Train(context.Background(), c, d, nil); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	b.StopTimer()
	speed := c.Work(inputs, rows, validRows) / best.Seconds() / 1e9
	b.ReportMetric(speed, "GFLOP/s")
	b.ReportMetric(100*speed/peak(), "%peak")
}

// BenchmarkStep is one step on a mini-batch of 256 rows: 0 bytes allocated.
func BenchmarkStep(b *testing.B) {
	for _, a := range []Activation{ReLU, SiLU} {
		for _, inputs := range []int{10, 379} {
			b.Run(fmt.Sprintf("%v/%d", a, inputs), func(b *testing.B) {
				c := Config{Architecture: Architecture{Activation: a}}.WithDefaults()
				d := wave(1, 1024, 0, inputs, 1)
				tr := newTraining(mustInit(b, inputs, c), c.Training, d, rng.New(1, "order"))
				tr.order.Permute(tr.rows)
				tr.take(tr.rows[:tr.batch])
				tr.steps = b.N + 2
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					at := i % 4 * tr.batch
					tr.take(tr.rows[at : at+tr.batch])
				}
				c.Training.Epochs = 1
				b.ReportMetric(c.Work(inputs, tr.batch, 0)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// fmaLoops measures the multiply-adds that all threads can do.
type fmaLoops struct{ rounds int }

func (f *fmaLoops) Do(int, int) { simd.For[Real]().FMALoop(f.rounds) }

// peak returns the arithmetic ceiling of all threads in GFLOP/s.
func peak() float64 {
	var team *linalg.Team
	best := 0.0
	job := &fmaLoops{1 << 16}
	perRound := float64(simd.For[Real]().FMALoop(1<<10)) / (1 << 10)
	for range 20 {
		start := time.Now()
		team.Run(team.Threads(), job)
		work := perRound * float64(job.rounds) * float64(team.Threads())
		best = max(best, work/time.Since(start).Seconds()/1e9)
	}
	return best
}
