package worker

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
)

// packed is a table of a request as it is built up, and its arrays.
type packed struct {
	name    string
	columns []map[string]any
	arrays  []Array
}

func (p *packed) numbers(name string, values ...float64) {
	p.columns = append(p.columns, map[string]any{"name": name, "kind": "numeric", "arrays": []int{len(p.arrays)}})
	p.arrays = append(p.arrays, list(values))
}

func (p *packed) words(kind, name string, values ...string) {
	codes := Array{Shape: Shape{"int32", []int{len(values)}}}
	var levels []string
	for _, v := range values {
		at := slices.Index(levels, v)
		if at < 0 {
			at = len(levels)
			levels = append(levels, v)
		}
		codes.Int32 = append(codes.Int32, int32(at))
	}
	p.columns = append(p.columns, map[string]any{"name": name, "kind": kind, "levels": levels,
		"arrays": []int{len(p.arrays)}})
	p.arrays = append(p.arrays, codes)
}

func (p *packed) table() map[string]any { return map[string]any{"name": p.name, "columns": p.columns} }

// typed returns a table as people type it, in which one label is the given text for 0.5, and the same with numbers. Of
// each, the last rows have no label.
func typed(half string) (text, plain packed) {
	const rows = 40
	wave := wave(rows, 1)
	text.name, plain.name = "labelled", "labelled"
	var x, y, kind []string
	var numbers, labels, marks []float64
	for i := range rows {
		v := math.Round(100*wave[i]) / 100
		cell, label, below := strings.Replace(fmt.Sprint(v), ".", ",", 1), strings.Replace(fmt.Sprint(2*v), ".", ",", 1), 0.0
		want := 2 * v
		switch {
		case i%10 == 3:
			cell, v = "n.d.", math.NaN()
		case i%10 == 7:
			cell, v, below = "< 0,25", 0.25, -1
		}
		if i == 9 {
			label, want = half, 0.5
		}
		if i >= 25 {
			label, want = "", math.NaN()
		}
		x, y, kind = append(x, cell), append(y, label), append(kind, []string{"steel", "brass"}[i%2])
		numbers, labels, marks = append(numbers, v), append(labels, want), append(marks, below)
	}
	text.words("cells", "x", x...)
	text.words("cells", "kind", kind...)
	text.words("cells", "y", y...)
	plain.numbers("x", numbers...)
	plain.words("categorical", "kind", kind...)
	plain.numbers("y", labels...)
	plain.numbers("x censored", marks...)
	return text, plain
}

// TestCells: a table as people type it gives the batch and the model of the same numbers.
func TestCells(t *testing.T) {
	c := newClient(t)
	text, plain := typed("0,5")
	var batches, models [][]byte
	for _, p := range []packed{text, plain} {
		var batch struct {
			Indices  []int
			Warnings []string
		}
		answer := c.ask(request("select", map[string]any{"n": 6, "learner": "trees", "y": []string{"y"},
			"table": p.table()}, p.arrays...))
		if err := json.Unmarshal(answer.Body, &batch); err != nil || answer.Kind != "result" {
			t.Fatalf("%s", answer.Body)
		}
		about := slices.ContainsFunc(batch.Warnings, func(w string) bool {
			return strings.Contains(w,
				`labelled: column "x": 4 values are beyond a limit: "< 0,25" (4 times: rows 7, 17, 27, … from 0)`) &&
				strings.Contains(w, `censored="drop" makes`)
		})
		if about != (p.columns[0]["kind"] == "cells") {
			t.Errorf("%q", batch.Warnings)
		}
		batches = append(batches, fmt.Append(nil, batch.Indices))
		model := c.ask(request("fit", map[string]any{"learner": "trees", "y": []string{"y"},
			"table": p.table()}, p.arrays...))
		if model.Kind != "result" {
			t.Fatalf("%s", model.Body)
		}
		models = append(models, model.Data[0].Uint8)
		rows := p
		rows.arrays = append([]Array{model.Data[0]}, p.arrays...)
		rows.columns = nil
		for _, column := range p.columns {
			rows.columns = append(rows.columns, map[string]any{"name": column["name"], "kind": column["kind"],
				"levels": column["levels"], "arrays": []int{column["arrays"].([]int)[0] + 1}})
		}
		predicted := c.ask(request("predict", map[string]any{"table": rows.table()}, rows.arrays...))
		if predicted.Kind != "result" {
			t.Fatalf("%s", predicted.Body)
		}
		batches = append(batches, fmt.Append(nil, predicted.Data[0].Float64))
	}
	if string(batches[0]) != string(batches[2]) || string(batches[1]) != string(batches[3]) {
		t.Errorf("%s\nof the same numbers\n%s", batches[:2], batches[2:])
	}
	if !slices.Equal(models[0], models[1]) {
		t.Error("the models differ")
	}
}

// TestCensored: the argument is that of the command line.
func TestCensored(t *testing.T) {
	c := newClient(t)
	text, _ := typed("<0,5")
	body := map[string]any{"n": 6, "learner": "trees", "y": []string{"y"}, "table": text.table(), "censored": "drop"}
	if answer := c.ask(request("select", body, text.arrays...)); !strings.Contains(string(answer.Body),
		"taken as missing") || strings.Contains(string(answer.Body), "x censored") {
		t.Errorf("%s", answer.Body)
	}
	body["censored"] = "keep"
	if answer := c.ask(request("select", body, text.arrays...)); !strings.Contains(string(answer.Body),
		`censored must be limit or drop, not \"keep\"`) {
		t.Errorf("%s", answer.Body)
	}
}

// TestWordsAmongLabels are an error that lists them, or each has its place.
func TestWordsAmongLabels(t *testing.T) {
	c := newClient(t)
	p := packed{name: "labels"}
	p.words("cells", "y", "12,5", "<0,5", "lost", "n.d.", "", "lost", "inf")
	p.numbers("z", 1, 2, 3, 4, 5, 6, 7.5)
	body := map[string]any{"y": []string{"y", "z"}, "table": p.table()}
	if answer := c.ask(request("labels", body, p.arrays...)); answer.Kind != "error" ||
		!strings.Contains(string(answer.Body), `\"lost\" (rows 2, 5 from 0), \"inf\" (row 6 from 0)`) {
		t.Errorf("%s", answer.Body)
	}
	body["partial"] = true
	answer := c.ask(request("labels", body, p.arrays...))
	var about struct {
		Wrong    []wrongLabel
		Warnings []string
	}
	if err := json.Unmarshal(answer.Body, &about); err != nil || answer.Kind != "result" {
		t.Fatalf("%s", answer.Body)
	}
	nan := math.NaN()
	if got, want := fmt.Sprint(answer.Data[0].Float64, answer.Data[1].Float64),
		fmt.Sprint([]float64{12.5, 0.5, nan, nan, nan, nan, nan}, []float64{1, 2, 3, 4, 5, 6, 7.5}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if want := []wrongLabel{{"y", 2, "lost", false}, {"y", 3, "n.d.", true}, {"y", 5, "lost", false},
		{"y", 6, "inf", false}}; !slices.Equal(about.Wrong, want) || len(about.Warnings) != 1 ||
		!strings.Contains(about.Warnings[0], `"<0,5" (row 1 from 0)`) {
		t.Errorf("%+v", about)
	}
	body["y"] = []string{"w"}
	if answer := c.ask(request("labels", body, p.arrays...)); !strings.Contains(string(answer.Body), `labels: `) ||
		answer.Kind != "error" {
		t.Errorf("%s", answer.Body)
	}
}

// TestCellsThatCannotBe: what a client sends by mistake is an error.
func TestCellsThatCannotBe(t *testing.T) {
	c := newClient(t)
	codes := func(list ...int32) Array { return Array{Shape: Shape{"int32", []int{len(list)}}, Int32: list} }
	for want, arrays := range map[string][]Array{
		"has the code 2, but 2 levels":                     {codes(0, 2), list([]float64{1, 2})},
		"has codes of type float64 instead of int32":       {list([]float64{0, 1}), list([]float64{1, 2})},
		"column 2 (y): the array cannot become a table: 3": {codes(0, -7), list([]float64{1, 2, 3})},
	} {
		columns := []map[string]any{{"name": "x", "kind": "cells", "levels": []string{"1,5", ""}, "arrays": []int{0}},
			{"name": "y", "kind": "numeric", "arrays": []int{1}}}
		answer := c.ask(request("labels", map[string]any{"y": []string{"x"},
			"table": map[string]any{"name": "X", "columns": columns}}, arrays...))
		if answer.Kind != "error" || !strings.Contains(string(answer.Body), want) {
			t.Errorf("%s, want %s", answer.Body, want)
		}
	}
}

// TestCellsOfCampaigns: rows that are added have the kinds of the columns of the campaign.
func TestCellsOfCampaigns(t *testing.T) {
	c := newClientOf(t, inMemory(&storetest.Memory{}))
	text, _ := typed("<0,5")
	var made struct {
		Columns  []campaign.Column
		Labelled int
		Warnings []string
	}
	body := map[string]any{"store": "memory", "name": "typed", "targets": []string{"y"}, "table": text.table()}
	answer := c.ask(request("campaign_new", body, text.arrays...))
	if err := json.Unmarshal(answer.Body, &made); err != nil || answer.Kind != "result" {
		t.Fatalf("%s", answer.Body)
	}
	numeric := dataset.KindNumeric.String()
	if want := []campaign.Column{{Name: "x", Kind: numeric}, {Name: "kind", Kind: dataset.KindCategorical.String()},
		{Name: "x censored", Kind: numeric}}; !slices.Equal(made.Columns, want) || made.Labelled != 25 ||
		len(made.Warnings) != 2 {
		t.Errorf("%+v", made)
	}
	more := packed{name: "rows"}
	more.words("cells", "x", "1,5", "2,5")
	more.words("cells", "kind", "1", "2")
	body = map[string]any{"store": "memory", "name": "typed", "table": more.table()}
	if answer := c.ask(request("campaign_add", body, more.arrays...)); answer.Kind != "result" ||
		!strings.Contains(string(answer.Body), `"rows":2`) || !strings.Contains(string(answer.Body),
		`"new_levels":{"kind":["1","2"]}`) {
		t.Errorf("%s", answer.Body)
	}
	more = packed{name: "rows"}
	more.words("cells", "x", "1,5", "bad")
	more.words("cells", "kind", "steel", "brass")
	body["table"] = more.table()
	if answer := c.ask(request("campaign_add", body, more.arrays...)); answer.Kind != "error" ||
		!strings.Contains(string(answer.Body), `rows: row 1 (from 0), column 1 (x): the value is not a number: \"bad\"`) {
		t.Errorf("%s", answer.Body)
	}
	encode := map[string]any{"table": more.table(), "targets": []string{"y"},
		"columns": []map[string]string{{"name": "x", "kind": "text"}, {"name": "kind", "kind": "categorical"}}}
	if answer := c.ask(request("campaign_encode", encode, more.arrays...)); answer.Kind != "result" {
		t.Errorf("%s", answer.Body)
	}
}
