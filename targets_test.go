package nextbatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// twoTargets is a request for a table with the targets y and z. Rows 0, 3, 6, … are
// labelled: in turn both targets, y alone, z alone.
func twoTargets(t *testing.T) nextbatch.Request {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,u,v,y,z\n")
	for i := range 180 {
		u, v := math.Sin(float64(i)), math.Cos(float64(i*i))
		y, z := fmt.Sprint(100+10*u*v), fmt.Sprint((u-v)/1000)
		if i%9 == 6 || i%3 != 0 {
			y = ""
		}
		if i%9 == 3 || i%3 != 0 {
			z = ""
		}
		fmt.Fprintf(&b, "r%d,%v,%v,%s,%s\n", i, u, v, y, z)
	}
	table, err := source.ReadCSV(t.Context(), strings.NewReader(b.String()), source.Options{ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	return nextbatch.Request{
		Input: tables.Input{Table: table, TargetColumns: []string{"y", "z"}, IDColumn: "id"}, Ask: limits.Ask{Batch: 6},
		Options: fitted.Options{Choices: fitted.Choices{Seed: 2,
			Network: network.Config{Architecture: network.Architecture{Hidden: []int{16, 16}},
				Training: network.Training{Epochs: 10}}}},
	}
}

// TestTwoTargets: a row with one of two labels is a labelled row, each target is
// standardised and predicted by itself, and the batch is that of Select with weights.
func TestTwoTargets(t *testing.T) {
	r := twoTargets(t)
	r.Weights = []float64{1, 4}
	plan, err := r.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if plan.Labelled != 60 || plan.Pool != 120 || plan.Inputs != 2 || len(plan.Warnings) > 0 {
		t.Fatalf("%+v", plan)
	}
	result, err := plan.Select(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Targets) != 2 || result.Targets[1].Target != "z" || result.Targets[1].Weight != 4 ||
		result.Targets[1].Labels != 40 {
		t.Fatalf("%+v", result.Targets)
	}
	for k, center := range []float64{100, 0} {
		one := result.Targets[k]
		if len(one.Predictions) != 6 || len(one.ValidRMSE) != 1 || math.Abs(float64(one.Predictions[0].Value)-center) > 30 {
			t.Errorf("%s: %+v", one.Target, one)
		}
	}
	if !strings.Contains(result.Reasons[0], "; predicted y ") || !strings.Contains(result.Reasons[0], "; z ") {
		t.Errorf("the reason names no targets: %s", result.Reasons[0])
	}
	rows, sum := plan.Rows, 0.0
	for _, y := range plan.Problem().Labels.Data {
		if !math.IsNaN(y) {
			sum += y * y
		}
	}
	if math.Abs(sum-80) > 1e-9 || rows.Labels.Cols != 2 {
		t.Errorf("squares of 80 standardised labels add up to %v", sum)
	}
	problem := plan.Problem()
	problem.Models = nextbatch.Models(plan.Model().Ensemble(), 1, 4)
	want, err := nextbatch.Select(t.Context(), spec.MustParse(spec.Default), problem)
	if err != nil || !slices.Equal(want.Rows(), result.Batch.Rows()) {
		t.Errorf("picked %v, want %v (%v)", result.Batch.Rows(), want.Rows(), err)
	}
	problem.Models = nextbatch.Models(plan.Model().Ensemble())
	if other, err := nextbatch.Select(t.Context(), spec.MustParse(spec.Default), problem); err != nil ||
		slices.Equal(other.Rows(), want.Rows()) {
		t.Errorf("weights change nothing (%v)", err)
	}
}

// TestOneTargetKeepsItsShape: the JSON of one target has no entries per target.
func TestOneTargetKeepsItsShape(t *testing.T) {
	r := twoTargets(t)
	r.TargetColumns = []string{"y"}
	raw, err := json.Marshal(mustResult(t, r))
	if err != nil || strings.Contains(string(raw), `"targets"`) {
		t.Errorf("%s, %v", raw, err)
	}
}

// TestTargetsOfEveryKernel: each base kernel selects with two targets, or says why not.
func TestTargetsOfEveryKernel(t *testing.T) {
	for text, want := range map[string]string{
		"lcmd-tp:grad": "", "maxdet-p:ll>train": "", "maxdet-p:rbf>train": "", "lcmd-tp:matern": "", "lcmd-tp:linear": "",
		"maxdet-p:ntk>train":    "",
		"maxdiag:ll>acs-rf(16)": "",
		"maxdiag:ll>acs-rf-hyper(16)": "acs-rf-hyper(16) fits its hyperparameters to the labels of one target, but there " +
			"are 2 targets; use acs-rf",
	} {
		r := twoTargets(t)
		r.Spec, r.Weights = spec.MustParse(text), []float64{1, 2}
		plan, err := r.Plan(t.Context())
		if err == nil {
			_, err = plan.Select(context.Background())
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTargetsRefused(t *testing.T) {
	for want, spoil := range map[string]func(*nextbatch.Request){
		`column "y" is named twice`: func(r *nextbatch.Request) {
			r.TargetColumns = []string{"y", "z",
				"y"}
		},
		"there are 1 weights, but 2 target columns": func(r *nextbatch.Request) { r.Weights = []float64{1} },
		`the weight of target "z" is -1`:            func(r *nextbatch.Request) { r.Weights = []float64{1, -1} },
		`"w"`: func(r *nextbatch.Request) {
			r.TargetColumns = []string{"y",
				"w"}
		},
		`because it has a label in one of the columns "y",`: func(r *nextbatch.Request) { r.Must = []string{"r6"} },
	} {
		r := twoTargets(t)
		spoil(&r)
		if _, err := r.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
}
