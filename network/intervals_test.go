package network

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// held makes outcomes in five folds: errors of the given size for a predicted
// deviation that varies by a factor of up to twenty.
func held(n int, size func(relative, normal float64) float64) []outcome {
	stream := rng.New(4, "outcomes")
	list := make([]outcome, n)
	for i := range list {
		relative := math.Exp(1.5 * (2*stream.Float64() - 1))
		list[i] = outcome{row: i, fold: i % 5, residual: size(relative, stream.NormFloat64()), relative: relative}
	}
	return list
}

func TestChooseFloor(t *testing.T) {
	t.Parallel()
	if floor, constant, adaptive := chooseFloor(held(200, func(r, z float64) float64 { return r * z })); floor != floors[0] || !(adaptive < 0.9*constant) {
		t.Errorf("errors in proportion to the deviation: floor %v, scores %v and %v", floor, constant, adaptive)
	}
	if floor, constant, adaptive := chooseFloor(held(200, func(_, z float64) float64 { return z })); floor != constantLength || !(adaptive > constant) {
		t.Errorf("errors of one size: floor %v, scores %v and %v", floor, constant, adaptive)
	}
	if floor, _, _ := chooseFloor(held(200, func(r, z float64) float64 { return z / r })); floor != constantLength {
		t.Errorf("errors that fall with the deviation: floor %v", floor)
	}
	if floor, constant, adaptive := chooseFloor(held(10, func(r, z float64) float64 { return r * z })); floor != 0 || constant != 0 || adaptive != 0 {
		t.Errorf("ten rows: floor %v, scores %v and %v", floor, constant, adaptive)
	}
}

// TestIntervalScoreByHand: two folds of ten rows with errors 1 … 10, radius 10 at 0.9.
func TestIntervalScoreByHand(t *testing.T) {
	t.Parallel()
	var list []outcome
	for fold := range 2 {
		for i := range 10 {
			list = append(list, outcome{fold: fold, residual: float64(i+1) * float64(1+fold), relative: 1})
		}
	}
	scores := intervalScores(list, constantLength)
	// Rows of fold 0 have the radius 20 of fold 1; those of fold 1 the radius 10, which
	// 12, 14, 16, 18 and 20 exceed by 30 in all.
	if got, want := mean(scores[:10]), 40.0; got != want {
		t.Errorf("fold 0: %v, want %v", got, want)
	}
	if got, want := mean(scores[10:]), 20+20*3.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("fold 1: %v, want %v", got, want)
	}
}

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
		if how := m.Intervals(); !how.Adaptive() || how.Rows != 150 || how.Folds != 5 || !strings.HasPrefix(how.String(), "adaptive width, cross-fitted on 150 labelled rows in 5 folds: ") {
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
		if _, again, err := back.PredictInterval(t.Context(), x, coverage); err != nil || !slices.Equal(again, high) || back.Intervals() != m.Intervals() {
			t.Fatalf("saved and loaded, the intervals differ: %+v, %v", back.Intervals(), err)
		}
		constant, err := radius(absolute(m.Residuals()), coverage)
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
	crossed := mustFit(t, x, y, o)
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

func (s *spyTrainer) Train(ctx context.Context, c Config, members int, d Data, progress func(Epoch)) (Ensemble, []History, error) {
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

// TestConformalRadius: over many samples, an interval contains a new label with a probability of
// ⌈(n+1)·coverage⌉/(n+1).
func TestConformalRadius(t *testing.T) {
	t.Parallel()
	const samples, rows, coverage, want = 4000, 24, 0.9, 23.0 / 25
	draw, held := rng.New(1, "conformal"), 0
	for range samples {
		errs := make([]float64, rows)
		for i := range errs {
			errs[i] = draw.NormFloat64() * math.Exp(draw.NormFloat64())
		}
		before := slices.Clone(errs)
		r, err := ConformalRadius(errs, coverage)
		if err != nil || !slices.Equal(errs, before) {
			t.Fatalf("%v; the errors were %v, and are %v", err, before, errs)
		}
		if math.Abs(draw.NormFloat64()*math.Exp(draw.NormFloat64())) <= r {
			held++
		}
	}
	if share, deviation := float64(held)/samples, math.Sqrt(want*(1-want)/samples); math.Abs(share-want) > 3*deviation {
		t.Errorf("%.4f of the intervals contain the label, want %v ± %.4f", share, want, 3*deviation)
	}
	few := (*CoverageError)(nil)
	if _, err := ConformalRadius([]float64{1, 2, 3}, 0.9); !errors.As(err, &few) || few.Need != 9 {
		t.Errorf("three errors: %v", err)
	}
}
