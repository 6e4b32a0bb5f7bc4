package gp

import (
	"testing"
)

// TestOutOfFold compares with models without the fold's rows.
func TestOutOfFold(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(40, 3)
	weights := make([]float64, 40)
	for i := range weights {
		weights[i] = 1 + float64(i%2)
	}
	m := fitted(t, Data{Inputs: rows, Labels: labels, Weights: weights})
	for _, count := range []int{2, 7, 40} {
		folds := make([]int, 40)
		for i := range folds {
			folds[i] = 5 * (i * i % count) // numbers need not be consecutive
		}
		mean, variance, err := m.OutOfFold(oneThread(t), folds)
		if err != nil {
			t.Fatal(err)
		}
		for f := range count {
			var in, out []int
			for i := range folds {
				if folds[i] == 5*f {
					out = append(out, i)
				} else {
					in = append(in, i)
				}
			}
			if len(out) == 0 {
				continue
			}
			part := *m
			part.sample = m.sample.at(in)
			if err := part.condition(oneThread(t)); err != nil {
				t.Fatal(err)
			}
			part.signal = m.signal
			wantMean, wantVariance := predicted(t, &part, rows.SelectRows(out))
			for k, i := range out {
				near(t, "mean", mean[i], wantMean[k])
				near(t, "variance", variance[i], wantVariance[k])
			}
		}
	}
	if _, _, err := m.OutOfFold(oneThread(t), make([]int, 3)); err == nil {
		t.Error("too few numbers of folds are accepted")
	}
	mean, _, err := m.OutOfFold(oneThread(t), make([]int, 40)) // nothing is left to predict from
	if err != nil {
		t.Fatal(err)
	}
	for i := range mean {
		near(t, "mean of no labels", mean[i], m.mean)
	}
}
