package learner

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// foldwise predicts labels by ridge regression on the inputs, as a caller would elsewhere: for the rows of
// a sample by models without the row's share of them, and for others by the model of all.
func foldwise(t *testing.T,
	s network.Sample) (held matrix.Dense[float64], predict func(x matrix.Dense[float32]) matrix.Dense[float64]) {
	t.Helper()
	targets := max(s.Targets, 1)
	held = matrix.New[float64](s.X.Rows, targets)
	fitted := func(without, target int) []float64 {
		g, b := matrix.New[float64](s.X.Cols, s.X.Cols), matrix.New[float64](s.X.Cols, 1)
		for i := range s.X.Rows {
			if y := s.Y[i*targets+target]; i%4 != without && !math.IsNaN(y) {
				for a, v := range s.X.Row(i) {
					b.Set(a, 0, b.At(a, 0)+float64(v)*y)
					for c, w := range s.X.Row(i) {
						g.Set(a, c, g.At(a, c)+float64(v)*float64(w))
					}
				}
			}
		}
		for a := range g.Rows {
			g.Set(a, a, g.At(a, a)+1)
		}
		if !solve(g, b) {
			t.Fatal("ridge regression failed")
		}
		return b.Data
	}
	of := func(row []float32, w []float64) (sum float64) {
		for a, v := range row {
			sum += w[a] * float64(v)
		}
		return sum
	}
	whole := make([][]float64, targets)
	for k := range whole {
		whole[k] = fitted(-1, k)
		for fold := range 4 {
			w := fitted(fold, k)
			for i := fold; i < s.X.Rows; i += 4 {
				held.Set(i, k, of(s.X.Row(i), w))
			}
		}
	}
	return held, func(x matrix.Dense[float32]) matrix.Dense[float64] {
		list := matrix.New[float64](x.Rows, targets)
		for i := range x.Rows {
			for k := range targets {
				list.Set(i, k, of(x.Row(i), whole[k]))
			}
		}
		return list
	}
}

// linearSample has labels that are linear in the inputs, so that ridge regression has the lowest error.
func linearSample(rows int) network.Sample {
	s := made(rows)
	for i := range s.Y {
		s.Y[i] = 3*float64(s.X.At(i, 0)) - float64(s.X.At(i, 1)) + 0.1*math.Sin(float64(7*i*i))
	}
	return s
}

// TestGiven: a candidate that was fitted elsewhere gets a weight, its predictions count by it, and the intervals hold
// the labels of new rows; a file keeps all but its predictions.
func TestGiven(t *testing.T) {
	s, fresh := linearSample(80), linearSample(280)
	fresh.X, fresh.Y = fresh.X.Slice(80, 280), fresh.Y[80:]
	held, elsewhere := foldwise(t, s)
	m, err := Fit(t.Context(), s, Options{Kind: TreesOnly, Others: []Learner{Given("ridge", held)}})
	if err != nil {
		t.Fatal(err)
	}
	list := m.Candidates()
	if at := slices.IndexFunc(list, func(c Candidate) bool { return c.Name == "ridge" }); at < 0 || list[at].Weight < 0.8 {
		t.Fatalf("the candidates are %+v", list)
	}
	if _, err := m.Predict(t.Context(), fresh.X); err == nil || !strings.Contains(err.Error(), "ridge") {
		t.Errorf("without its predictions: %v", err)
	}
	ready, err := m.With(map[string]matrix.Dense[float64]{"ridge": elsewhere(fresh.X)})
	if err != nil {
		t.Fatal(err)
	}
	u := predict(t, t.Context(), ready, fresh.X)
	low, high, err := ready.PredictInterval(t.Context(), fresh.X, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	inside, squares := 0, 0.0
	for i, y := range fresh.Y {
		squares += (u.Mean[i] - y) * (u.Mean[i] - y)
		if low[i] <= y && y <= high[i] {
			inside++
		}
	}
	if rmse := math.Sqrt(squares / float64(len(fresh.Y))); rmse > 0.15 {
		t.Errorf("the error on new rows is %v", rmse)
	}
	if share := float64(inside) / float64(len(fresh.Y)); share < 0.8 || share > 0.98 {
		t.Errorf("%.2f of the labels are in intervals of 90 %%", share)
	}
	raw, err := ready.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	read := &Model{}
	if err := read.UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	if _, err := read.Predict(t.Context(), fresh.X); err == nil {
		t.Error("the file holds predictions for rows")
	}
	if read, err = read.With(map[string]matrix.Dense[float64]{"ridge": elsewhere(fresh.X)}); err != nil {
		t.Fatal(err)
	}
	if again := predict(t, t.Context(), read, fresh.X); !slices.Equal(again.Mean, u.Mean) ||
		!slices.Equal(again.Std, u.Std) {
		t.Error("a model that was read predicts something else")
	}
	if again, err := m.MarshalBinary(); err != nil || !bytes.Equal(raw, again) {
		t.Errorf("the file depends on the rows that were predicted: %v", err)
	}
}

// TestGivenOfSeveralTargets: each target has its column, also where labels are missing, whose entries have no meaning.
func TestGivenOfSeveralTargets(t *testing.T) {
	s := madeTwo(60)
	s.Y[5], s.Y[8] = math.NaN(), math.NaN()
	held, predict := foldwise(t, s)
	held.Data[5], held.Data[8] = math.Inf(1), math.NaN()
	m, err := Fit(t.Context(), s, Options{Kind: GaussianOnly, Others: []Learner{Given("ridge", held)}})
	if err != nil {
		t.Fatal(err)
	}
	ready, err := m.With(map[string]matrix.Dense[float64]{"ridge": predict(s.X), "unknown": {}})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		all := ready.Target(k).Candidates()
		if c := all[len(all)-1]; c.Name != "ridge" || c.Left != "" || c.Error == 0 {
			t.Errorf("target %d: %+v", k, c)
		}
		if _, err := ready.Target(k).Predict(t.Context(), s.X); err != nil {
			t.Errorf("target %d: %v", k, err)
		}
	}
}

func TestGivenThatCannotBeUsed(t *testing.T) {
	s := linearSample(40)
	held, predict := foldwise(t, s)
	one := func(others ...Learner) (*Model, error) {
		return Fit(t.Context(), s, Options{Kind: TreesOnly, Others: others})
	}
	if _, err := one(Given("ridge", held.Slice(0, 39))); err == nil ||
		!strings.Contains(err.Error(), "ridge: there are 39×1 predictions for 40") {
		t.Errorf("too few predictions: %v", err)
	}
	for _, others := range [][]Learner{{Given("ridge", held), Given("ridge", held)}, {Given("boosting", held)}} {
		if _, err := one(others...); err == nil || !strings.Contains(err.Error(), "two learners") {
			t.Errorf("two learners of a name: %v", err)
		}
	}
	m, err := one(Given("ridge", held))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.With(map[string]matrix.Dense[float64]{"ridge": matrix.New[float64](40, 2)}); err == nil {
		t.Error("predictions of two targets were accepted")
	}
	wrong := predict(s.X)
	wrong.Set(3, 0, math.NaN())
	if _, err := m.With(map[string]matrix.Dense[float64]{"ridge": wrong}); err == nil {
		t.Error("a prediction that is not a number was accepted")
	}
	short, err := m.With(map[string]matrix.Dense[float64]{"ridge": predict(s.X.Slice(0, 3))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := short.Predict(t.Context(), s.X); err == nil {
		t.Error("3 predictions for 40 rows were accepted")
	}
	held.Set(7, 0, math.NaN())
	if m, err = one(Given("ridge", held)); err != nil {
		t.Fatal(err)
	}
	if c := m.Candidates()[2]; c.Left == "" || c.Weight != 0 {
		t.Errorf("a candidate with a prediction that is not a number: %+v", c)
	}
}
