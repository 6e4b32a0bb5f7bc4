package nextbatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// A table as users have it: names, words among the inputs, a cost, and empty labels.
// The rows with an empty label are the candidates.
func ExampleRequest() {
	const text = `name,temperature,material,hours,y
a,21,steel,1,1.5
b,24,brass,2,2.5
c,30,steel,1,2.25
d,22,steel,3,
e,90,brass,2,
f,25,brass,1,
`
	table, err := source.ReadCSV(context.Background(), strings.NewReader(text), source.Options{ID: "name"})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := nextbatch.Request{
		Input: tables.Input{Table: table, TargetColumns: []string{"y"}, IDColumn: "name"},
		Ask:   limits.Ask{Limits: limits.Limits{CostColumn: "hours", Budget: new(3.0)}, Batch: 2},
		Spec:  spec.MustParse("maxdist-tp:linear"),
	}.Plan(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := plan.Select(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, id := range result.IDs {
		fmt.Printf("label %s: %s\n", id, strings.ReplaceAll(result.Reasons[i], "; ", ";\n"))
	}
	// Output:
	// label e: 63 times the typical distance from labelled row b, in a cluster of 2 rows;
	// unlike b in temperature (90, there 24)
	// label f: about the typical distance from labelled row b, in a cluster of 1 row;
	// slightly unlike b in temperature (25, there 24)
}

// asked is a request for a batch of a small table.
func asked(t *testing.T) nextbatch.Request {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,x,z,site,y\n")
	for i := range 60 {
		fmt.Fprintf(&b, "r%d,%v,%v,s%d,", i, math.Sin(float64(i)), math.Cos(float64(i*i)), i%3)
		if i%4 == 0 {
			fmt.Fprintf(&b, "%d", i%7)
		}
		b.WriteString("\n")
	}
	table, err := source.ReadCSV(t.Context(), strings.NewReader(b.String()), source.Options{ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	return nextbatch.Request{
		Input: tables.Input{Table: table, TargetColumns: []string{"y"}, IDColumn: "id"},
		Ask:   limits.Ask{Batch: 5, Limits: limits.Limits{GroupColumn: "site", PerGroup: 2}},
		Options: fitted.Options{Choices: fitted.Choices{Seed: 2,
			Network: network.Config{Architecture: network.Architecture{Hidden: []int{8}},
				Training: network.Training{Epochs: 2}}}},
	}
}

// TestRequest: the result names rows, respects the group limits, and is what Select
// returns for the problem of the plan.
func TestRequest(t *testing.T) {
	t.Parallel()
	r := asked(t)
	r.Must, r.Exclude = []string{"r1"}, []string{"r2", "nobody"}
	plan, err := r.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if plan.Labelled != 15 || plan.Pool != 45 || plan.Networks != 1 || plan.Memory == 0 ||
		!slices.Equal(plan.Warnings, []string{`Exclude: there is no candidate "nobody"`}) {
		t.Errorf("%+v", plan)
	}
	result, err := plan.Select(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(result.IDs) != 5 || result.IDs[0] != "r1" || slices.Contains(result.IDs, "r2") ||
		len(result.Metrics.ValidRMSE) != 1 {
		t.Errorf("%+v", result)
	}
	batch, err := nextbatch.Select(t.Context(), spec.MustParse(spec.Default), plan.Problem())
	if err != nil || !slices.Equal(batch.Rows(), result.Batch.Rows()) {
		t.Errorf("%v, want %v (%v)", batch.Rows(), result.Batch.Rows(), err)
	}
	if plan.Name(selection.PoolSet, batch.Rows()[1]) != result.IDs[1] {
		t.Error("other names")
	}
	raw, err := json.Marshal(batch)
	for _, part := range []string{`"why":"required"`, `"fallbacks":[]`, `"removed":[]`, `"warnings":[]`,
		`"timing":{"init_ns":`} {
		if err != nil || !strings.Contains(string(raw), part) {
			t.Errorf("no %s in %s, %v", part, raw, err)
		}
	}
	if (&nextbatch.Batch{}).Rows() == nil || len(result.Warnings) < 1 {
		t.Error("an empty batch has no rows")
	}
}

// TestRequestByModel: a request with a fitted model trains none, and a plan can be
// forecast without being carried out.
func TestRequestByModel(t *testing.T) {
	t.Parallel()
	first, err := asked(t).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Forecast(t.Context(), 0); err != nil || first.Seconds.Total <= 0 || first.Model() != nil {
		t.Errorf("%+v, %v", first.Seconds, err)
	}
	want, err := first.Select(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := asked(t)
	r.Model = first.Model()
	second, err := r.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := second.Select(t.Context())
	if err != nil || second.Networks != 0 || !slices.Equal(got.IDs, want.IDs) {
		t.Errorf("%+v, want %v (%v)", got, want.IDs, err)
	}
}

func TestRequestRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*nextbatch.Request)
		data   bool
		word   string
	}{
		"batch":     {func(r *nextbatch.Request) { r.Batch = 0 }, false, "Batch"},
		"budget":    {func(r *nextbatch.Request) { r.CostColumn = "x" }, false, "CostColumn alone changes nothing"},
		"no budget": {func(r *nextbatch.Request) { r.CostColumn, r.Budget = "x", new(-1.0) }, false, "not negative"},
		"groups":    {func(r *nextbatch.Request) { r.PerGroup = 0 }, false, "GroupColumn alone changes nothing"},
		"features": {func(r *nextbatch.Request) { r.Spec = spec.MustParse("lcmd-tp:features") }, false,
			"the kernel features"},
		"members": {func(r *nextbatch.Request) { r.Spec, r.Members = spec.MustParse("lcmd-tp:ll>ens(3)"), 2 },
			false, "Members is 2"},
		"network":    {func(r *nextbatch.Request) { r.Network.Training.Epochs = -1 }, false, "-1 epochs"},
		"no table":   {func(r *nextbatch.Request) { r.Table = nil }, false, "one table"},
		"two tables": {func(r *nextbatch.Request) { r.Pool = r.Table }, false, "one table"},
		"no target":  {func(r *nextbatch.Request) { r.TargetColumns = nil }, false, "TargetColumns"},
		"no column":  {func(r *nextbatch.Request) { r.IDColumn = "name" }, true, `"name"`},
		"labelled":   {func(r *nextbatch.Request) { r.Must = []string{"r4"} }, true, "it has a label"},
		"both": {func(r *nextbatch.Request) { r.Must, r.Exclude = []string{"r1"}, []string{"r1"} },
			false, "Must and Exclude"},
		"twice": {func(r *nextbatch.Request) { r.Must = []string{"r1", "r1"} }, false, "named twice"},
		"cost":  {func(r *nextbatch.Request) { r.CostColumn, r.Budget = "x", new(1.0) }, true, "not negative"},
	}
	for name, c := range cases {
		r := asked(t)
		c.change(&r)
		_, err := r.Plan(t.Context())
		wrong, data := (*nextbatch.RequestError)(nil), (*nextbatch.DataError)(nil)
		if err == nil || !strings.Contains(err.Error(), c.word) || errors.As(err, &data) != c.data ||
			errors.As(err, &wrong) == c.data {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
	x := matrix.FromRows([][]float64{{1, 2}, {3, 4}})
	r := nextbatch.Request{Own: nextbatch.Own{OwnFeatures: true, Exact: nextbatch.Sets[float64]{Pool: x}},
		Ask: limits.Ask{Batch: 1}}
	plan, err := r.Plan(t.Context())
	if err != nil || plan.Spec != "lcmd-p:features" {
		t.Errorf("%+v, %v", plan, err)
	}
	refusal := errors.New("too much")
	r.Admit = func(int64, ...string) error { return refusal }
	if _, err := r.Plan(t.Context()); !errors.Is(err, refusal) {
		t.Errorf("not admitted: %v", err)
	}
}
