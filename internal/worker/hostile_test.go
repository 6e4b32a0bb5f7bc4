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

	"github.com/nextbatch/nextbatch/internal/wire"
)

// empty is an array without elements that claims any number of rows or columns.
func empty(kind string, dims ...int) Array { return Array{Shape: Shape{kind, dims}} }

// hostile are requests that once hung or killed a worker, with the kind of their error.
func hostile() map[string]struct {
	frame      Frame
	kind, word string
} {
	rows := Array{Shape: Shape{"float64", []int{40, 2}}, Float64: wave(40, 2)}
	y := list(wave(40, 1))
	fit := func(change map[string]any) map[string]any {
		body := map[string]any{"learner": "network", "epochs": 2, "hidden": []int{8}, "activation": "silu"}
		for key, value := range change {
			body[key] = value
		}
		return body
	}
	selecting := func(key string, value any, more ...any) Frame { // more are keys and values
		f := exampleSelect(40, 4)
		var body map[string]any
		if err := json.Unmarshal(f.Body, &body); err != nil {
			panic(err)
		}
		delete(body, "activation")
		body[key] = value
		for i := 0; i < len(more); i += 2 {
			body[more[i].(string)] = more[i+1]
		}
		f.Body, _ = json.Marshal(body) // as it was
		return f
	}
	onColumns := func(columns []map[string]any, data ...Array) Frame {
		f := selecting("table", map[string]any{"name": "frame", "columns": columns})
		f.Data = data
		return f
	}
	matrixColumn := func(names ...string) []map[string]any {
		return []map[string]any{{"name": "x", "kind": "matrix", "names": names, "arrays": []int{0}}}
	}
	shared := make([]map[string]any, 100_000)
	for i := range shared {
		shared[i] = map[string]any{"name": fmt.Sprint("c", i), "kind": "numeric", "arrays": []int{0}}
	}
	n := map[string]any{"n": 1}
	return map[string]struct {
		frame      Frame
		kind, word string
	}{
		"rows without features": {request("select_features", n, empty("float64", 1<<31, 0)), "data",
			"rows without columns"},
		"more rows without features": {request("select_features", n, empty("float32", 1<<40, 0)), "data",
			"rows without columns"},
		"features without rows": {request("select_features", n, empty("float32", 0, 1<<40)),
			"data", "pool has no rows"},
		"a number as features": {request("select_features", n, rows,
			Array{Shape: Shape{"float64", []int{}}, Float64: []float64{1}}), "data", "rows and columns are expected"},
		"labelled rows without features": {request("select_features", n, rows, empty("float64", 1<<40, 0)), "data",
			"rows without columns"},
		"a table of rows without columns": {onColumns(matrixColumn(), empty("float64", 1<<40, 0)), "data",
			"rows without columns"},
		"training on rows without inputs": {request("fit", fit(nil), empty("float64", 1<<31, 0), y), "data",
			"rows without columns"},
		"training on inputs without rows": {request("fit", fit(nil), empty("float64", 0, 1<<40), y), "data",
			"no rows to learn from"},
		"labels of any number of targets": {request("fit", fit(nil), rows, empty("float64", 0, 1<<60)),
			"data", "has no labels"},
		"labels without targets": {request("fit", fit(nil), rows, empty("float64", 1<<31, 0)), "data",
			"where a list is expected"},
		"a huge network to fit": {request("fit", fit(map[string]any{"hidden": []int{1_000_000, 1_000_000}}), rows,
			y), "memory", "narrower layers (hidden)"},
		"a huge network in a blend": {request("fit", fit(map[string]any{"learner": "auto",
			"hidden": []int{1_000_000, 1_000_000}}), rows, y), "memory", "narrower layers (hidden)"},
		"an unknown learner": {request("fit", fit(map[string]any{"learner": "oracle"}), rows, y), "request",
			"learner is auto, network, gp, trees or in-context"},
		"predictions that are not there": {request("fit", fit(map[string]any{"learner": "auto",
			"learners": []given{{"a", []int{99}}}}), rows, y, y), "request", "refers to array 99"},
		"predictions of bytes": {request("fit", fit(map[string]any{"learner": "auto",
			"learners": []given{{"a", []int{2}}}}), rows, y, empty("uint8", 1<<40, 0)), "data", "where a list is expected"},
		"predictions of any targets": {request("fit", fit(map[string]any{"learner": "auto",
			"learners": []given{{"a", []int{2}}}}), rows, y, empty("float64", 0, 1<<60)), "data", "has no numbers"},
		"a learner without predictions": {request("fit", fit(map[string]any{"learner": "auto",
			"learners": []given{{"a", nil}}}), rows, y, y), "request", "0 arrays instead of 1"},
		"a huge blend to select by": {selecting("learner", "auto", "hidden", []int{1_000_000, 1_000_000}), "memory",
			"narrower layers (hidden)"},
		"many networks to fit": {request("fit", fit(map[string]any{"ensemble": 2_000_000_000}), rows, y),
			"request", "ensemble must be from 0 to 1000"},
		"a layer beyond all bounds": {request("fit", fit(map[string]any{"hidden": []int{math.MaxInt}}), rows, y),
			"request", "hidden layer 1 has width"},
		"a million layers": {request("fit", fit(map[string]any{"hidden": make([]int, 1_000_000)}), rows, y),
			"request", "1000000 hidden layers are too many"},
		"a huge network to select by": {selecting("hidden", []int{1_000_000, 1_000_000}), "memory",
			"narrower layers (hidden)"},
		"many networks to select by": {selecting("ensemble", 2_000_000_000), "request",
			"ensemble must be from 0 to 1000"},
		"huge sketches": {selecting("method", "lcmd-tp:grad>sketch(1048576)>sketch(1048576)"),
			"memory", "would need about"},
		"60,000 transformations": {selecting("method", "maxdist-p:linear"+strings.Repeat(">scale", 60_000)),
			"request", "a spec has at most 4096"},
		"33 transformations": {selecting("method", "maxdist-p:linear"+strings.Repeat(">scale", 33)), "request",
			"at most 32 transformations"},
		"a batch beyond all bounds":   {selecting("n", math.MaxInt), "", ""},
		"less than no memory":         {selecting("max_memory", -1), "request", "max_memory must not be negative"},
		"columns that share an array": {onColumns(shared, list(wave(100_000, 1))), "memory", "frame would need about"},
		"too many columns": {onColumns(matrixColumn(slices.Repeat([]string{"a"}, 131_073)...),
			empty("float64", 0, 131_073)), "request", "more than 131072"},
		"arrays of nothing": {request("ping", nil, slices.Repeat([]Array{empty("uint8", 0)}, 1<<19)...),
			"memory", "the arrays take"},
	}
}

// TestHostileRequests: each is an error of its kind at once, and the worker answers the
// next one.
func TestHostileRequests(t *testing.T) {
	c := newClientOf(t, Server{Version: "test", Available: func() int64 { return 64 << 20 }})
	for name, test := range hostile() {
		answer := c.ask(test.frame)
		var f wire.Failure
		if test.kind == "" && answer.Kind == "result" {
			continue
		}
		if err := json.Unmarshal(answer.Body, &f); err != nil || answer.Kind != "error" || f.Error == "fault" ||
			test.kind != "" && f.Error != test.kind || !strings.Contains(f.Message, test.word) {
			t.Errorf("%s: %s %.500s, want %s with %q", name, answer.Kind, answer.Body, test.kind, test.word)
		}
		if len(f.Message) > 1000 {
			t.Errorf("%s: a message of %d bytes", name, len(f.Message))
		}
	}
	if answer := c.ask(request("ping", map[string]int{"a": 1})); answer.Kind != "result" {
		t.Errorf("ping after that: %s", answer.Body)
	}
}

// TestEmptyFeaturesAreAllowed: no labelled rows, as the Python package writes them.
func TestEmptyFeaturesAreAllowed(t *testing.T) {
	c := newClient(t)
	pool := Array{Shape: Shape{"float64", []int{20, 3}}, Float64: wave(20, 3)}
	for _, columns := range []int{3, 0, 1 << 40} {
		answer := c.ask(request("select_features", map[string]any{"n": 2}, pool, empty("float64", 0, columns), pool))
		if answer.Kind != "result" {
			t.Errorf("no rows of %d columns: %s", columns, answer.Body)
		}
	}
}

// TestTheEndOfTheInputEndsAWorkerThatNobodyReads: its answers cannot be written, and still it
// ends.
func TestTheEndOfTheInputEndsAWorkerThatNobodyReads(t *testing.T) {
	_, answers := io.Pipe()
	var requests bytes.Buffer
	for id := range uint64(3) {
		f := exampleSelect(40, 4)
		f.ID = id
		requests.Write(frameBytes(t, f))
		requests.Write(frameBytes(t, f)) // refused, as the number is taken or the answer is not read
	}
	if err := (Server{}).Serve(t.Context(), &requests, answers); err != nil {
		t.Error(err)
	}
}

// TestTheEndOfTheInputEndsLongComputations: they would go on for days. Whether their client still
// reads or not, the worker ends while they compute.
func TestTheEndOfTheInputEndsLongComputations(t *testing.T) {
	const epochs = 100_000_000
	selecting := exampleSelect(200, 4)
	selecting.Body = bytes.Replace(selecting.Body, []byte(`"epochs":2`), fmt.Appendf(nil, `"epochs":%d`, epochs), 1)
	rows := Array{Shape: Shape{"float64", []int{200, 2}}, Float64: wave(200, 2)}
	fitting := request("fit", map[string]any{"learner": "network", "epochs": epochs, "hidden": []int{8},
		"activation": "relu"}, rows, list(wave(200, 1)))
	for _, f := range []Frame{selecting, fitting} {
		for _, reads := range []bool{true, false} {
			c := newClient(t)
			c.send(f)
			if first, err := readFrame(c.out, upTo(1<<20)); err != nil || first.Kind != "progress" {
				t.Fatalf("%s: %s %s %v", f.Kind, first.Kind, first.Body, err)
			}
			_ = c.in.Close()
			if reads {
				if answer := c.answer(); !strings.Contains(string(answer.Body), `"cancelled"`) {
					t.Errorf("%s: %s", f.Kind, answer.Body)
				}
			}
			if err := <-c.done; err != nil {
				t.Errorf("%s: %v", f.Kind, err)
			}
		}
	}
}

// TestTablesFollowMaxMemory: max_memory takes the place of what the machine has available for
// tables, as it does for the selection.
func TestTablesFollowMaxMemory(t *testing.T) {
	c := &call{
		Frame:  Frame{Data: []Array{{Shape: Shape{"float64", []int{1 << 20}}}}},
		server: Server{Available: func() int64 { return 4 << 20 }},
	}
	numbers := table{Name: "frame", Columns: []frameColumn{{Name: "a", Kind: "numeric", Arrays: []int{0}}}}
	for limit, want := range map[int64]string{0: "4 MiB are available", 7 << 20: "max_memory is 7 MiB", 8 << 20: ""} {
		err := c.admitTable(numbers, limit)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("max_memory=%d: %v", limit, err)
		}
	}
}
