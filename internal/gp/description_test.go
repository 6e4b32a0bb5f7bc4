package gp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestRestore sends models through JSON and requires the same bits.
func TestRestore(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(50, 3)
	for i := range 50 {
		rows.Row(i)[2] = 4
	}
	weights := slices.Repeat([]float64{1, 2}, 25)
	tests, _ := drawn(9, 3)
	for _, config := range []Config{{}, {Smooth: true}, {Prior: Sparse}, {Prior: Stationary}} {
		m, err := Fit(oneThread(t), Data{Inputs: rows, Labels: labels, Weights: weights}, config)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(m.Describe())
		if err != nil {
			t.Fatal(err)
		}
		var d Description
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		again, err := Restore(oneThread(t), d)
		if err != nil {
			t.Fatal(err)
		}
		mean, variance := predicted(t, m, tests)
		mean2, variance2 := predicted(t, again, tests)
		if !slices.Equal(mean2, mean) || !slices.Equal(variance2, variance) || again.LogLikelihood != m.LogLikelihood ||
			!slices.Equal(again.Lengths, m.Lengths) {
			t.Errorf("%+v: the restored model predicts %v, not %v", config, mean2, mean)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(6, 2)
	m := fitted(t, Data{Inputs: rows, Labels: labels})
	for word, change := range map[string]func(d *Description){
		"version 4":                   func(d *Description) { d.Version = 4 },
		"version 0":                   func(d *Description) { d.Version = 0 },
		"do not fit its version":      func(d *Description) { d.Version, d.Known = 3, make([]float64, 6) },
		"are not 6 rows":              func(d *Description) { d.Rows = d.Rows[1:] },
		"are not equally many":        func(d *Description) { d.Units = d.Units[1:] },
		"column 2 of 2":               func(d *Description) { d.Columns = []int{0, 2} },
		"length scale is -1":          func(d *Description) { d.Lengths = []float64{1, -1} },
		"variance of the noise is 0":  func(d *Description) { d.Noise = 0 },
		"at least one labelled row":   func(d *Description) { d.Labels, d.Rows = nil, nil },
		"5 weights for 6 rows":        func(d *Description) { d.Weights = []float64{1, 1, 1, 1, 1} },
		"takes at most":               func(d *Description) { d.Labels = make([]float64, MostLabels+1) },
		"too large to compute with":   func(d *Description) { d.Labels = []float64{1e308, -1e308, 0, 0, 0, 0} },
		"covariance of the labelled ": func(d *Description) { d.Units, d.Linear = []float64{1e-300, 1e-300}, 1e300 },
	} {
		d := m.Describe()
		change(&d)
		if _, err := Restore(oneThread(t), d); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
}

// FuzzRestore looks for descriptions that panic, or lead to predictions that are not numbers.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"version":1,"inputs":1,"rows":[1,2],"labels":[3,4],"columns":[0],"centres":[1.5],"units":[1],` +
		`"lengths":[2],"noise":0.1,"linear":0.1}`))
	f.Add([]byte(`{"version":1,"smooth":true,"inputs":2,"rows":[1,2,3,4],"labels":[3,4],"weights":[1,2],"columns":[1],` +
		`"centres":[3],"units":[1],"lengths":[1e300],"noise":1e-300,"linear":1e9}`))
	f.Add([]byte(`{"version":2,"inputs":1,"rows":[1,2],"labels":[3,4],"columns":[0],
		"centres":[1.5],"units":[1],"lengths":[2],"noise":0.1,"linear":0.1,"stretched":true}`))
	f.Add([]byte(`{"version":1,"inputs":0,"rows":[],"labels":[1],"columns":[],"centres":[],"units":[],"lengths":[],` +
		`"noise":1,"linear":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d Description
		if json.Unmarshal(text, &d) != nil || len(d.Labels) > 100 {
			return
		}
		m, err := Restore(t.Context(), d)
		if err != nil {
			return
		}
		mean, variance, err := m.Predict(t.Context(), m.data.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range mean {
			if !isFinite(mean[i]) || !isFinite(variance[i]) {
				t.Fatalf("mean %v, variance %v from %s", mean[i], variance[i], text)
			}
		}
	})
}
