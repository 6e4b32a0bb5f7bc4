package learner

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/linalg"
)

// TestKnownNoise: with every learner, a label that is off moves the prediction at its row less if it is known to be
// noisy; equal known noise changes next to nothing.
func TestKnownNoise(t *testing.T) {
	t.Parallel()
	whole := made(60)
	one, exact := linalg.WithThreads(t.Context(), 1), make([]float64, 60)
	noisy := slices.Clone(exact)
	for i := 0; i < 60; i += 3 {
		whole.Y[i] += 2
		noisy[i] = 4
	}
	truth := func(i int) float64 {
		row := whole.X.Row(i)
		return math.Sin(float64(row[0])) + float64(row[1])
	}
	network := networkLearner{Options: small().Network}
	network.Options.Config.Training.Epochs = 200
	for _, l := range []Learner{processLearner{}, extraTrees{}, boostedTrees{}, network} {
		off := func(noise []float64) (sum float64, means []float64) {
			s := whole
			s.Noise = noise
			means = predict(t, one, fit(t, one, s, l), whole.X).Mean
			for i := 0; i < 60; i += 3 {
				sum += math.Abs(means[i]-truth(i)) / 20
			}
			return sum, means
		}
		usual, plain := off(nil)
		if known, _ := off(noisy); !(known < 0.8*usual) {
			t.Errorf("%s: with known noise the predictions are off by %v, without by %v", l.Name(), known, usual)
		}
		_, equal := off(slices.Repeat([]float64{1e-4}, 60))
		for i, want := range plain {
			if math.Abs(equal[i]-want) > 0.1 || l.Name() != ProcessName && equal[i] != want {
				t.Errorf("%s: row %d is predicted as %v with equal noise, as %v without", l.Name(), i, equal[i], want)
				break
			}
		}
	}
	s := whole
	for _, wrong := range [][]float64{{1}, append(make([]float64, 59), -1), append(make([]float64, 59), math.NaN())} {
		s.Noise = wrong
		if _, err := Fit(t.Context(), s, small()); err == nil {
			t.Errorf("the variances %v are accepted", wrong)
		}
	}
}

// TestModelsOfKnownNoise: a blend of two targets with known noise is the same on any number of threads and after it was
// saved, on other scales, too.
func TestModelsOfKnownNoise(t *testing.T) {
	t.Parallel()
	s, learners := madeTwo(40), append(all(), scaledProcess{})
	s.Ranges = dataset.Ranges{{Low: -20, High: 20}}
	for i := range s.Y {
		s.Noise = append(s.Noise, float64(i%5)/5)
	}
	one, several := linalg.WithThreads(t.Context(), 1), linalg.WithThreads(t.Context(), 3)
	a, b := fit(t, one, s, learners...), fit(t, several, s, learners...)
	raw, err := a.MarshalBinary()
	restored := &Model{}
	if err == nil {
		err = restored.UnmarshalBinary(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		want := predict(t, one, a.Target(k), s.Unlabelled)
		for what, m := range map[string]*Model{"on three threads": b, "restored": restored} {
			if got := predict(t, one, m.Target(k), s.Unlabelled); !reflect.DeepEqual(got, want) {
				t.Errorf("target %d, %s: %+v, want %+v", k, what, got, want)
			}
		}
	}
	s.Noise = nil
	if reflect.DeepEqual(predict(t, one, fit(t, one, s, learners...), s.Unlabelled), predict(t, one, a, s.Unlabelled)) {
		t.Error("the noise changes nothing")
	}
}
