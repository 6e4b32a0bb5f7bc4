package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// quickly are options whose networks take no time.
func quickly(kind learner.Kind) Options {
	return Options{Learner: kind, Network: network.Options{Config: network.Config{
		Architecture: network.Architecture{Hidden: []int{16}}, Training: network.Training{Epochs: 20, Batch: 32}}}}
}

// TestBlends: blends of every kind find a label that is far off, say what they consist of, and give the same
// answer on any number of threads.
func TestBlends(t *testing.T) {
	t.Parallel()
	for _, kind := range []learner.Kind{learner.Auto, learner.GaussianOnly, learner.TreesOnly} {
		o := quickly(kind)
		done, models := 0, 0
		o.Progress = func(d, of int) {
			if done++; d != done || of != passes*DefaultRepeats {
				t.Errorf("%s: step %d of %d after %d", kind, d, of, done)
			}
		}
		o.Fitting = func(d, of int, _ string, _, _ int) {
			if models++; d != done || of != passes*DefaultRepeats {
				t.Errorf("%s: a model after %d of %d steps, want %d", kind, d, of, done)
			}
		}
		reports, err := Labels(t.Context(), smooth(120), o)
		if err != nil {
			t.Fatal(err)
		}
		if done != passes*DefaultRepeats || models < 5*done {
			t.Errorf("%s: %d steps and %d models", kind, done, models)
		}
		worst := reports[1].Findings[0]
		if worst.Row != 5 || worst.P > 0.01 || worst.Label < worst.High || reports[1].LeftOut < 1 ||
			reports[1].Labels != 119 {
			t.Errorf("%s: the label that is far off is not found: %+v, %d left out", kind, worst, reports[1].LeftOut)
		}
		if n := len(reports[0].Suspects(0.01)); n > 0 {
			t.Errorf("%s: %d labels of the first target are suspect", kind, n)
		}
		if r := reports[0]; !strings.Contains(r.Learner.String(), "RMSE out of fold") || len(r.Candidates) == 0 ||
			r.Candidates[0].Error <= 0 {
			t.Errorf("%s: %q, %+v", kind, r.Learner, r.Candidates)
		}
		o.Progress, o.Fitting = nil, nil
		again, err := Labels(linalg.WithThreads(t.Context(), 1), smooth(120), o)
		if err != nil || fmt.Sprint(again[1].Findings) != fmt.Sprint(reports[1].Findings) {
			t.Errorf("%s: with one thread the findings differ (%v)", kind, err)
		}
	}
}

// TestForecastCountsFits: the forecast counts as many fits, and folds of networks, as the audit has; networks that are
// given up are trained for a fold in each pass.
func TestForecastCountsFits(t *testing.T) {
	t.Parallel()
	for _, kind := range []learner.Kind{learner.Auto, learner.TreesOnly, learner.NetworkAlone} {
		o := quickly(kind)
		fits, folds, known := 0.0, 0.0, 0.0
		o.Progress = func(int, int) { fits++ }
		o.Fitting = func(_, _ int, name string, _, _ int) {
			if name == learner.NetworkName {
				folds++
			}
		}
		s := smooth(80)
		if _, err := Labels(t.Context(), s, o); err != nil {
			t.Fatal(err)
		}
		if err := check(s, &o); err != nil {
			t.Fatal(err)
		}
		least, most := o.forecast(80, func(labels, networkFolds int) float64 {
			known = float64(labels)
			return 1 + 1000*float64(networkFolds)
		})
		switch {
		case kind == learner.NetworkAlone:
			if least != fits*1001 || most != least || known != 72 {
				t.Errorf("%s: %v to %v for %v networks of %v labels", kind, least, most, fits, known)
			}
		case math.Mod(least, 1000) != fits || math.Mod(most, 1000) != fits || known != 80:
			t.Errorf("%s: %v to %v for %v fits to %v labels", kind, least, most, fits, known)
		case kind == learner.Auto && (folds < 1 || math.Floor(least/1000) > folds || math.Floor(most/1000) < folds):
			t.Errorf("%s: %v to %v for %v folds of networks", kind, least, most, folds)
		}
	}
}

// TestBlendChoosesOnce: after the first repeat of a pass, only candidates with a weight are fitted.
func TestBlendChoosesOnce(t *testing.T) {
	t.Parallel()
	o := quickly(learner.Auto)
	fits := map[int]map[string]bool{}
	o.Fitting = func(done, _ int, name string, _, _ int) {
		if fits[done] == nil {
			fits[done] = map[string]bool{}
		}
		fits[done][name] = true
	}
	reports, err := Labels(t.Context(), steps(80), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range reports[0].Candidates {
		if first, second := fits[2][c.Name], fits[3][c.Name]; !first || second != (c.Weight > 0) {
			t.Errorf("%s has weight %v; it was fitted in the repeats of the last pass: %v, %v", c.Name, c.Weight, first, second)
		}
	}
}

// steps is a table whose label has steps, which a network and a process cannot follow.
func steps(rows int) network.Sample {
	s := network.Sample{X: matrix.New[float32](rows, 3)}
	rng.FillNormal(rng.New(3, "audit steps"), s.X.Data)
	for i := range rows {
		s.Y = append(s.Y, math.Copysign(5, float64(s.X.At(i, 0)))+math.Copysign(2,
			float64(s.X.At(i, 1)))+0.1*float64(s.X.At(i, 2)))
	}
	return s
}

// TestBlendAlarms: over tables of right labels, a label looks wrong in about one of twenty at most.
func TestBlendAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("fits hundreds of models")
	}
	t.Parallel()
	const tables, rows = 40, 100
	alarms := 0
	for seed := range uint64(tables) {
		s := network.Sample{X: matrix.New[float32](rows, 2)}
		rng.FillNormal(rng.New(seed, "audit alarms"), s.X.Data)
		noise := rng.New(seed, "audit noise")
		for i := range rows {
			s.Y = append(s.Y, math.Sin(2*float64(s.X.At(i, 0)))+float64(s.X.At(i, 1))+0.3*noise.NormFloat64())
		}
		o := Options{Learner: learner.GaussianOnly}
		if seed%2 == 1 {
			o.Learner = learner.TreesOnly
		}
		o.Network.Config.Seed = seed
		reports, err := Labels(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(reports[0].Suspects(0.05)) > 0 {
			alarms++
		}
	}
	t.Logf("alarms in %d of %d tables", alarms, tables)
	if alarms > tables/10 {
		t.Errorf("alarms in %d of %d tables of right labels", alarms, tables)
	}
}

// TestBlendStops: an audit by a blend ends with its context.
func TestBlendStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	o := quickly(learner.Auto)
	var seen []string
	o.Fitting = func(_, _ int, name string, _, _ int) {
		seen = append(seen, name)
		cancel()
	}
	if _, err := Labels(ctx, smooth(60), o); !errors.Is(err, context.Canceled) || len(slices.Compact(seen)) != 1 {
		t.Errorf("%v after %v", err, seen)
	}
}
