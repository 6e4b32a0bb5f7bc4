package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// client talks to a server in this process.
type client struct {
	t    *testing.T
	in   io.WriteCloser
	out  io.Reader
	done chan error
}

func newClient(t *testing.T) *client { return newClientOf(t, Server{Version: "test"}) }

func newClientOf(t *testing.T, s Server) *client {
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	c := &client{t: t, in: in, out: out, done: make(chan error, 1)}
	go func() {
		c.done <- s.Serve(t.Context(), requests, answers)
		_ = answers.Close()
	}()
	t.Cleanup(func() { _ = in.Close() })
	return c
}

func (c *client) send(f Frame) {
	c.t.Helper()
	if err := writeFrame(c.in, f); err != nil {
		c.t.Fatal(err)
	}
}

// answer returns the next frame that does not report progress.
func (c *client) answer() Frame {
	c.t.Helper()
	for {
		f, err := readFrame(c.out, upTo(1<<30))
		if err != nil {
			c.t.Fatal(err)
		}
		if f.Kind != "progress" {
			return f
		}
	}
}

func (c *client) ask(f Frame) Frame {
	c.t.Helper()
	c.send(f)
	return c.answer()
}

func request(kind string, body any, data ...Array) Frame {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return Frame{Header: Header{ID: 1, Kind: kind, Body: text}, Data: data}
}

func wave(rows, columns int) []float64 {
	values := make([]float64, rows*columns)
	for i := range values {
		values[i] = math.Sin(float64(i * i))
	}
	return values
}

// exampleSelect is a request with a column of each kind.
func exampleSelect(rows, n int) Frame {
	x, y, codes := wave(rows, 2), make([]float64, rows), make([]int32, rows)
	ends, text := make([]int64, rows), []byte{}
	for i := range rows {
		codes[i] = int32(i%4) - 1
		y[i] = x[2*i]
		if i >= rows/2 {
			y[i] = math.NaN()
		}
		text = fmt.Appendf(text, "r%d", i)
		ends[i] = int64(len(text))
	}
	body := map[string]any{
		"n": n, "learner": "network", "seed": 3, "y": []string{"y"}, "id": "name", "epochs": 2, "hidden": []int{8},
		"activation": "relu", "missing": "impute",
		"table": map[string]any{"name": "frame", "columns": []map[string]any{
			{"name": "x", "kind": "matrix", "names": []string{"a", "b"}, "arrays": []int{0}},
			{"name": "y", "kind": "numeric", "arrays": []int{1}},
			{"name": "colour", "kind": "categorical", "levels": []string{"red", "blue", ""}, "arrays": []int{2}},
			{"name": "name", "kind": "text", "arrays": []int{3, 4}},
		}},
	}
	return request("select", body,
		Array{Shape: Shape{"float64", []int{rows, 2}}, Float64: x}, list(y),
		Array{Shape: Shape{"int32", []int{rows}}, Int32: codes},
		Array{Shape: Shape{"int64", []int{rows}}, Int64: ends}, Array{Shape: Shape{"uint8", []int{len(text)}}, Uint8: text})
}

// sameTable is the table of exampleSelect.
func sameTable(t *testing.T, rows int) *dataset.Table {
	f := exampleSelect(rows, 1)
	a, b, name := dataset.NewNumeric("a"), dataset.NewNumeric("b"), dataset.NewText("name")
	colour := dataset.NewCategorical("colour", "blue", "red")
	for i := range rows {
		a.Append(f.Data[0].Float64[2*i])
		b.Append(f.Data[0].Float64[2*i+1])
		name.Append(fmt.Appendf(nil, "r%d", i))
		colour.Append([]int32{-1, 1, 0, -1}[i%4])
	}
	table, err := dataset.NewTable(a, b, dataset.NewNumeric("y", f.Data[1].Float64...), colour, name)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestHello(t *testing.T) {
	c := newClient(t)
	if f := c.ask(request("hello", map[string]int{"protocol": protocol})); f.Kind != "result" ||
		!strings.Contains(string(f.Body), `"version":"test"`) {
		t.Errorf("hello: %s %s", f.Kind, f.Body)
	}
	if f := c.ask(request("hello", map[string]int{"protocol": 99})); f.Kind != "error" ||
		!strings.Contains(string(f.Body), "version 99 of the protocol") {
		t.Errorf("hello from the future: %s %s", f.Kind, f.Body)
	}
}

func TestSelectIsThatOfTheLibrary(t *testing.T) {
	const rows, n = 60, 7
	answer := newClient(t).ask(exampleSelect(rows, n))
	if answer.Kind != "result" {
		t.Fatalf("%s", answer.Body)
	}
	var got nextbatch.Result
	if err := json.Unmarshal(answer.Body, &got); err != nil {
		t.Fatal(err)
	}
	table := sameTable(t, rows)
	plan, err := nextbatch.Request{
		Input: tables.Input{Table: table, Names: map[*dataset.Table]string{table: "frame"}, TargetColumns: []string{"y"},
			IDColumn: "name"}, Ask: limits.Ask{Batch: n}, Options: fitted.Options{Choices: fitted.Choices{Seed: 3,
			Network: network.Config{Architecture: network.Architecture{Hidden: []int{8}},
				Training: network.Training{Epochs: 2}, Seed: 3}}},
	}.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := plan.Select(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Indices, want.Indices) || !slices.Equal(got.IDs, want.IDs) ||
		!slices.Equal(got.Reasons, want.Reasons) {
		t.Errorf("picked %v %v, the library %v %v", got.IDs, got.Reasons, want.IDs, want.Reasons)
	}
}

func TestSelectFeatures(t *testing.T) {
	c := newClient(t)
	pool := Array{Shape: Shape{"float64", []int{50, 3}}, Float64: wave(50, 3)}
	train := Array{Shape: Shape{"float64", []int{5, 3}}, Float64: wave(5, 3)}
	answer := c.ask(request("select_features", map[string]any{"n": 6, "method": "bait-f-p:features>train",
		"plot": true}, pool, train))
	var got nextbatch.Result
	if err := json.Unmarshal(answer.Body, &got); err != nil || answer.Kind != "result" {
		t.Fatalf("%v %s", err, answer.Body)
	}
	p := nextbatch.Problem{Batch: 6}.WithFeatures(matrix.View(5, 3, train.Float64), matrix.View(50, 3, pool.Float64),
		matrix.Dense[float64]{})
	want, err := nextbatch.Select(t.Context(), spec.MustParse("bait-f-p:features>train"), p)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Indices, want.Rows()) {
		t.Errorf("picked %v, the library %v", got.Indices, want.Rows())
	}
	if len(answer.Data) != 3 || answer.Data[0].Dims[0] != 50 || answer.Data[1].Dims[0] != 5 ||
		answer.Data[2].Dims[0] != 6 {
		t.Errorf("the plane has shapes %v", answer.Arrays)
	}
}

func TestFitAndPredict(t *testing.T) {
	c := newClient(t)
	x, y := wave(40, 2), make([]float64, 40)
	for i := range y {
		y[i] = x[2*i] + 3
	}
	rows := Array{Shape: Shape{"float64", []int{40, 2}}, Float64: x}
	model := c.ask(request("fit", map[string]any{"learner": "network", "epochs": 3, "hidden": []int{16},
		"activation": "relu", "seed": 5}, rows, list(y)))
	if model.Kind != "result" {
		t.Fatalf("%s", model.Body)
	}
	answer := c.ask(request("predict", map[string]any{"std": true, "coverage": 0.5}, model.Data[0], rows))
	if answer.Kind != "result" || len(answer.Data) != 4 {
		t.Fatalf("%s", answer.Body)
	}
	mean, std, low, high := answer.Data[0].Float64, answer.Data[1].Float64, answer.Data[2].Float64, answer.Data[3].Float64
	for i := range mean {
		if !(low[i] < mean[i] && mean[i] < high[i] && std[i] > 0) {
			t.Fatalf("row %d: %v in [%v, %v], deviation %v", i, mean[i], low[i], high[i], std[i])
		}
	}
	m := &network.Model{}
	if err := m.UnmarshalBinary(model.Data[0].Uint8); err != nil {
		t.Fatal(err)
	}
	raw, err := m.Rows(matrix.View(40, 2, x))
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Predict(t.Context(), raw)
	if err != nil || !slices.Equal(mean, want) {
		t.Errorf("predicted %v, the library %v, %v", mean, want, err)
	}
}

func TestFitAndPredictSeveralTargets(t *testing.T) {
	c := newClient(t)
	x, y := wave(60, 2), make([]float64, 120)
	for i := range 60 {
		y[2*i], y[2*i+1] = x[2*i], 100-x[2*i+1]
	}
	rows := Array{Shape: Shape{"float64", []int{60, 2}}, Float64: x}
	fit := map[string]any{"learner": "network", "epochs": 20, "hidden": []int{16}, "activation": "relu",
		"seed": 5, "ensemble": 2}
	model := c.ask(request("fit", fit, rows, Array{Shape: Shape{"float64", []int{60, 2}}, Float64: y}))
	var about fitAnswer
	if err := json.Unmarshal(model.Body, &about); err != nil || model.Kind != "result" || len(about.ValidRMSE) != 2 ||
		len(about.ValidRMSE[1]) != 2 {
		t.Fatalf("%s", model.Body)
	}
	answer := c.ask(request("predict", map[string]any{"std": true, "coverage": 0.5}, model.Data[0], rows))
	if answer.Kind != "result" || len(answer.Data) != 4 || !slices.Equal(answer.Data[3].Dims, []int{60, 2}) {
		t.Fatalf("%s %v", answer.Body, answer.Arrays)
	}
	m := &network.Model{}
	if err := m.UnmarshalBinary(model.Data[0].Uint8); err != nil {
		t.Fatal(err)
	}
	raw, err := m.Rows(matrix.View(60, 2, x))
	if err != nil {
		t.Fatal(err)
	}
	for target := range 2 {
		want, err := m.Target(target).Predict(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range want {
			if got := answer.Data[0].Float64[2*i+target]; got != v {
				t.Fatalf("target %d, row %d: %v, the library %v", target, i, got, v)
			}
		}
	}
	none := c.ask(request("fit", fit, rows, Array{Shape: Shape{"float64", []int{60, 0}}, Float64: nil}))
	if none.Kind != "error" || !strings.Contains(string(none.Body), "shape [60 0]") {
		t.Errorf("no target: %s", none.Body)
	}
}

// TestArraysFarFromZero: adding a constant to a column of an array, exactly, changes neither the
// predictions of a network nor the batch, not even in the last bit.
func TestArraysFarFromZero(t *testing.T) {
	c := newClient(t)
	const n = 60
	y := make([]float64, n)
	array := func(offset float64) Array {
		x := wave(n, 2)
		for i := range n {
			x[2*i] = math.Round(4096*x[2*i]) / 4096
			y[i] = 3*x[2*i] + x[2*i+1]
			x[2*i] += offset
		}
		return Array{Shape: Shape{"float64", []int{n, 2}}, Float64: x}
	}
	answers := func(offset float64) (predicted []float64, batch string) {
		fit := map[string]any{"learner": "network", "epochs": 3, "hidden": []int{16}, "activation": "relu", "seed": 5}
		model := c.ask(request("fit", fit, array(offset), list(y)))
		if model.Kind != "result" {
			t.Fatalf("%s", model.Body)
		}
		answer := c.ask(request("predict", map[string]any{}, model.Data[0], array(offset)))
		if answer.Kind != "result" {
			t.Fatalf("%s", answer.Body)
		}
		asked := exampleSelect(n, 5)
		asked.Data[0] = array(offset)
		picked := c.ask(asked)
		var result struct {
			Indices  []int     `json:"indices"`
			Scores   []float64 `json:"scores"`
			Warnings []string  `json:"warnings"`
		}
		if err := json.Unmarshal(picked.Body, &result); err != nil || len(result.Indices) != 5 {
			t.Fatalf("%s", picked.Body)
		}
		return answer.Data[0].Float64, fmt.Sprint(result)
	}
	wantPredicted, wantBatch := answers(0)
	for _, offset := range []float64{1e7, 1.7e9, 1e12} {
		predicted, batch := answers(offset)
		if !slices.Equal(predicted, wantPredicted) {
			t.Errorf("offset %v: predicted %v, want %v", offset, predicted[:3], wantPredicted[:3])
		}
		if batch != wantBatch {
			t.Errorf("offset %v: batch %s, want %s", offset, batch, wantBatch)
		}
	}
}

// TestArraysOfSingles: a float32 array has lost the digits of numbers far from zero before it
// comes here, which is a warning.
func TestArraysOfSingles(t *testing.T) {
	c := newClient(t)
	const n = 40
	for offset, want := range map[float64]string{0: "[]", 1.7e9: "column 1 (from 0) of X may have lost digits"} {
		x, y := make([]float32, 2*n), wave(n, 1)
		for i, v := range wave(n, 2) {
			x[i] = float32(v + offset*float64(i%2))
		}
		model := c.ask(request("fit", map[string]any{"learner": "network", "epochs": 1, "hidden": []int{4},
			"activation": "relu", "folds": 0}, Array{Shape: Shape{"float32", []int{n, 2}}, Float32: x}, list(y)))
		var about fitAnswer
		if err := json.Unmarshal(model.Body, &about); err != nil || model.Kind != "result" ||
			!strings.Contains(fmt.Sprint(about.Warnings), want) || len(about.Warnings) > 1 {
			t.Errorf("offset %v: %s, want %s", offset, model.Body, want)
		}
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	c := newClient(t)
	change := func(key string, value any) Frame {
		f := exampleSelect(20, 4)
		var body map[string]any
		if err := json.Unmarshal(f.Body, &body); err != nil {
			t.Fatal(err)
		}
		body[key] = value
		f.Body, _ = json.Marshal(body)
		return f
	}
	infinite := exampleSelect(20, 4)
	infinite.Data[0].Float64[5] = math.Inf(1)
	notFinite := Array{Shape: Shape{"float64", []int{2, 1}}, Float64: []float64{1, math.NaN()}}
	for name, test := range map[string]struct {
		frame      Frame
		kind, word string
	}{
		"unknown request": {request("order", nil), "request", `no request "order"`},
		"unknown field":   {request("select", map[string]int{"m": 3}), "request", `unknown field`},
		"method":          {change("method", "lcmd-tp:gradd"), "request", "gradd"},
		"n":               {change("n", 0), "request", "with n, at least 1"},
		"y":               {change("y", []string{"z"}), "data", `frame: column "z" is not in the table`},
		"missing":         {change("missing", "guess"), "request", "missing"},
		"epochs":          {change("epochs", 0), "request", "epochs must be at least 1"},
		"activation":      {change("activation", "step"), "request", "activation"},
		"memory":          {change("max_memory", 1), "memory", "max_memory is 1 byte"},
		"infinite":        {infinite, "data", "+Inf in row 2, column 1"},
		"feature NaN": {request("select_features", map[string]int{"n": 1}, notFinite), "data",
			"pool: row 1, column 0 (from 0) is NaN"},
		"no features": {request("select_features", map[string]int{"n": 1}), "request", "one to three arrays"},
		"broken model": {request("predict", nil, Array{Shape: Shape{"uint8", []int{1}}, Uint8: []byte{1}}, notFinite),
			"data", "the model cannot be read"},
		"array beyond": {change("table",
			map[string]any{"columns": []map[string]any{{"name": "a", "kind": "numeric", "arrays": []int{9}}}}), "request",
			"array 9"},
		"kind of a column": {change("table",
			map[string]any{"columns": []map[string]any{{"name": "a", "kind": "date", "arrays": []int{1}}}}), "request",
			`unknown kind "date"`},
	} {
		answer := c.ask(test.frame)
		var f wire.Failure
		if err := json.Unmarshal(answer.Body, &f); err != nil || answer.Kind != "error" || f.Error != test.kind ||
			!strings.Contains(f.Message, test.word) {
			t.Errorf("%s: %s %s, want %s with %q", name, answer.Kind, answer.Body, test.kind, test.word)
		}
	}
}

func TestCancelEndsARequestAndNotTheServer(t *testing.T) {
	c := newClient(t)
	f := exampleSelect(200, 4)
	f.Body = bytes.Replace(f.Body, []byte(`"epochs":2`), []byte(`"epochs":100000000`), 1)
	c.send(f)
	first, err := readFrame(c.out, upTo(1<<20))
	if err != nil || first.Kind != "progress" {
		t.Fatalf("%s %v", first.Kind, err)
	}
	second := exampleSelect(20, 4)
	if answer := c.ask(second); !strings.Contains(string(answer.Body), "still running") {
		t.Errorf("a second request 1: %s", answer.Body)
	}
	answer := c.ask(Frame{Header: Header{ID: 1, Kind: "cancel"}})
	if answer.Kind != "error" || !strings.Contains(string(answer.Body), `"cancelled"`) {
		t.Errorf("%s %s", answer.Kind, answer.Body)
	}
	if answer := c.ask(request("ping", map[string]int{"a": 1})); answer.Kind != "result" ||
		string(answer.Body) != `{"a":1}` {
		t.Errorf("ping after that: %s", answer.Body)
	}
}

func TestTheEndOfTheInputEndsEverything(t *testing.T) {
	c := newClient(t)
	f := exampleSelect(200, 4)
	f.Body = bytes.Replace(f.Body, []byte(`"epochs":2`), []byte(`"epochs":100000000`), 1)
	c.send(f)
	_ = c.in.Close()
	if answer := c.answer(); !strings.Contains(string(answer.Body), `"cancelled"`) {
		t.Errorf("%s", answer.Body)
	}
	if err := <-c.done; err != nil {
		t.Error(err)
	}
}
