package transform

import (
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// BenchmarkTrain measures the two halves of a posterior in feature space: the fit
// to the training rows, and the features of a pool.
func BenchmarkTrain(b *testing.B) {
	const trainRows, poolRows, dim = 4096, 16384, 512
	r := rand.New(rand.NewPCG(1, 2))
	random := func(rows int) matrix.Dense[float64] {
		m := matrix.New[float64](rows, dim)
		for i := range m.Data {
			m.Data[i] = r.Float64() - 0.5
		}
		return m
	}
	train, pool, features := random(trainRows), random(poolRows), matrix.New[float64](poolRows, dim)
	k := kernel.NewLinear[float64](dim)
	after, _, err := Train(b.Context(), k, train, 1e-6)
	if err != nil {
		b.Fatal(err)
	}
	report := func(b *testing.B, rows int) {
		b.ReportMetric(float64(rows*dim*dim)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	}
	b.Run("fit", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := Train(b.Context(), k, train, 1e-6); err != nil {
				b.Fatal(err)
			}
		}
		report(b, trainRows)
	})
	b.Run("features", func(b *testing.B) {
		for b.Loop() {
			if err := after.(kernel.FeatureMap[float64]).Features(b.Context(), features, pool); err != nil {
				b.Fatal(err)
			}
		}
		report(b, poolRows)
	})
}
