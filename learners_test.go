package nextbatch_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// blendRequest has two targets, one of which has missing labels, and a category.
func blendRequest(t *testing.T, labelled int) nextbatch.Request {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,x,z,site,y,w\n")
	for i := range 120 {
		x, z := math.Sin(float64(i)), math.Cos(float64(i*i))
		fmt.Fprintf(&b, "r%d,%v,%v,s%d,", i, x, z, i%3)
		if i < labelled {
			fmt.Fprintf(&b, "%v", x*x+z)
		}
		b.WriteString(",")
		if i < labelled && i%2 == 0 {
			fmt.Fprintf(&b, "%v", x-z)
		}
		b.WriteString("\n")
	}
	table, err := source.ReadCSV(t.Context(), strings.NewReader(b.String()), source.Options{ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	return nextbatch.Request{
		Input: tables.Input{Table: table, TargetColumns: []string{"y", "w"}, IDColumn: "id"}, Ask: limits.Ask{Batch: 6},
		Options: fitted.Options{Choices: fitted.Choices{Learner: learner.Auto, Seed: 2,
			Network: network.Config{Architecture: network.Architecture{Hidden: []int{8}},
				Training: network.Training{Epochs: 2}}}},
	}
}

// TestBlends: a blend is fitted, its kernel picks the batch, the result says what was chosen, and neither
// threads nor saving the model change the batch.
func TestBlends(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ learner, spec, want string }{
		{"auto", "", spec.Default}, {"gp", "", nextbatch.ProcessSpec}, {"trees", "", nextbatch.TreesSpec},
		{"auto", "lcmd-tp:grad>sketch(16)", ""}, {"gp", "maxdet-p:ll>ens(2)>train", ""}, {"auto", "lcmd-tp:predictions", ""},
		{"auto", "lcmd-tp:(grad>sketch(16)+0.5*matern>rff(64))", ""}, {"auto", "random", ""},
	} {
		r := blendRequest(t, 60)
		r.Learner = learner.Kind(test.learner)
		if test.spec != "" {
			r.Spec, test.want = spec.MustParse(test.spec), test.spec
		}
		plan, err := r.Plan(t.Context())
		if err != nil {
			t.Fatalf("%+v: %v", test, err)
		}
		got, err := plan.Select(nextbatch.WithThreads(t.Context(), 1))
		if err != nil {
			t.Fatalf("%+v: %v", test, err)
		}
		if test.spec == "random" {
			if plan.Model() != nil || got.Learner != "" {
				t.Error("random fits a model")
			}
			continue
		}
		if !strings.HasPrefix(plan.Spec, strings.SplitN(test.want, "(", 2)[0]) || len(got.IDs) != 6 ||
			!strings.Contains(got.Learner, "out of fold") || len(got.Targets) != 2 || got.Targets[1].Learner == got.Learner {
			t.Errorf("%+v: %s, %v, %q", test, plan.Spec, got.IDs, got.Learner)
		}
		again, err := r.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if other, err := again.Select(nextbatch.WithThreads(t.Context(), 3)); err != nil ||
			!slices.Equal(got.IDs, other.IDs) || got.Learner != other.Learner {
			t.Errorf("%+v: other threads pick %v instead of %v (%v)", test, other.IDs, got.IDs, err)
		}
		path := filepath.Join(t.TempDir(), "model")
		if err := plan.Model().Save(path); err != nil {
			t.Fatal(err)
		}
		if r.Model, err = learner.Load(path); err != nil {
			t.Fatal(err)
		}
		if again, err = r.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		if other, err := again.Select(t.Context()); err != nil || !slices.Equal(got.IDs, other.IDs) ||
			got.Learner != other.Learner {
			t.Errorf("%+v: the saved model picks %v instead of %v (%v)", test, other, got.IDs, err)
		}
	}
}

// TestDefaultMethodCountsEveryTarget: one of two targets has labels in every other row, too few for networks.
func TestDefaultMethodCountsEveryTarget(t *testing.T) {
	for labelled, want := range map[int]string{30: nextbatch.ProcessSpec, 40: spec.Default} {
		r := blendRequest(t, labelled)
		if got := r.WithDefaults().Spec.String(); got != want {
			t.Errorf("%d rows have a label: %s, want %s", labelled, got, want)
		}
	}
}

// TestBlendsStart: with too few labels for a blend, the batch is spread over the inputs.
func TestBlendsStart(t *testing.T) {
	t.Parallel()
	plan, err := blendRequest(t, 4).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if plan.Spec != "lcmd-tp:linear" || !slices.ContainsFunc(plan.Warnings,
		func(w string) bool { return strings.Contains(w, "too few to train a model") }) {
		t.Errorf("%s, %q", plan.Spec, plan.Warnings)
	}
	if _, err := plan.Select(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStartsWithFewUsableRows: a batch also starts without a model where labels are of the same few rows, and where
// labelled rows lack inputs. A method that needs a model is refused.
func TestStartsWithFewUsableRows(t *testing.T) {
	t.Parallel()
	const header, pool = "id,a,b,y\n", "p,2,3,\nq,4,1,\nr,3,3,\n"
	for name, test := range map[string]struct {
		rows string
		drop bool
	}{
		"replicates": {rows: "k,1,2,3\nk,1,2,4\nk,1,2,5\nl,2,1,1\nl,2,1,1.5\nm,5,1,2\n"},
		"gaps":       {rows: "i,,2,3\nj,,2,4\nk,1,2,5\nl,2,1,1\nm,5,1,2\n", drop: true},
		"only gaps":  {rows: "i,,2,3\nj,,2,4\nk,,2,5\nl,,1,1\nm,,1,2\n", drop: true},
	} {
		table, err := source.ReadCSV(t.Context(), strings.NewReader(header+test.rows+pool), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := nextbatch.Request{Input: tables.Input{Table: table, IDColumn: "id", TargetColumns: []string{"y"}}}
		r.Learner, r.Batch = learner.Auto, 2
		if test.drop {
			r.Missing = tables.DropMissing
		}
		plan, err := r.Plan(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if batch, err := plan.Select(t.Context()); err != nil || len(batch.IDs) != 2 || !slices.ContainsFunc(plan.Warnings,
			func(w string) bool { return strings.Contains(w, "too few to train a model") }) {
			t.Errorf("%s: %v, %q, %v", name, batch, plan.Warnings, err)
		}
		r.Spec = spec.MustParse(nextbatch.ProcessSpec)
		if _, err := r.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "a model needs at least 5; ") ||
			strings.Contains(err.Error(), "fill in the others") != test.drop {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBlendsAreForecast: time and memory of a plan with a blend are forecast.
func TestBlendsAreForecast(t *testing.T) {
	t.Parallel()
	plan, err := blendRequest(t, 60).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Forecast(t.Context(), 0); err != nil || !(plan.Seconds.Train > 0) ||
		plan.Memory == 0 || plan.Model() != nil {
		t.Errorf("%+v, %v", plan.Seconds, err)
	}
}
