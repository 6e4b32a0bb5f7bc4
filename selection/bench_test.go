package selection_test

import (
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// The benchmarks select 32 of 50000 rows with 512 features that fall off as
// those of a sketched network do, 1024 training rows; a batch of 256 takes eight
// times the forward step.
func benchProblem[T matrix.Float](mode selection.Mode) selection.Problem[T] {
	return selection.Problem[T]{Pool: decaying[T](50000, 512, 1), Train: decaying[T](1024, 512, 2), Batch: 32, Mode: mode}
}

// decaying has normal features whose deviations are 1/(1 + j/8).
func decaying[T matrix.Float](n, d int, seed uint64) matrix.Dense[T] {
	r := rand.New(rand.NewPCG(seed, 0))
	m := matrix.New[T](n, d)
	for i := range n {
		row := m.Row(i)
		for j := range row {
			row[j] = T(r.NormFloat64() / (1 + float64(j)/8))
		}
	}
	return m
}

func BenchmarkDistances(b *testing.B) {
	p := benchProblem[float32](selection.TP)
	for _, m := range []selection.Method{selection.LCMD{}, selection.MaxDist{}, selection.KMeansPP{}} {
		b.Run(m.Name()+"-tp", func(b *testing.B) { benchSelect(b, m, p) })
	}
}

func BenchmarkVariances(b *testing.B) {
	p := benchProblem[float64](selection.P)
	methods := []selection.Method{selection.MaxDet{}, selection.BAIT{}, selection.BAIT{Backward: true},
		selection.FrankWolfe{}}
	for _, m := range methods {
		b.Run(m.Name()+"-p", func(b *testing.B) { benchSelect(b, m, p) })
	}
	p.Mode = selection.TP
	b.Run("maxdet-tp", func(b *testing.B) { benchSelect(b, methods[0], p) })
	b.Run("bait-f-tp", func(b *testing.B) { benchSelect(b, methods[1], p) })
}

func benchSelect[T matrix.Float](b *testing.B, m selection.Method, p selection.Problem[T]) {
	var t selection.Timing
	for b.Loop() {
		r, err := selection.Select(b.Context(), m, p)
		if err != nil {
			b.Fatal(err)
		}
		t.Init += r.Timing.Init
		t.Train += r.Timing.Train
		t.Forward += r.Timing.Forward
	}
	n := float64(b.N)
	b.ReportMetric(t.Init.Seconds()*1e3/n, "init-ms")
	b.ReportMetric(t.Train.Seconds()*1e3/n, "train-ms")
	b.ReportMetric(t.Forward.Seconds()*1e3/n/float64(p.Batch), "ms/step")
}
