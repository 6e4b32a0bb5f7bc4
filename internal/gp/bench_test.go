package gp

import (
	"fmt"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
)

// BenchmarkFit and BenchmarkPredict run on one thread.
func BenchmarkFit(b *testing.B) {
	for _, n := range []int{64, 256, 1024} {
		rows, labels := drawn(n, 10)
		b.Run(fmt.Sprintf("labels=%d/inputs=10", n), func(b *testing.B) {
			ctx := linalg.WithThreads(b.Context(), 1)
			for b.Loop() {
				if _, err := Fit(ctx, Data{Inputs: rows, Labels: labels}, Config{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPredict(b *testing.B) {
	rows, labels := drawn(1024, 10)
	tests, _ := drawn(2000, 10)
	ctx := linalg.WithThreads(b.Context(), 1)
	m, err := Fit(ctx, Data{Inputs: rows.Slice(0, 256), Labels: labels[:256]}, Config{})
	if err != nil {
		b.Fatal(err)
	}
	d := m.Describe()
	d.Rows, d.Labels = rows.Data, labels
	if m, err = Restore(ctx, d); err != nil {
		b.Fatal(err)
	}
	b.Run("labels=1024/rows=2000/mean", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.PredictMean(ctx, tests); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("labels=1024/rows=2000/variance", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := m.Predict(ctx, tests); err != nil {
				b.Fatal(err)
			}
		}
	})
}
