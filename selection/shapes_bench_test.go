package selection_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// shapes are rows that bounds may rule out little of, each feature made by the
// numbers of row and column. A row of them has 512 features.
var shapes = []struct {
	name string
	at   func(r *rand.Rand, i, j int) float64
}{
	{"decaying", func(r *rand.Rand, _, j int) float64 { return r.NormFloat64() / (1 + float64(j)/8) }},
	{"isotropic 512", func(r *rand.Rand, _, _ int) float64 { return r.NormFloat64() }},
	{"isotropic 120", func(r *rand.Rand, _, j int) float64 { return among(j, 120) * r.NormFloat64() }},
	{"isotropic 60", func(r *rand.Rand, _, j int) float64 { return among(j, 60) * r.NormFloat64() }},
	{"low dimension", func(r *rand.Rand, _, j int) float64 { return among(j, 6) * r.NormFloat64() }},
	{"clustered", func(r *rand.Rand, i, j int) float64 {
		return math.Cos(float64((i%40)*(j+3))) + 0.01*r.NormFloat64()
	}},
	{"equally far", func(_ *rand.Rand, i, j int) float64 { return 1 - among(max(i%512, j)-min(i%512, j)+1, 2) }},
	{"duplicates", func(_ *rand.Rand, i, j int) float64 { return math.Sin(float64((i % 100) * (j + 1))) }},
	{"other sizes", func(r *rand.Rand, i, _ int) float64 { return r.NormFloat64() * math.Pow(10, float64(i%7-3)) }},
}

// among is 1 for the first n columns.
func among(j, n int) float64 {
	if j < n {
		return 1
	}
	return 0
}

func shaped[T matrix.Float](at func(r *rand.Rand, i, j int) float64, rows int, seed uint64) matrix.Dense[T] {
	r := rand.New(rand.NewPCG(seed, 3))
	m := matrix.New[T](rows, 512)
	for i := range rows {
		row := m.Row(i)
		for j := range row {
			row[j] = T(at(r, i, j))
		}
	}
	return m
}

// BenchmarkShapes selects 128 of 30000 rows and reports the time of each method
// as a multiple of its plain version's, on rows of all shapes:
//
//	go test ./selection -run ^$ -bench Shapes -benchtime 3x
func BenchmarkShapes(b *testing.B) {
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			p := selection.Problem[float32]{Pool: shaped[float32](s.at, 30000, 1),
				Train: shaped[float32](s.at, 1024, 2), Batch: 128, Seed: 1}
			for _, m := range []selection.Method{selection.LCMD{}, selection.MaxDist{}, selection.KMeansPP{}} {
				for _, p.Mode = range []selection.Mode{selection.P, selection.TP} {
					b.Run(m.Name()+"-"+p.Mode.String(), func(b *testing.B) { benchAgainstPlain(b, m, p) })
				}
			}
			q := selection.Problem[float64]{Pool: matrix.Converted[float64](p.Pool), Batch: 128, Seed: 1}
			for _, m := range []selection.Method{selection.MaxDet{}, selection.BAIT{}, selection.BAIT{Backward: true},
				selection.FrankWolfe{}} {
				b.Run(m.Name()+"-p", func(b *testing.B) { benchAgainstPlain(b, m, q) })
			}
		})
	}
}

// benchAgainstPlain runs both versions in turn and compares their shortest times.
func benchAgainstPlain[T matrix.Float](b *testing.B, m selection.Method, p selection.Problem[T]) {
	shortest := [2]float64{math.Inf(1), math.Inf(1)}
	for b.Loop() {
		for i := range shortest {
			p.Plain = i == 1
			start := time.Now()
			if _, err := selection.Select(context.Background(), m, p); err != nil {
				b.Fatal(err)
			}
			shortest[i] = min(shortest[i], time.Since(start).Seconds())
		}
	}
	b.ReportMetric(shortest[0]/shortest[1], "of-plain")
	b.ReportMetric(1e3*shortest[1], "plain-ms")
}
