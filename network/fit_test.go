package network

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/matrix"
)

// raw returns rows with columns of very different scale, and noisy labels.
func raw(seed uint64, rows int, noise float64) (matrix.Dense[Real], []float64) {
	x, wave := waveRows(seed, rows, 3, 1)
	stream := rng.New(seed, "noise")
	y := make([]float64, rows)
	for i := range y {
		y[i] = 500 + 30*(float64(wave.At(i, 0))+noise*stream.NormFloat64())
		row := x.Row(i)
		row[1] = 1000 + 50*row[1]
	}
	return x, y
}

func quick(members int) Options {
	return Options{
		Config: Config{
			Architecture: Architecture{Hidden: []int{40, 40}},
			Training:     Training{Epochs: 60, Batch: 64},
			Seed:         3,
		},
		Members: members,
	}
}

func fitted(t testing.TB, members int) *Model {
	t.Helper()
	x, y := raw(1, 400, 0.1)
	return mustFit(t, x, y, quick(members))
}

func mustFit(t testing.TB, x matrix.Dense[Real], y []float64, o Options) *Model {
	t.Helper()
	m, err := Fit(context.Background(), Sample{X: x, Y: y}, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestModelPredictsInTheUnitsOfTheLabels(t *testing.T) {
	t.Parallel()
	x, y := raw(2, 500, 0.1)
	for _, members := range []int{1, 3} {
		r := fitted(t, members)
		got, err := r.Predict(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		m := stats.Measure(matrix.View(1, len(got), got), y)
		if m.RMSE > 10 { // the labels' deviation is 21, the noise 3
			t.Errorf("%d members: RMSE %.2f", members, m.RMSE)
		}
		if p := r.Provenance(); p.Rows != 320 || p.ValidRows != 80 || len(p.Best) != members ||
			len(p.ValidRMSE) != members || math.Abs(p.ValidRMSE[0]-m.RMSE) > 5 {
			t.Errorf("%d members: provenance %+v, test RMSE %.2f", members, p, m.RMSE)
		}
	}
}

func TestFitIsSeeded(t *testing.T) {
	t.Parallel()
	x, _ := raw(2, 50, 0.1)
	a, b := fitted(t, 2), fitted(t, 2)
	for i := range a.Ensemble() {
		mustBeSame(t, "fitted twice", a.Ensemble()[i], b.Ensemble()[i])
	}
	first, _ := a.PredictStd(t.Context(), x)
	second, _ := b.PredictStd(t.Context(), x)
	if !slices.Equal(first.Std, second.Std) {
		t.Error("other standard deviations")
	}
}

// The mean over the members, by hand, from what the model shows.
func TestModelIsItsEnsemble(t *testing.T) {
	t.Parallel()
	r := fitted(t, 3)
	x, _ := raw(2, 30, 0.1)
	inputs, err := r.Inputs(x)
	if err != nil {
		t.Fatal(err)
	}
	each := matrix.New[Real](3, x.Rows)
	r.Ensemble().Predict(t.Context(), each, inputs)
	got, _ := r.Predict(t.Context(), x)
	u, _ := r.PredictStd(t.Context(), x)
	for i := range x.Rows {
		mean := float64(each.At(0, i)+each.At(1, i)+each.At(2, i)) / 3
		spread := 0.0
		for m := range 3 {
			spread += math.Pow(float64(each.At(m, i))-mean, 2) / 3
		}
		scale := r.labels
		near(t, "mean", got[i], mean*scale.Deviation+scale.Mean, tolerance(1e-12, 1e-6))
		near(t, "mean", u.Mean[i], got[i], 1e-15)
		near(t, "spread", u.Spread[i], math.Sqrt(spread)*scale.Deviation, tolerance(1e-9, 1e-4))
		near(t, "variance", u.Std[i]*u.Std[i], u.Spread[i]*u.Spread[i]+u.Posterior[i]*u.Posterior[i], 1e-12)
	}
}

// About two thirds of the errors lie within one standard deviation, and far from
// the data the deviation grows.
func TestStandardDeviationsAreCalibrated(t *testing.T) {
	t.Parallel()
	r := fitted(t, 3)
	x, y := raw(2, 1000, 0.1)
	u, err := r.PredictStd(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	within := 0
	for i := range y {
		if math.Abs(y[i]-u.Mean[i]) <= u.Std[i] {
			within++
		}
	}
	if within < 550 || within > 850 {
		t.Errorf("%d of 1000 errors lie within one standard deviation", within)
	}
	for i := range x.Rows {
		row := x.Row(i)
		row[0], row[2] = row[0]+30, row[2]-30
	}
	far, err := r.PredictStd(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(u.Std)
	slices.Sort(far.Std)
	if far.Std[500] < 2*u.Std[500] {
		t.Errorf("median standard deviation %v on new rows, %v far away", u.Std[500], far.Std[500])
	}
}

func TestIntervalsCover(t *testing.T) {
	t.Parallel()
	const rounds = 8
	for _, coverage := range []float64{0.5, 0.9} {
		inside, n := 0, 0
		for round := range uint64(rounds) {
			x, y := raw(100+round, 300, 0.3)
			o := quick(1)
			o.Config.Training.Epochs = 30
			r := mustFit(t, x, y, o)
			x, y = raw(200+round, 1000, 0.3)
			low, high, err := r.PredictInterval(t.Context(), x, coverage)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range y {
				if low[i] <= v && v <= high[i] {
					inside++
				}
				n++
			}
		}
		// 60 rows held out: the coverage of one fit has a deviation of √(c·(1-c)/62).
		got := float64(inside) / float64(n)
		if limit := 3 * math.Sqrt(coverage*(1-coverage)/62/rounds); math.Abs(got-coverage) > limit {
			t.Errorf("coverage %.3f, want %v ± %.3f", got, coverage, limit)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x, y := raw(1, 40, 0)
	spoilt := x.Clone()
	spoilt.Set(3, 1, Real(math.NaN()))
	badLabels := slices.Clone(y)
	badLabels[2] = math.Inf(1)
	two := quick(1)
	two.Config.Architecture.Outputs = 2
	fit := func(x matrix.Dense[Real], y []float64, o Options) error {
		_, err := Fit(ctx, Sample{X: x, Y: y}, o)
		return err
	}
	validated := func(validX matrix.Dense[Real], validY []float64) error {
		_, err := Fit(ctx, Sample{X: x, Y: y, ValidX: validX, ValidY: validY}, quick(1))
		return err
	}
	unlabelled := func(rows matrix.Dense[Real]) error {
		_, err := Fit(ctx, Sample{X: x, Y: y, Unlabelled: rows}, quick(1))
		return err
	}
	tests := map[string]struct {
		err  error
		word string
	}{
		"labels":       {fit(x, y[:39], quick(1)), "40 rows and 39 labels"},
		"one row":      {fit(x.Slice(0, 1), y[:1], quick(1)), "1 rows"},
		"no rows":      {fit(x.Slice(0, 0), nil, quick(1)), "no rows"},
		"NaN":          {fit(spoilt, y, quick(1)), "NaN"},
		"valid NaN":    {validated(spoilt, y), "row 3, column 1 (from 0) is NaN"},
		"infinite":     {fit(x, badLabels, quick(1)), "Inf"},
		"valid labels": {validated(x, badLabels), "Inf"},
		"valid rows":   {validated(x.Slice(0, 0), y), "0 validation rows and 40 labels"},
		"columns":      {validated(x.Block(0, 40, 0, 2), y), "2 columns"},
		"unlabelled":   {unlabelled(x.Block(0, 40, 0, 2)), "unlabelled rows have 2 columns"},
		"unlabelled x": {unlabelled(spoilt), "unlabelled rows: row 3"},
		"outputs":      {fit(x, y, two), "2 outputs, but the number of targets is 1"},
		"holdout":      {fit(x, y, Options{Holdout: new(1.0)}), "hold out is 1"},
		"members":      {fit(x, y, quick(-1)), "-1 members"},
		"noise":        {fit(x, y, Options{Noise: -1}), "σ²"},
		"table": {fit(x, y, Options{Columns: &encode.Encoder{Numeric: []string{"a", "b"}}}),
			"the columns give 2 inputs, but the networks have 3"},
	}
	for name, test := range tests {
		if test.err == nil || !strings.Contains(test.err.Error(), test.word) {
			t.Errorf("%s: error %v does not say %q", name, test.err, test.word)
		}
	}
	for _, r := range []*Model{nil, {}} {
		if _, err := r.Predict(t.Context(), x); !errors.Is(err, ErrNotFitted) {
			t.Errorf("not fitted: error %v", err)
		}
		if _, err := r.Inputs(x); !errors.Is(err, ErrNotFitted) {
			t.Errorf("not fitted: error %v", err)
		}
	}
	r := fitted(t, 1)
	if _, err := r.Predict(t.Context(), x.Block(0, 40, 0, 2)); err == nil ||
		!strings.Contains(err.Error(), "2 columns, the model was fitted to 3") {
		t.Errorf("columns: error %v", err)
	}
	if _, err := r.PredictStd(t.Context(), spoilt); err == nil || !strings.Contains(err.Error(), "row 3, column 1") {
		t.Errorf("NaN: error %v", err)
	}
	if _, _, err := r.PredictInterval(t.Context(), x, 0.999); err == nil ||
		!strings.Contains(err.Error(), "need 999 held-out rows; there are 80") {
		t.Errorf("coverage: error %v", err)
	}
	if got, err := r.Predict(t.Context(), x.Slice(0, 0)); err != nil || len(got) != 0 {
		t.Errorf("no rows: %v, %v", got, err)
	}
}

func TestFitAfterFailure(t *testing.T) {
	t.Parallel()
	needFloat32(t, "no learning rate makes both precisions overflow")
	x, y := raw(1, 100, 0)
	o := quick(2)
	stop, cancel := context.WithCancel(context.Background())
	o.Progress = func(e Epoch) {
		if e.Member == 1 {
			cancel()
		}
	}
	if m, err := Fit(stop, Sample{X: x, Y: y}, o); !errors.Is(err, context.Canceled) || m != nil {
		t.Errorf("stopped: error %v, model %v", err, m != nil)
	}
	o = quick(2)
	o.Config.Training.Rate = 1e30
	m, err := Fit(context.Background(), Sample{X: x, Y: y}, o)
	if diverged := (*DivergedError)(nil); !errors.As(err, &diverged) {
		t.Fatalf("error %v", err)
	}
	if got, err := m.Predict(t.Context(), x); err != nil || len(got) != 100 || !finite(got[0]) {
		t.Errorf("after divergence: %v, %v", got, err)
	}
	if _, err := m.MarshalBinary(); err != nil {
		t.Errorf("after divergence: %v", err)
	}
}

func TestHoldout(t *testing.T) {
	t.Parallel()
	x, y := raw(1, 50, 0)
	for _, c := range []struct {
		holdout *float64
		valid   int
	}{{nil, 10}, {new(0.5), 25}, {new(0.001), 1}, {new(0.999), 49}, {new(0.0), 0}} {
		o := quick(1)
		o.Config.Training.Epochs, o.Holdout = 1, c.holdout
		if p := mustFit(t, x, y, o).Provenance(); p.ValidRows != c.valid || p.Rows != 50-c.valid {
			t.Errorf("%d rows to hold out: %+v", c.valid, p)
		}
	}
	want, err := encode.FitLabelScaler([]float64{1, 1, 1})
	if err != nil || want.Deviation != 1 {
		t.Errorf("%+v, %v", want, err)
	}
	r := mustFit(t, x, slices.Repeat([]float64{7}, 50), quick(1))
	if got, err := r.Predict(t.Context(), x); err != nil || math.Abs(got[0]-7) > 0.5 {
		t.Errorf("constant labels: %v, %v", got[0], err)
	}
}

// TestNothingHeldOut: zero is a share, too. The last epoch is kept, there are
// standard deviations but no intervals, and the model survives a file.
func TestNothingHeldOut(t *testing.T) {
	t.Parallel()
	x, y := raw(1, 50, 0.1)
	o := quick(1)
	o.Holdout = new(0.0)
	r := mustFit(t, x, y, o)
	if p := r.Provenance(); !slices.Equal(p.Best, []int{60}) || len(p.ValidRMSE) != 0 {
		t.Errorf("%+v", p)
	}
	raw, err := r.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back Model
	if err := back.UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	u, err := back.PredictStd(t.Context(), x)
	if err != nil || !(slices.Min(u.Std) > 0) {
		t.Errorf("%v, %v", u.Std, err)
	}
	few := (*conformal.CoverageError)(nil)
	if _, _, err := back.PredictInterval(t.Context(), x, 0.5); !errors.As(err, &few) {
		t.Errorf("interval: %v", err)
	}
}

// TestWithoutBias: σ_b = 0 is a setting of its own, not the default. Even a network
// whose units are all dead, which then has no features at all, can be fitted.
func TestWithoutBias(t *testing.T) {
	t.Parallel()
	x, y := raw(1, 50, 0.1)
	o := quick(1)
	o.Config.Architecture.SigmaB = new(0.0)
	r := mustFit(t, x, y, o)
	net := r.Ensemble()[0]
	if *net.Architecture().SigmaB != 0 {
		t.Error("the network has a bias")
	}
	zero := matrix.New[Real](1, 3)
	out := matrix.New[Real](1, 1)
	if net.Predict(t.Context(), out, zero); out.At(0, 0) != 0 {
		t.Errorf("without a bias, zero becomes %v", out.At(0, 0))
	}
	for l := range net.Layers() {
		clear(net.Weights(l).Data)
	}
	q, err := fitPosterior(nil, net, x, defaultNoise)
	if err != nil || !positive(q.Lambda) {
		t.Errorf("no features: %+v, %v", q.Lambda, err)
	}
}

// With far too small a σ² the posterior needs jitter, and the model reports it.
func TestJitterIsReported(t *testing.T) {
	t.Parallel()
	x, y := raw(1, 30, 0.1) // fewer rows than features
	for noise, wanted := range map[float64]bool{0: false, 1e-300: true} {
		o := quick(6)
		o.Config.Training.Epochs, o.Noise = 2, noise
		jitter := mustFit(t, x, y, o).Provenance().Jitter
		if len(jitter) != 6 || (slices.Max(jitter) > 0) != wanted {
			t.Errorf("noise %v: jitter %v", noise, jitter)
		}
	}
}

func ExampleFit() {
	// The price of a thing is 20 a kilogram and 5 for each colour.
	var rows [][]Real
	var prices []float64
	for i := range 300 {
		weight, colours := Real(i%30)/10, Real(i%7)
		rows = append(rows, []Real{weight, colours})
		prices = append(prices, 20*float64(weight)+5*float64(colours))
	}
	model, err := Fit(context.Background(), Sample{X: matrix.FromRows(rows), Y: prices}, Options{
		Config: Config{Architecture: Architecture{Hidden: []int{32, 32}}, Training: Training{Batch: 32}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	u, err := model.PredictStd(context.Background(), matrix.FromRows([][]Real{{1.5, 2}, {2.5, 6}}))
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, mean := range u.Mean {
		fmt.Printf("%.0f, certain to 5: %v\n", mean, u.Std[i] < 5)
	}
	// Output:
	// 40, certain to 5: true
	// 80, certain to 5: true
}

func ExampleTrain() {
	// Rows that are scaled already, and the first two of them for validation.
	x := matrix.FromRows([][]Real{{-1}, {1}, {-0.5}, {0}, {0.5}, {0.8}})
	y := matrix.FromRows([][]Real{{1}, {-1}, {0.5}, {0}, {-0.5}, {-0.8}})
	data := Data{X: x.Slice(2, 6), Y: y.Slice(2, 6), ValidX: x.Slice(0, 2), ValidY: y.Slice(0, 2)}
	config := ReLUPreset()
	config.Architecture.Hidden = []int{64, 64}
	net, history, err := Train(context.Background(), config, data, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	z := matrix.New[Real](1, 1)
	net.Predict(context.Background(), z, matrix.FromRows([][]Real{{0.3}}))
	fmt.Printf("%.1f after %d epochs\n", z.At(0, 0), len(history.Epochs))
	// Output: -0.3 after 256 epochs
}

// TestModelScalesByUnlabelledRows: a column that varies only among the candidates
// still reaches the networks, also from a saved file.
func TestModelScalesByUnlabelledRows(t *testing.T) {
	t.Parallel()
	x, y := raw(4, 40, 0.1)
	pool, _ := raw(5, 60, 0.1)
	for i := range x.Rows {
		x.Set(i, 1, 1000)
	}
	constant := func(r *Model) bool {
		in, err := r.Inputs(pool)
		if err != nil {
			t.Fatal(err)
		}
		return in.At(0, 1) == in.At(1, 1)
	}
	o := quick(1)
	o.Config.Training.Epochs = 2
	if !constant(mustFit(t, x, y, o)) {
		t.Error("a column that is constant among the labelled rows is not lost")
	}
	r, err := Fit(t.Context(), Sample{X: x, Y: y, Unlabelled: pool}, o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "net.safetensors")
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	back, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	if constant(r) || constant(back) {
		t.Error("a column that varies among the unlabelled rows is lost")
	}
}

// counting is a trainer that records its calls.
type counting struct {
	CPU
	calls, members int
}

func (c *counting) Train(ctx context.Context, config Config, members int, d Data,
	progress func(Epoch)) (Ensemble, []History, error) {
	c.calls, c.members = c.calls+1, members
	return c.CPU.Train(ctx, config, members, d, progress)
}

// TestFitTrainsByItsTrainer: every network comes from the trainer of the options.
func TestFitTrainsByItsTrainer(t *testing.T) {
	t.Parallel()
	x, y := raw(1, 400, 0.1)
	o, c := quick(2), &counting{}
	o.Trainer = c
	r, want := mustFit(t, x, y, o), fitted(t, 2)
	if c.calls != 1 || c.members != 2 {
		t.Errorf("%d calls for %d members", c.calls, c.members)
	}
	mustBeSame(t, "by another trainer", r.Ensemble()[1], want.Ensemble()[1])
}

// TestLabelsFarFromTheOthers trains with a validation label that is infinite in units of the
// others as a float32, and refuses one whose square is infinite.
func TestLabelsFarFromTheOthers(t *testing.T) {
	t.Parallel()
	x, y := raw(1, 60, 0.1)
	o := quick(1)
	o.Config.Training.Epochs = 2
	for _, far := range []float64{1e40, -1e140} {
		m, err := Fit(t.Context(), Sample{X: x, Y: y, ValidX: x.SelectRows(upTo(3)), ValidY: []float64{y[0], far, y[2]}}, o)
		if err != nil {
			t.Errorf("a validation label of %v: %v", far, err)
			continue
		}
		values, err := m.Predict(t.Context(), x)
		if err != nil || slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v) > 1000 }) {
			t.Errorf("a validation label of %v: predictions are %v, %v", far, values, err)
		}
	}
	for _, s := range []Sample{
		{X: x, Y: append(slices.Clone(y[:59]), 1e300)},
		{X: x, Y: y, ValidX: x.SelectRows(upTo(1)), ValidY: []float64{1e300}},
	} {
		_, err := Fit(t.Context(), s, o)
		if out := (*encode.RangeError)(nil); !errors.As(err, &out) || out.Value != 1e300 {
			t.Errorf("a label of 1e300: %v", err)
		}
	}
}
