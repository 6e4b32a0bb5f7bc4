package worker

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// wordsTable returns the columns of a table with words and gaps, and its arrays after a number of others. Row 5 has no
// input at all.
func wordsTable(rows, after int) (columns []map[string]any, arrays []Array, y []float64) {
	x, codes := wave(rows, 1), make([]int32, rows)
	for i := range rows {
		codes[i] = int32(i % 2)
		y = append(y, x[i]+3*float64(i%2))
	}
	x[5], codes[5], x[7] = math.NaN(), -1, math.NaN()
	return []map[string]any{
		{"name": "a", "kind": "numeric", "arrays": []int{after}},
		{"name": "colour", "kind": "categorical", "levels": []string{"red", "blue"}, "arrays": []int{after + 1}},
	}, []Array{list(x), {Shape: Shape{"int32", []int{rows}}, Int32: codes}}, y
}

// TestFitATable: a model that was fitted to a table takes tables, and a row without inputs has no prediction.
func TestFitATable(t *testing.T) {
	const rows = 40
	c := newClient(t)
	columns, arrays, y := wordsTable(rows, 0)
	columns = append(columns, map[string]any{"name": "y", "kind": "numeric", "arrays": []int{2}})
	body := map[string]any{"learner": "trees", "seed": 5, "y": []string{"y"},
		"table":    map[string]any{"name": "X", "columns": columns},
		"learners": []given{{"own", []int{3}}}}
	model := c.ask(request("fit", body, append(arrays, list(y), list(y))...))
	var about fitAnswer
	if err := json.Unmarshal(model.Body, &about); err != nil || model.Kind != "result" {
		t.Fatalf("%s, %v", model.Body, err)
	}
	if about.Rows != rows-1 || !slices.ContainsFunc(about.Warnings,
		func(w string) bool { return strings.Contains(w, "X: 1 row has no inputs at all") }) {
		t.Errorf("%+v", about)
	}

	columns, arrays, _ = wordsTable(rows, 1)
	ask := map[string]any{"std": true, "table": map[string]any{"name": "X", "columns": columns},
		"learners": []given{{"own", []int{3}}}}
	got := c.ask(request("predict", ask, append([]Array{model.Data[0]}, append(arrays, list(y))...)...))
	if got.Kind != "result" || len(got.Data) != 2 || !strings.Contains(string(got.Body), "missing inputs are imputed") {
		t.Fatalf("%s", got.Body)
	}
	for i, v := range got.Data[0].Float64 {
		if math.IsNaN(v) != (i == 5) || i != 5 && math.Abs(v-y[i]) > 0.5 {
			t.Errorf("row %d: %v for %v", i, v, y[i])
		}
	}
	if got := c.ask(request("predict", ask, append([]Array{model.Data[0]},
		append(arrays, list(y[:9]))...)...)); !strings.Contains(string(got.Body), "there are 9 predictions") {
		t.Errorf("too few predictions: %s", got.Body)
	}

	x, z := linear(40)
	plain := c.ask(request("fit", map[string]any{"learner": "gp"}, x, list(z)))
	if got := c.ask(request("predict", ask, append([]Array{plain.Data[0]},
		append(arrays, list(y))...)...)); !strings.Contains(string(got.Body), "was fitted to arrays") {
		t.Errorf("a table for a model of arrays: %s", got.Body)
	}
}

// TestFitWithARange: a model keeps the declared range of its labels, and predictions and intervals keep to it.
func TestFitWithARange(t *testing.T) {
	c := newClient(t)
	x, y := linear(40)
	low, high := slices.Min(y), slices.Max(y)
	ranges := []string{fmt.Sprintf("%v..%v", low, high)}
	outside := func(learner string, ranges []string) (count int) {
		t.Helper()
		model := c.ask(request("fit", map[string]any{"learner": learner, "range": ranges}, x, list(y)))
		got := c.ask(request("predict", map[string]any{"std": true, "interval": true}, model.Data[0], x))
		if got.Kind != "result" {
			t.Fatalf("%s", got.Body)
		}
		for _, of := range []int{0, 2, 3} {
			for _, v := range got.Data[of].Float64 {
				if v < low || v > high {
					count++
				}
			}
		}
		return count
	}
	for _, learner := range []string{"gp", "network"} {
		if outside(learner, nil) == 0 {
			t.Fatalf("%s: no number is outside without a range; the test needs some", learner)
		}
		if n := outside(learner, ranges); n > 0 {
			t.Errorf("%s: %d numbers are outside %q", learner, n, ranges)
		}
	}
	y[7] = high + 1
	if got := c.ask(request("fit", map[string]any{"range": ranges}, x, list(y))); got.Kind != "error" ||
		!strings.Contains(string(got.Body), "array y, row 7: the label") {
		t.Errorf("a label outside: %s", got.Body)
	}
	if got := c.ask(request("fit", map[string]any{"range": []string{"0-1"}}, x, list(y))); got.Kind != "error" ||
		!strings.Contains(string(got.Body), "write it as 0..100") {
		t.Errorf("a wrong range: %s", got.Body)
	}
}
