package gp

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// integrated returns the mean and the variance of the process at a row by numerical integration over the labels of
// which limits are known, one or two. The hyperparameters are those of the model.
func integrated(t *testing.T, m *Model, limits Data, at []float64) (mean, variance float64) {
	t.Helper()
	var censored []int
	for i, side := range limits.Sides {
		if side != 0 {
			censored = append(censored, i)
		}
	}
	labels, weights, means, squares := slices.Clone(limits.Labels), 0.0, 0.0, 0.0
	part := *m
	part.sample.labels, part.sample.known = slices.Clone(m.sample.labels), make([]float64, len(labels))
	row := matrix.View(1, len(at), at)
	visit := func() {
		part.teach(labels, make([]float64, len(labels)))
		if err := part.condition(oneThread(t)); err != nil {
			t.Fatal(err)
		}
		one, v := predicted(t, &part, row)
		// log p of the labels, but for a constant, with the fixed variance of the signal
		q := 0.0
		for i, a := range part.alpha {
			q += a * part.sample.labels[i]
		}
		w := math.Exp(-q / part.signal / 2)
		weights, means, squares = weights+w, means+w*one[0], squares+w*(v[0]+one[0]*one[0])
	}
	const steps, reach = 80, 6.0 // in deviations of all labels
	var visitAll func(k int)
	visitAll = func(k int) {
		if k == len(censored) {
			visit()
			return
		}
		for i := range steps {
			off := reach * m.deviation * (float64(i) + 0.5) / steps
			labels[censored[k]] = limits.Labels[censored[k]] + float64(limits.Sides[censored[k]])*off
			visitAll(k + 1)
		}
	}
	visitAll(0)
	mean = means / weights
	return mean, squares/weights - mean*mean
}

// TestCensored compares the process of limits with numerical integration over what may have been measured.
func TestCensored(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 2} {
		rows, labels := drawn(12, 1)
		data := Data{Inputs: rows, Labels: labels, Sides: make([]int8, 12)}
		order := make([]int, 12)
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, labels[a]-labels[b])) })
		data.Sides[order[0]], data.Labels[order[0]] = -1, labels[order[0]]+0.3
		if count == 2 {
			data.Sides[order[11]], data.Labels[order[11]] = 1, labels[order[11]]-0.3
		}
		m := fitted(t, data)
		limit := fitted(t, Data{Inputs: rows, Labels: data.Labels})
		at := rows.Row(order[0])
		mean, variance := predicted(t, m, matrix.View(1, 1, at))
		wantMean, wantVariance := integrated(t, m, data, at)
		if math.Abs(mean[0]-wantMean) > 0.01*m.deviation || math.Abs(variance[0]/wantVariance-1) > 0.05 {
			t.Errorf("%d limits: mean %v and variance %v, by integration %v and %v", count, mean[0], variance[0], wantMean,
				wantVariance)
		}
		if as, _ := predicted(t, limit, matrix.View(1, 1, at)); !(mean[0] < as[0]) {
			t.Errorf("%d limits: the mean is %v, and %v if the limit is the label", count, mean[0], as[0])
		}
		raw, err := json.Marshal(m.Describe())
		var d Description
		if err == nil {
			err = json.Unmarshal(raw, &d)
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := Restore(oneThread(t), d)
		if err != nil {
			t.Fatal(err)
		}
		if restored, v := predicted(t, again, rows); !slices.Equal(restored, first(predicted(t, m, rows))) || v[0] < 0 {
			t.Errorf("the restored model predicts %v", restored)
		}
	}
}

func first(mean, _ []float64) []float64 { return mean }

// TestKnownNoise: equal known variances are as good as noise that is fitted, and a label whose noise is large hardly
// counts.
func TestKnownNoise(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(30, 2)
	labels[7] += 50
	noise := make([]float64, 30)
	noise[7] = 1e4
	m := fitted(t, Data{Inputs: rows, Labels: labels, Noise: noise})
	var rest []int
	for i := range 30 {
		if i != 7 {
			rest = append(rest, i)
		}
	}
	without := fitted(t, Data{Inputs: rows.SelectRows(rest), Labels: pickOf(labels, rest)})
	got, _ := predicted(t, m, rows)
	want, _ := predicted(t, without, rows)
	for i := range got {
		if math.Abs(got[i]-want[i]) > 0.3 {
			t.Errorf("row %d: %v with the label that hardly counts, %v without it", i, got[i], want[i])
		}
	}
	data := Data{Inputs: rows, Labels: labels, Noise: noise}
	s := newSearch(oneThread(t), kernel.Matern52, Alike, newModel(data, unitsOf(data)).sample, unitsOf(data))
	x := []float64{-3, -2, 0.5, 1, 0.3}
	gradient, unused := make([]float64, len(x)), make([]float64, len(x))
	if _, err := s.evaluate(gradient, x); err != nil {
		t.Fatal(err)
	}
	const h = 1e-5
	for i := range x {
		up, down := slices.Clone(x), slices.Clone(x)
		up[i], down[i] = x[i]+h, x[i]-h
		above, err := s.evaluate(unused, up)
		if err != nil {
			t.Fatal(err)
		}
		below, err := s.evaluate(unused, down)
		if err != nil {
			t.Fatal(err)
		}
		if slope := (above - below) / (2 * h); math.Abs(slope-gradient[i]) > 1e-5*(1+math.Abs(slope)) {
			t.Errorf("slope %d is %v, want %v", i, gradient[i], slope)
		}
	}
	for _, wrong := range [][]float64{{1}, append(make([]float64, 29), -1), append(make([]float64, 29), math.NaN())} {
		if _, err := Fit(oneThread(t), Data{Inputs: rows, Labels: labels, Noise: wrong}, Config{}); err == nil {
			t.Errorf("the variances %v are accepted", wrong)
		}
	}
}

func pickOf(all []float64, rows []int) (some []float64) {
	for _, i := range rows {
		some = append(some, all[i])
	}
	return some
}
