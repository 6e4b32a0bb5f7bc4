package network

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// stretched returns rows at various distances from the origin. Far out, rows are
// sparse and labels noisy.
func stretched(seed uint64, rows int) (matrix.Dense[Real], []float64) {
	stream := rng.New(seed, "stretched")
	x, y := matrix.New[Real](rows, 3), make([]float64, rows)
	for i := range rows {
		far := 0.2 + 2.8*math.Pow(stream.Float64(), 3)
		for j := range 3 {
			x.Set(i, j, Real(far*stream.NormFloat64()))
		}
		y[i] = math.Sin(float64(x.At(i, 0))) + 0.3*far*stream.NormFloat64()
	}
	return x, y
}

// TestIntervalsAdapt: where large errors go with large deviations, adaptive intervals
// are chosen. They cover as well as constant ones and are shorter for most rows.
func TestIntervalsAdapt(t *testing.T) {
	t.Parallel()
	const coverage = 0.9
	inside, n, shorter := 0, 0, 0
	for round := range uint64(5) {
		x, y := stretched(round, 150)
		o := quick(1)
		o.Folds = 5
		m := mustFit(t, x, y, o)
		if how := m.Intervals(); !how.Adaptive() || how.Rows != 150 || how.Folds != 5 ||
			!strings.HasPrefix(how.String(), "adaptive width, cross-fitted on 150 labelled rows in 5 folds: ") {
			t.Fatalf("round %d: %+v, %v", round, how, how)
		}
		x, y = stretched(100+round, 500)
		low, high, err := m.PredictInterval(t.Context(), x, coverage)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back Model
		if err := back.UnmarshalBinary(raw); err != nil {
			t.Fatal(err)
		}
		if _, again, err := back.PredictInterval(t.Context(), x, coverage); err != nil || !slices.Equal(again, high) ||
			back.Intervals() != m.Intervals() {
			t.Fatalf("saved and loaded, the intervals differ: %+v, %v", back.Intervals(), err)
		}
		constant, err := conformal.Radius(absolute(m.Residuals()), coverage)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range y {
			n++
			if low[i] <= v && v <= high[i] {
				inside++
			}
			if high[i]-low[i] < 2*constant {
				shorter++
			}
		}
	}
	if got := float64(inside) / float64(n); got < 0.85 || got > 0.95 {
		t.Errorf("coverage %.3f", got)
	}
	if shorter < n*6/10 {
		t.Errorf("only %d of %d intervals are shorter than constant ones", shorter, n)
	}
}

func absolute(residuals []Residual) []float64 {
	var list []float64
	for _, r := range residuals {
		list = append(list, math.Abs(r.Error))
	}
	slices.Sort(list)
	return list
}

// TestCrossFittedIntervalsCover: with few labels, too few of which are held out in a
// single fit for a coverage of 0.95.
func TestCrossFittedIntervalsCover(t *testing.T) {
	t.Parallel()
	const rounds, coverage = 12, 0.95
	inside, n := 0, 0
	for round := range uint64(rounds) {
		x, y := raw(100+round, 60, 0.3)
		o := quick(1)
		o.Config.Training.Epochs = 30
		single := mustFit(t, x, y, o)
		if _, _, err := single.PredictInterval(t.Context(), x, coverage); err == nil {
			t.Fatal("12 rows suffice for a coverage of 0.95")
		}
		o.Folds = 4
		m := mustFit(t, x, y, o)
		x, y = raw(200+round, 500, 0.3)
		low, high, err := m.PredictInterval(t.Context(), x, coverage)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range y {
			n++
			if low[i] <= v && v <= high[i] {
				inside++
			}
		}
	}
	// 60 rows are held out: the coverage of one fit has a deviation of √(c·(1-c)/62).
	got := float64(inside) / float64(n)
	if limit := 3 * math.Sqrt(coverage*(1-coverage)/62/rounds); math.Abs(got-coverage) > limit {
		t.Errorf("coverage %.3f, want %v ± %.3f", got, coverage, limit)
	}
}

// TestCrossFitting: the model is the one without cross-fitting, every row has a
// residual, and no fold's networks have seen its rows.
func TestCrossFitting(t *testing.T) {
	t.Parallel()
	x, y := raw(1, 50, 0.1)
	o := quick(2)
	o.Config.Training.Epochs = 5
	plain := mustFit(t, x, y, o)
	if r := plain.Residuals(); len(r) != 10 || !slices.IsSortedFunc(r, func(a, b Residual) int { return a.Row - b.Row }) {
		t.Errorf("residuals of the validation rows: %v", r)
	}
	folds := map[[2]int]int{}
	o.Folds, o.Progress = 5, func(e Epoch) { folds[[2]int{e.Fold, e.Folds}]++ }
	spy := &spyTrainer{t: t, rows: map[Real]int{}}
	o.Trainer = spy
	crossed, err := Fit(t.Context(), Sample{X: x, Y: y, Random: make([]bool, 50)}, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, net := range plain.Ensemble() {
		if !slices.Equal(net.parameters, crossed.Ensemble()[i].parameters) {
			t.Error("cross-fitting changes the networks")
		}
	}
	if len(folds) != 6 || folds[[2]int{0, 0}] != 10 || folds[[2]int{5, 5}] != 10 {
		t.Errorf("epochs of folds: %v", folds)
	}
	if r := crossed.Residuals(); len(r) != 50 || r[0].Row != 0 || r[49].Row != 49 {
		t.Errorf("%d residuals", len(r))
	}
	if spy.trainings != 6 || spy.least != 40 || spy.most != 50 {
		t.Errorf("%d trainings with %d to %d rows", spy.trainings, spy.least, spy.most)
	}
}

// spyTrainer counts the rows, for training and for validation, of each call.
type spyTrainer struct {
	t                      *testing.T
	trainings, least, most int
	rows                   map[Real]int
}

func (s *spyTrainer) Train(ctx context.Context, c Config, members int, d Data,
	progress func(Epoch)) (Ensemble, []History, error) {
	n := d.X.Rows + d.ValidX.Rows
	if s.trainings == 0 {
		s.least = n
	}
	s.trainings, s.least, s.most = s.trainings+1, min(s.least, n), max(s.most, n)
	return CPU{}.Train(ctx, c, members, d, progress)
}

func TestCrossFittingRefuses(t *testing.T) {
	t.Parallel()
	x, y := raw(1, 9, 0.1)
	for folds, want := range map[int]string{1: "at least 2", -3: "at least 2", 5: "needs at least 10 rows; there are 9"} {
		o := quick(1)
		o.Folds = folds
		if _, err := Fit(t.Context(), Sample{X: x, Y: y}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d folds: %v", folds, err)
		}
	}
	o := quick(1)
	o.Folds, o.Holdout = 2, new(0.0)
	if _, err := Fit(t.Context(), Sample{X: x, Y: y}, o); err == nil || !strings.Contains(err.Error(), "validation rows") {
		t.Errorf("without validation rows: %v", err)
	}
	o.Holdout = nil
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(e Epoch) {
		if e.Fold == 2 {
			cancel()
		}
	}
	if m, err := Fit(ctx, Sample{X: x, Y: y}, o); m != nil || err == nil {
		t.Errorf("stopped in a fold: %v", err)
	}
}
