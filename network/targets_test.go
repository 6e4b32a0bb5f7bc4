package network

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// twoTargets has labels of different units: 100 + 10·x_0·x_1 and x_2/1000.
func twoTargets(rows int) Sample {
	s := Sample{X: matrix.New[Real](rows, 3), Targets: 2}
	rng.FillNormal(rng.New(1, "two targets"), s.X.Data)
	for i := range rows {
		x := s.X.Row(i)
		s.Y = append(s.Y, 100+10*float64(x[0]*x[1]), float64(x[2])/1000)
	}
	return s
}

var smallModel = Options{Members: 2, Config: Config{
	Architecture: Architecture{Hidden: []int{48, 48}}, Training: Training{Epochs: 60, Batch: 64}}}

func rmseOf(t *testing.T, m *Model, s Sample, target int) float64 {
	t.Helper()
	got, err := m.Target(target).Predict(t.Context(), s.X)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, want := range labelsOf(s.Y, s.Targets, target) {
		sum += (got[i] - want) * (got[i] - want)
	}
	return math.Sqrt(sum / float64(len(got)))
}

// TestSeveralTargets: each is predicted in its own units, with intervals of its own,
// and where a third of the labels is missing, too.
func TestSeveralTargets(t *testing.T) {
	t.Parallel()
	s, test := twoTargets(600), twoTargets(900)
	test.X, test.Y = test.X.Slice(600, 900), test.Y[1200:]
	for i := range 600 {
		if i%3 > 0 {
			s.Y[2*i+i%3-1] = math.NaN()
		}
	}
	o := smallModel
	o.Folds = 3
	m, err := Fit(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	for target, limit := range []float64{3, 2e-4} { // deviations are 10 and 1e-3
		if rmse := rmseOf(t, m, test, target); rmse > limit {
			t.Errorf("target %d: RMSE %.3g on new rows, limit %v", target, rmse, limit)
		}
		one := m.Target(target)
		if n := len(one.Residuals()); n != 400 || one.Intervals().Rows != 400 {
			t.Errorf("target %d: residuals of %d rows, intervals from %d; 400 have a label", target, n, one.Intervals().Rows)
		}
		low, high, err := one.PredictInterval(t.Context(), test.X, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		inside := 0
		for i, y := range labelsOf(test.Y, 2, target) {
			if low[i] <= y && y <= high[i] {
				inside++
			}
		}
		if inside < 250 || inside == 300 {
			t.Errorf("target %d: %d of 300 labels are in intervals for 90 %%", target, inside)
		}
	}
	checkSaved(t, m, test.X)
}

// checkSaved compares a model with what is left of it after saving.
func checkSaved(t *testing.T, m *Model, x matrix.Dense[Real]) {
	t.Helper()
	raw, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	back := &Model{}
	if err := back.UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	if back.Targets() != m.Targets() {
		t.Fatalf("%d targets, saved were %d", back.Targets(), m.Targets())
	}
	for i := range m.Targets() {
		a, b := m.Target(i), back.Target(i)
		want, err := a.PredictStd(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.PredictStd(t.Context(), x)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("target %d predicts differently after loading: %v", i, err)
		}
		if b.Intervals() != a.Intervals() || !reflect.DeepEqual(b.Provenance(), a.Provenance()) ||
			!slices.Equal(b.scores, a.scores) {
			t.Errorf("target %d has other intervals or another provenance after loading", i)
		}
	}
	if _, err := m.Target(1).MarshalBinary(); err == nil {
		t.Error("the second target can be saved alone")
	}
}

// TestOneTargetIsAsBefore: naming the one target changes nothing.
func TestOneTargetIsAsBefore(t *testing.T) {
	t.Parallel()
	s := twoTargets(100)
	s.Y, s.Targets = labelsOf(s.Y, 2, 0), 0
	var predictions [][]float64
	for _, s.Targets = range []int{0, 1} {
		m, err := Fit(t.Context(), s, smallModel)
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(context.Background(), s.X)
		if err != nil {
			t.Fatal(err)
		}
		predictions = append(predictions, p)
	}
	if !slices.Equal(predictions[0], predictions[1]) {
		t.Error("the predictions differ")
	}
}

func TestSeveralTargetsRefused(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for word, spoil := range map[string]func(*Sample, *Options){
		"40 rows and 79 labels":          func(s *Sample, _ *Options) { s.Y = s.Y[1:] },
		"target 1 (from 0): there is no": func(s *Sample, _ *Options) { setTarget(s.Y, 1, nan) },
		`target "b": there is no label`: func(s *Sample, o *Options) {
			setTarget(s.Y, 1, nan)
			o.Targets = []string{"a",
				"b"}
		},
		"3 names for 2 targets":          func(_ *Sample, o *Options) { o.Targets = []string{"a", "b", "c"} },
		"3 outputs, but the number of t": func(_ *Sample, o *Options) { o.Config.Architecture.Outputs = 3 },
		"row 3 (from 0) has none":        func(s *Sample, _ *Options) { s.Y[6], s.Y[7] = nan, nan },
		"row 4, column 0 (from 0) is +":  func(s *Sample, _ *Options) { s.Y[8] = math.Inf(1) },
	} {
		s, o := twoTargets(40), smallModel
		o.Holdout = new(0.0)
		spoil(&s, &o)
		if _, err := Fit(t.Context(), s, o); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
}

// TestFewLabelsOfATarget: two labels of a target suffice, wherever they are: one is held
// out and one is learnt from.
func TestFewLabelsOfATarget(t *testing.T) {
	o := smallModel
	o.Members, o.Config.Training.Epochs, o.Targets = 1, 2, []string{"a", "b"}
	for seed := range uint64(8) {
		s := twoTargets(40)
		labels := slices.Clone(s.Y)
		setTarget(s.Y, 1, math.NaN())
		s.Y[2*7+1], s.Y[2*31+1] = labels[2*7+1], labels[2*31+1]
		o.Config.Seed = seed
		m, err := Fit(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(m.Target(1).Residuals()); n != 1 || m.Target(1).Provenance().Target != "b" ||
			m.Provenance().ValidRows != 8 {
			t.Errorf("seed %d: %d labels of %q are held out, of %d "+
				"rows", seed, n, m.Target(1).Provenance().Target, m.Provenance().ValidRows)
		}
	}
}

func setTarget(y []float64, target int, v float64) {
	for i := target; i < len(y); i += 2 {
		y[i] = v
	}
}
