package nextbatch_test

import (
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/tables"
)

// givenTable has rows with and without a label, in turn; a few have a missing input, and are dropped.
func givenTable(t *testing.T, rows int) (table *dataset.Table, truth matrix.Dense[float64]) {
	t.Helper()
	a, b, y := dataset.NewNumeric("a"), dataset.NewNumeric("b"), dataset.NewNumeric("y")
	truth = matrix.New[float64](rows, 1)
	for i := range rows {
		v, label := math.Sin(float64(i*i)), math.NaN()
		truth.Set(i, 0, 10*math.Cos(float64(i))) // which the inputs do not tell
		if i%2 == 0 {
			label = truth.At(i, 0)
		}
		if i%7 == 3 || i%14 == 6 {
			v = math.NaN()
		}
		a.Append(v)
		b.Append(math.Cos(float64(3 * i)))
		y.Append(label)
	}
	table, err := dataset.NewTable(a, b, y)
	if err != nil {
		t.Fatal(err)
	}
	return table, truth
}

// TestGivenLearners: predictions that were made elsewhere belong to rows of the table, whichever of these are used, in
// a forecast as well.
func TestGivenLearners(t *testing.T) {
	table, truth := givenTable(t, 320)
	r := nextbatch.Request{
		Input: tables.Input{Table: table, TargetColumns: []string{"y"}, Missing: tables.DropMissing},
		Ask:   limits.Ask{Batch: 5},
		Options: fitted.Options{Choices: fitted.Choices{Learner: learner.TreesOnly},
			Given: []fitted.Given{{Name: "oracle", Held: truth, Pool: truth}}},
	}
	plan, err := r.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Forecast(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if plan, err = r.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := plan.Select(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if list := got.Candidates; list[2].Name != "oracle" || list[2].Weight != 1 || list[2].Error != 0 {
		t.Errorf("the candidates are %+v", list)
	}
	for i, row := range got.Indices {
		if p := float64(got.Predictions[i].Value); row%2 == 0 || p != truth.At(row, 0) {
			t.Errorf("row %d: predicted %v, want %v", row, p, truth.At(row, 0))
		}
	}
}

func TestGivenLearnersThatCannotBe(t *testing.T) {
	table, truth := givenTable(t, 60)
	for word, change := range map[string]func(*nextbatch.Request){
		"candidates of a blend":         func(r *nextbatch.Request) { r.Learner = learner.NetworkAlone },
		"oracle: there are 59×1":        func(r *nextbatch.Request) { r.Given[0].Pool = truth.Slice(0, 59) },
		"oracle: there are 60×2":        func(r *nextbatch.Request) { r.Given[0].Held = matrix.New[float64](60, 2) },
		"there are two learners \"gp\"": func(r *nextbatch.Request) { r.Given[0].Name = "gp" },
	} {
		r := nextbatch.Request{
			Input: tables.Input{Table: table, TargetColumns: []string{"y"}}, Ask: limits.Ask{Batch: 5},
			Options: fitted.Options{Choices: fitted.Choices{Learner: learner.GaussianOnly},
				Given: []fitted.Given{{Name: "oracle", Held: truth, Pool: truth}}},
		}
		change(&r)
		plan, err := r.Plan(t.Context())
		if err == nil {
			_, err = plan.Select(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want %q", err, word)
		}
	}
}
