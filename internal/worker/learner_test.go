package worker

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
)

// linear returns rows whose label is linear in the first input.
func linear(rows int) (x Array, y []float64) {
	x = Array{Shape: Shape{"float64", []int{rows, 2}}, Float64: wave(rows, 2)}
	for i := range rows {
		y = append(y, 2*x.Float64[2*i]+0.01*math.Sin(float64(i*i)))
	}
	return x, y
}

// askAll returns the answer to a request and the stages that it reported.
func (c *client) askAll(f Frame) (answer Frame, stages []string) {
	c.t.Helper()
	c.send(f)
	for {
		got, err := readFrame(c.out, upTo(1<<30))
		if err != nil {
			c.t.Fatal(err)
		}
		if got.Kind != "progress" {
			return got, stages
		}
		var p wire.Progress
		if err := json.Unmarshal(got.Body, &p); err != nil || p.Done > p.Of {
			c.t.Fatalf("%s, %v", got.Body, err)
		}
		stages = append(stages, p.Stage)
	}
}

// TestFitABlend: a body that names no learner means auto. The answer says what was chosen, and the model predicts.
func TestFitABlend(t *testing.T) {
	c := newClient(t)
	x, y := linear(40)
	fit := map[string]any{"epochs": 3, "hidden": []int{8}, "seed": 5}
	model, stages := c.askAll(request("fit", fit, x, list(y)))
	var about fitAnswer
	if err := json.Unmarshal(model.Body, &about); err != nil || model.Kind != "result" {
		t.Fatalf("%s, %v", model.Body, err)
	}
	if len(about.Learner) != 1 || !strings.Contains(about.Learner[0], "RMSE out of fold") ||
		len(about.Candidates[0]) != 6 || len(about.ValidRMSE[0]) != 1 {
		t.Errorf("%+v", about)
	}
	if !slices.Contains(stages, "fitting gp") {
		t.Errorf("it reported the stages %q", stages)
	}
	got := c.ask(request("predict", map[string]any{"std": true, "interval": true}, model.Data[0], x))
	if got.Kind != "result" || len(got.Data) != 4 {
		t.Fatalf("%s", got.Body)
	}
	for i, v := range got.Data[0].Float64 {
		if math.Abs(v-y[i]) > 0.2 || got.Data[1].Float64[i] <= 0 || got.Data[2].Float64[i] > v || got.Data[3].Float64[i] < v {
			t.Errorf("row %d: %v ± %v for %v", i, v, got.Data[1].Float64[i], y[i])
		}
	}
	alone := c.ask(request("fit", map[string]any{"learner": "network", "epochs": 1, "hidden": []int{4},
		"folds": 0}, x, list(y)))
	if about = (fitAnswer{}); json.Unmarshal(alone.Body, &about) != nil || about.Learner[0] != "network" ||
		about.Candidates[0] != nil || about.Advised != network.DefaultFolds(40) {
		t.Errorf("a network alone: %s", alone.Body)
	}
}

// TestFitWithALearnerFromElsewhere: its predictions out of fold give it a weight, and predict needs those for
// its rows.
func TestFitWithALearnerFromElsewhere(t *testing.T) {
	c := newClient(t)
	x, y := linear(40)
	off := func(by float64) Array {
		values := slices.Clone(y)
		for i := range values {
			values[i] += by * math.Cos(float64(i))
		}
		return list(values)
	}
	fit := map[string]any{"learner": "trees", "seed": 5, "learners": []given{{"ridge", []int{2}}, {"tree", []int{3}}}}
	model := c.ask(request("fit", fit, x, list(y), off(0.001), off(10)))
	var about fitAnswer
	if err := json.Unmarshal(model.Body, &about); err != nil || model.Kind != "result" {
		t.Fatalf("%s, %v", model.Body, err)
	}
	weights := map[string]float64{}
	for _, one := range about.Candidates[0] {
		weights[one.Name] = one.Weight
	}
	if weights["ridge"] < 0.9 || weights["tree"] != 0 {
		t.Errorf("the weights are %v", weights)
	}
	got := c.ask(request("predict", map[string]any{"learners": []given{{"ridge", []int{2}}}}, model.Data[0], x, off(0)))
	if got.Kind != "result" || math.Abs(got.Data[0].Float64[3]-y[3]) > 0.1 {
		t.Errorf("%s %v, the label is %v", got.Body, got.Data, y[3])
	}
	if got := c.ask(request("predict", nil, model.Data[0], x)); got.Kind != "error" ||
		!strings.Contains(string(got.Body), "ridge: it was fitted elsewhere") {
		t.Errorf("without its predictions: %s", got.Body)
	}
	fit["learner"] = "network"
	if got := c.ask(request("fit", fit, x, list(y), off(1), off(2))); got.Kind != "error" ||
		!strings.Contains(string(got.Body), "candidates beside others") {
		t.Errorf("beside a network alone: %s", got.Body)
	}
	if got := c.ask(request("fit", map[string]any{"learner": "gp", "folds": 3}, x, list(y))); got.Kind != "error" ||
		!strings.Contains(string(got.Body), "of a network alone") {
		t.Errorf("folds of a blend: %s", got.Body)
	}
}

// forTrees changes a body to the learner trees, which has no networks.
func forTrees(body map[string]any) {
	body["learner"] = "trees"
	for _, name := range []string{"epochs", "hidden", "activation"} {
		delete(body, name)
	}
}

// TestSettingsOfNetworksThatNothingHas: what would have no effect is an error, even if it is the default.
func TestSettingsOfNetworksThatNothingHas(t *testing.T) {
	c := newClient(t)
	x, y := linear(40)
	refused := func(kind, want string, settings map[string]any) {
		t.Helper()
		f := request("fit", settings, x, list(y))
		if kind == "select" {
			f = exampleSelect(60, 7)
			var body map[string]any
			if err := json.Unmarshal(f.Body, &body); err != nil {
				t.Fatal(err)
			}
			forTrees(body)
			maps.Copy(body, settings)
			f = request("select", body, f.Data...)
		}
		if got := c.ask(f); got.Kind != "error" || !strings.Contains(string(got.Body), want) {
			t.Errorf("%s with %v: %s", kind, settings, got.Body)
		}
	}
	for _, kind := range []string{"fit", "select"} {
		refused(kind, "hidden and epochs set the training of a network, but learner gp trains none",
			map[string]any{"learner": "gp", "epochs": 256, "hidden": []int{512, 512}, "activation": nil})
		refused(kind,
			"ensemble sets the training of a network, but learner trees trains none: leave ensemble out, or choose learner "+
				"network or auto", map[string]any{"learner": "trees", "ensemble": 2})
		refused(kind, "activation relu is for learner network, while the networks of a blend have silu",
			map[string]any{"learner": "auto", "activation": "relu"})
	}
}

// TestAskReportsWhatItFits: the stages of an ask name the learners.
func TestAskReportsWhatItFits(t *testing.T) {
	c := newClientOf(t, inMemory(&storetest.Memory{}))
	f := newCampaignFrame("plates")
	var body map[string]any
	if err := json.Unmarshal(f.Body, &body); err != nil {
		t.Fatal(err)
	}
	body["settings"] = map[string]any{"learner": "trees", "seed": 5}
	if begun := c.ask(request("campaign_new", body, f.Data...)); begun.Kind != "result" {
		t.Fatalf("%s", begun.Body)
	}
	answer,
		stages := c.askAll(request("campaign_ask", map[string]any{"store": "memory", "name": "plates",
		"rows": 3, "person": "ada"}))
	if answer.Kind != "result" || !slices.Contains(stages, "fitting extra-trees") {
		t.Errorf("the stages are %q; %s", stages, answer.Body)
	}
}

// TestSelectWithALearnerFromElsewhere: predictions are those of rows of the tables, whichever of these are used.
func TestSelectWithALearnerFromElsewhere(t *testing.T) {
	const rows = 60
	f := exampleSelect(rows, 7)
	var body map[string]any
	if err := json.Unmarshal(f.Body, &body); err != nil {
		t.Fatal(err)
	}
	truth := make([]float64, rows)
	for i := range truth {
		truth[i] = f.Data[0].Float64[2*i]
	}
	forTrees(body)
	body["learners"] = []given{{"own", []int{5, 5}}}
	answer := newClient(t).ask(request("select", body, append(f.Data, list(truth))...))
	var got nextbatch.Result
	if err := json.Unmarshal(answer.Body, &got); err != nil || answer.Kind != "result" {
		t.Fatalf("%v %s", err, answer.Body)
	}
	at := slices.IndexFunc(got.Candidates, func(c learner.Candidate) bool { return c.Name == "own" })
	if at < 0 || got.Candidates[at].Weight != 1 || got.Learner == "" || got.Spec != nextbatch.TreesSpec {
		t.Fatalf("%s, %+v", got.Spec, got.Candidates)
	}
	for i, row := range got.Indices {
		if math.Abs(float64(got.Predictions[i].Value)-truth[row]) > 1e-12 {
			t.Errorf("row %d: predicted %v, want %v", row, got.Predictions[i].Value, truth[row])
		}
	}
	body["learners"] = []given{{"own", []int{5, 1}}}
	short := append(slices.Clone(f.Data), list(truth[:rows-1]))
	if answer := newClient(t).ask(request("select", body, short...)); answer.Kind != "error" ||
		!strings.Contains(string(answer.Body), "own: there are 59×1 predictions for the rows of frame") {
		t.Errorf("too few predictions: %s", answer.Body)
	}
}

// TestPredictionsAsFeatures: the kernel predictions takes what the members of an ensemble predict, and only their
// differences count.
func TestPredictionsAsFeatures(t *testing.T) {
	c := newClient(t)
	pool, shifted := wave(50, 3), wave(50, 3)
	for i := range shifted {
		shifted[i] += float64(i / 3 % 4)
	}
	picked := make([][]int, 2)
	for i, values := range [][]float64{pool, shifted} {
		features := Array{Shape: Shape{"float64", []int{50, 3}}, Float64: values}
		answer := c.ask(request("select_features", map[string]any{"n": 6, "method": "maxdist-tp:predictions"}, features,
			Array{Shape: Shape{"float64", []int{5, 3}}, Float64: slices.Clone(values[:15])}))
		var got nextbatch.Result
		if err := json.Unmarshal(answer.Body, &got); err != nil || answer.Kind != "result" {
			t.Fatalf("%v %s", err, answer.Body)
		}
		picked[i] = got.Indices
	}
	if !slices.Equal(picked[0], picked[1]) {
		t.Errorf("picked %v, and %v with predictions that are shifted alike", picked[0], picked[1])
	}
	one := Array{Shape: Shape{"float64", []int{50, 1}}, Float64: wave(50, 1)}
	if answer := c.ask(request("select_features", map[string]any{"n": 6, "method": "maxdist-p:predictions"},
		one)); answer.Kind != "error" || !strings.Contains(string(answer.Body), "two members") {
		t.Errorf("one member: %s", answer.Body)
	}
}

// TestTooFewRandomRowsHeldOut: the advice on an error of the pool that is not estimated names the argument of Python.
func TestTooFewRandomRowsHeldOut(t *testing.T) {
	c := newClient(t)
	x, y := linear(60)
	drawn := make([]float64, len(y))
	for i := range y {
		drawn[i] = float64(i % 2)
		if i >= 40 {
			y[i] = math.NaN()
		}
	}
	column := func(name string, array int) map[string]any {
		return map[string]any{"name": name, "kind": "numeric", "arrays": []int{array}}
	}
	body := map[string]any{"table": map[string]any{"name": "frame", "columns": []any{map[string]any{"name": "x",
		"kind": "matrix", "arrays": []int{0}, "names": []string{"a", "b"}}, column("drawn", 1), column("y", 2)}},
		"y": []string{"y"}, "n": 2, "random_column": "drawn", "learner": "network", "epochs": 2, "hidden": []int{8}}
	got := c.ask(request("select", body, x, list(drawn), list(y)))
	const want = `; learner=\"auto\" counts all 20, as each labelled row is predicted by models that have not`
	if got.Kind != "result" || !strings.Contains(string(got.Body), want) {
		t.Errorf("%s", got.Body)
	}
}
