package learner

import (
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// TestRowsStandForThePool: of rows that were labelled nine times as often on one side, those on the other
// side stand for more rows of the pool, about as many times; rows that were drawn at random stand for about one each.
func TestRowsStandForThePool(t *testing.T) {
	draw := rng.New(3, "learner: rows on two sides")
	sample := func(rows int, right float64) matrix.Dense[float32] {
		x := matrix.New[float32](rows, 2)
		for i := range rows {
			side := draw.Float64()
			if draw.Float64() >= right {
				side = -side
			}
			x.Set(i, 0, float32(side))
			x.Set(i, 1, float32(draw.NormFloat64()))
		}
		return x
	}
	stand := func(labelled matrix.Dense[float32]) []float64 {
		task, err := newTask(t.Context(), network.Sample{X: labelled, Y: make([]float64, labelled.Rows), Unlabelled: sample(3000, 0.5)}, Options{Kind: Auto})
		if err != nil {
			t.Fatal(err)
		}
		return task.Stand
	}
	biased := sample(300, 0.9)
	for _, pool := range []matrix.Dense[float32]{sample(3000, 0.5), biased} {
		y := make([]float64, biased.Rows)
		for i := range y {
			y[i] = float64(biased.At(i, 0)) + draw.NormFloat64()
		}
		m, err := Fit(t.Context(), network.Sample{X: biased, Y: y, Unlabelled: pool}, Options{Kind: TreesOnly, Only: []string{"extra-trees"}})
		if err != nil {
			t.Fatal(err)
		}
		if unlike := pool.Rows != biased.Rows; m.CountsPool() != unlike {
			t.Errorf("the pool is unlike the labelled rows: %v, and they count for it: %v", unlike, m.CountsPool())
		}
	}
	sums, counts := [2]float64{}, [2]float64{}
	for i, v := range stand(biased) {
		side := 0
		if biased.At(i, 0) > 0 {
			side = 1
		}
		sums[side], counts[side] = sums[side]+v, counts[side]+1
	}
	if ratio := sums[0] / counts[0] / (sums[1] / counts[1]); !(ratio > 3 && ratio < 20) {
		t.Errorf("rows of the side that was labelled less stand for %.1f times as many rows, want about 9", ratio)
	}
	if v := stand(sample(300, 0.5)); v != nil && (slices.Max(v) > 2 || slices.Min(v) < 0.5 || math.IsNaN(v[0])) {
		t.Errorf("random rows stand for %.2f to %.2f", slices.Min(v), slices.Max(v))
	}
}
