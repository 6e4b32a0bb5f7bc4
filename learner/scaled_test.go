package learner

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

var atLeast0 = dataset.Ranges{{Low: 0, High: math.Inf(1)}}

// madePowers returns rows whose labels are not negative, and a power of a linear function.
func madePowers(rows int) network.Sample {
	r := rng.New(8, "learner: made powers")
	s := network.Sample{X: matrix.New[float32](rows, 2), Unlabelled: matrix.New[float32](20, 2), Ranges: atLeast0}
	for _, m := range []matrix.Dense[float32]{s.X, s.Unlabelled} {
		for i := range m.Data {
			m.Data[i] = float32(r.Float64())
		}
	}
	for i := range rows {
		x := s.X.Row(i)
		s.Y = append(s.Y, math.Pow(max(0, float64(x[0])+2*float64(x[1])-0.5+0.1*r.NormFloat64()), 4))
	}
	return s
}

// TestScales: a scale takes labels there and back, those at its limits too, and is the same for labels mirrored at an
// upper limit.
func TestScales(t *testing.T) {
	t.Parallel()
	labels := []float64{0, 0.5, 3, 40, 100}
	names := map[string]int{}
	for _, r := range []dataset.Range{{Low: 0, High: 100}, {Low: 0, High: math.Inf(1)}, {Low: math.Inf(-1), High: 100}} {
		list := scalesOf(r, labels)
		if len(list) != 2 {
			t.Fatalf("%v: %d scales", r, len(list))
		}
		for _, s := range list {
			names[s.Name]++
			if !s.check() {
				t.Errorf("%+v is rejected", s)
			}
			for i, y := range labels {
				if got := s.label(s.of(y)); math.Abs(got-y) > 1e-9*(1+y) {
					t.Errorf("%+v: %v becomes %v", s, y, got)
				}
				if i > 0 && (s.of(y)-s.of(labels[i-1]))*s.Unit <= 0 {
					t.Errorf("%+v is not monotonous at %v", s, y)
				}
			}
			for _, g := range []float64{-1e300, -50, 50, 1e300} {
				if y := s.label(g); y < r.Low || y > r.High || y-y != 0 {
					t.Errorf("%+v: %v becomes the label %v", s, g, y)
				}
			}
		}
	}
	if names[rootScale] != 3 || names[logScale] != 2 || names[logitScale] != 1 {
		t.Errorf("there were %v", names)
	}
	for _, none := range [][]scale{scalesOf(dataset.Ranges(nil).Of(0), labels), scalesOf(atLeast0[0], []float64{0, 0})} {
		if none != nil {
			t.Errorf("scales %v", none)
		}
	}
	for _, wrong := range []scale{{Name: "cube", Unit: 1}, {Name: logScale, Unit: 1, Two: true},
		{Name: logitScale, Unit: 1}, {Name: rootScale}, {Name: rootScale, Unit: math.NaN()}} {
		if wrong.check() {
			t.Errorf("%+v is accepted", wrong)
		}
	}
}

// TestScaledProcess: labels that are a power of a linear function are learnt on another scale, with a lower error on
// other rows, if their limit is declared; the model is the same after it was saved and loaded.
func TestScaledProcess(t *testing.T) {
	t.Parallel()
	s, tests := madePowers(40), madePowers(540)
	tests.X, tests.Y = tests.X.Slice(40, 540), tests.Y[40:]
	o := small()
	o.Kind = GaussianOnly
	off := func(s network.Sample) (*Model, float64) {
		t.Helper()
		m, err := Fit(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		u := predict(t, t.Context(), m.Within(s.Ranges), tests.X)
		errors := slices.Clone(u.Mean)
		for i, y := range tests.Y {
			errors[i] -= y
		}
		return m, rootMeanSquare(errors, nil)
	}
	m, scaled := off(s)
	if c := onScaleOf(m); c.Scale == "" || c.Weight < 0.5 {
		t.Errorf("the candidates are %+v", m.Candidates())
	}
	s.Ranges = nil
	plain, own := off(s)
	if !(scaled < 0.9*own) || onScaleOf(plain).Name != "" {
		t.Errorf("the error is %v with the range and %v without it, with %+v", scaled, own, plain.Candidates())
	}
	raw, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var again Model
	if err := again.UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(predict(t, t.Context(), m, s.Unlabelled), predict(t, t.Context(), &again, s.Unlabelled)) {
		t.Error("the loaded model predicts otherwise")
	}
	if more, err := again.MarshalBinary(); err != nil || !bytes.Equal(more, raw) {
		t.Error("the loaded model is saved otherwise", err)
	}
	if old, err := fit(t, t.Context(), s, processLearner{}).MarshalBinary(); err != nil ||
		!bytes.HasPrefix(old, []byte(magic)) || !bytes.HasPrefix(raw, []byte(newerMagic)) {
		t.Error("the versions of the files are wrong", err)
	}
}

// onScaleOf returns the candidate that learns labels on another scale.
func onScaleOf(m *Model) (found Candidate) {
	for _, c := range m.Candidates() {
		if c.Name == (scaledProcess{}).Name() {
			found = c
		}
	}
	return found
}

// TestScaleOfEachTarget: each target has the scale of its own range, and none without one.
func TestScaleOfEachTarget(t *testing.T) {
	t.Parallel()
	s := madePowers(30)
	var both []float64
	for _, y := range s.Y {
		both = append(both, y, -y)
	}
	s.Y, s.Targets = both, 2
	s.Ranges = dataset.Ranges{atLeast0[0], dataset.Ranges(nil).Of(0)}
	o := small()
	o.Kind = GaussianOnly
	m, err := Fit(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if one, two := onScaleOf(m), onScaleOf(m.Target(1)); one.Scale == "" || two.Left == "" || two.Weight > 0 {
		t.Errorf("%+v, %+v", one, two)
	}
	if _, err := m.MarshalBinary(); err != nil {
		t.Error(err)
	}
	s.Ranges = append(s.Ranges, atLeast0...)
	if _, err := Fit(t.Context(), s, o); err == nil {
		t.Error("three ranges for two targets are accepted")
	}
}
