package trees

import (
	"context"
	"fmt"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
)

// All benchmarks run on one thread, on 20 numeric columns.

func BenchmarkBoosting(b *testing.B) {
	for _, rows := range []int{64, 256, 1024, 4096} {
		b.Run(fmt.Sprintf("rows=%d/rounds=100", rows), func(b *testing.B) {
			ctx, d := linalg.WithThreads(context.Background(), 1), numeric(rows, 20, 1)
			for b.Loop() {
				if _, err := FitBoosting(ctx, d, BoostingConfig{Rounds: 100}, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkExtraTrees(b *testing.B) {
	for _, rows := range []int{64, 256, 1024, 4096} {
		b.Run(fmt.Sprintf("rows=%d/trees=100", rows), func(b *testing.B) {
			ctx, d := linalg.WithThreads(context.Background(), 1), numeric(rows, 20, 1)
			for b.Loop() {
				if _, err := FitExtraTrees(ctx, d, ExtraConfig{Trees: 100}, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPredict(b *testing.B) {
	ctx, d, rows := linalg.WithThreads(context.Background(), 1), numeric(1024, 20, 1), numeric(10000, 20, 2).Inputs
	boosting, err := FitBoosting(ctx, d, BoostingConfig{Rounds: 100}, 1)
	if err != nil {
		b.Fatal(err)
	}
	extra, err := FitExtraTrees(ctx, d, ExtraConfig{Trees: 100}, 1)
	if err != nil {
		b.Fatal(err)
	}
	for name, m := range map[string]*Model{"boosting": boosting, "extra trees": extra} {
		b.Run(name+"/trees=100/rows=10000", func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Predict(ctx, rows); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
