package network

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/matrix"
)

// wave returns rows of a smooth function of standard normal inputs, for training
// and validation.
func wave(seed uint64, rows, validRows, inputs, outputs int) Data {
	x, y := waveRows(seed, rows+validRows, inputs, outputs)
	return Data{
		X: x.Slice(0, rows), Y: y.Slice(0, rows),
		ValidX: x.Slice(rows, x.Rows), ValidY: y.Slice(rows, x.Rows),
	}
}

func waveRows(seed uint64, rows, inputs, outputs int) (x, y matrix.Dense[Real]) {
	x, y = matrix.New[Real](rows, inputs), matrix.New[Real](rows, outputs)
	rng.FillNormal(rng.New(seed, "wave"), x.Data)
	for i := range rows {
		sum := 0.0
		for j, v := range x.Row(i) {
			sum += float64(v) / float64(j+1)
		}
		for k := range outputs {
			y.Set(i, k, Real(math.Sin(sum+float64(k))))
		}
	}
	return x, y
}

// small is a configuration that trains in milliseconds.
func small(a Activation) Config {
	return Config{
		Architecture: Architecture{Hidden: []int{24, 17}, Activation: a},
		Training:     Training{Epochs: 12, Batch: 32, Rate: 0.05},
		Seed:         7,
	}
}

// mustBeSame fails unless two networks agree in every bit.
func mustBeSame(t *testing.T, what string, a, b *MLP) {
	t.Helper()
	if !slices.Equal(a.parameters, b.parameters) {
		t.Errorf("%s: the parameters differ", what)
	}
}

func train(t *testing.T, c Config, d Data) (*MLP, History) {
	t.Helper()
	net, history, err := Train(context.Background(), c, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return net, history
}

// TestFloat32FollowsFloat64 trains the paper's networks, with wide layers, whose products run on other
// code than those of the golden networks. The losses and errors were recorded in float64.
func TestFloat32FollowsFloat64(t *testing.T) {
	for _, test := range []struct {
		config Config
		inputs int
		want   [2]Epoch
	}{
		{ReLUPreset(), 10, [2]Epoch{{Loss: 0.4483638166833, ValidRMSE: 0.6109854640291},
			{Loss: 0.3611995835568, ValidRMSE: 0.5218822581003}}},
		{ReLUPreset(), 100, [2]Epoch{{Loss: 0.4913396493675, ValidRMSE: 0.7141609608376},
			{Loss: 0.4542099587193, ValidRMSE: 0.669176981016}}},
		{SiLUPreset(), 10, [2]Epoch{{Loss: 0.4568186100566, ValidRMSE: 0.7119650619177},
			{Loss: 0.6351773525942, ValidRMSE: 0.439477482633}}},
		{SiLUPreset(), 100, [2]Epoch{{Loss: 0.4951198265983, ValidRMSE: 0.9656215644288},
			{Loss: 0.7391545150558, ValidRMSE: 0.6099723993191}}},
	} {
		test.config.Training.Epochs = 2
		_, history := train(t, test.config, wave(2, 256, 100, test.inputs, 1))
		for i, want := range test.want {
			got := history.Epochs[i]
			what := fmt.Sprintf("%v, %d inputs, epoch %d", test.config.Architecture.Activation, test.inputs, got.Number)
			near(t, what+": loss", got.Loss, want.Loss, tolerance(1e-10, 1e-4))
			near(t, what+": RMSE", got.ValidRMSE, want.ValidRMSE, tolerance(1e-10, 1e-4))
		}
	}
}

func TestTrainingIsTheSameForAnyNumberOfThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	configs := map[string]Config{
		"relu":    {Architecture: Architecture{Hidden: []int{130, 150}}},
		"silu":    {Architecture: Architecture{Hidden: []int{150, 130}, Activation: SiLU}},
		"outputs": {Architecture: Architecture{Hidden: []int{110}, Outputs: 3, Activation: Tanh}},
	}
	for name, c := range configs {
		c.Training = Training{Epochs: 2, Batch: 128}
		for _, inputs := range []int{10, 90} {
			outputs := c.WithDefaults().Architecture.Outputs
			d := wave(5, 300, 150, inputs, outputs)
			runtime.GOMAXPROCS(1)
			want, wantHistory := train(t, c, d)
			for _, threads := range []int{1, 2, 3, 7} {
				runtime.GOMAXPROCS(threads)
				what := fmt.Sprintf("%s, %d inputs, %d threads", name, inputs, threads)
				got, history := train(t, c, d)
				mustBeSame(t, what, got, want)
				if !slices.Equal(history.Epochs, wantHistory.Epochs) {
					t.Errorf("%s: another history", what)
				}
			}
		}
	}
}

func TestSeedAndMemberMakeTheNetwork(t *testing.T) {
	d := wave(1, 64, 32, 3, 1)
	c := small(ReLU)
	a, _ := train(t, c, d)
	c.Seed++
	b, _ := train(t, c, d)
	if slices.Equal(a.parameters, b.parameters) {
		t.Error("two seeds give one network")
	}
	ensemble, histories, err := CPU{}.Train(context.Background(), c, 3, d, nil)
	if err != nil || len(ensemble) != 3 || len(histories) != 3 {
		t.Fatalf("%d members, %d histories, %v", len(ensemble), len(histories), err)
	}
	mustBeSame(t, "member 0 and Train", ensemble[0], b)
	if slices.Equal(ensemble[1].parameters, ensemble[2].parameters) {
		t.Error("two members are one network")
	}
}

func TestInitialisation(t *testing.T) {
	net, err := NewMLP(40, Architecture{Hidden: []int{300, 200}}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for l := range net.Layers() {
		sum, squares, n := 0.0, 0.0, 0.0
		for _, w := range net.Weights(l).Data {
			sum, squares, n = sum+float64(w), squares+float64(w)*float64(w), n+1
		}
		if math.Abs(sum/n) > 4/math.Sqrt(n) || math.Abs(squares/n-1) > 6/math.Sqrt(n) {
			t.Errorf("layer %d: mean %v, mean square %v of %v weights", l, sum/n, squares/n, n)
		}
		for _, b := range net.Bias(l) {
			if b != 0 {
				t.Errorf("layer %d has bias %v", l, b)
			}
		}
	}
}

func TestTrainingLearns(t *testing.T) {
	everyActivation(t, func(t *testing.T, a Activation) {
		c := Config{Architecture: Architecture{Hidden: []int{32, 32}, Activation: a},
			Training: Training{Epochs: 40, Batch: 64}}
		_, history := train(t, c, wave(11, 512, 256, 3, 1))
		best := history.Epochs[history.Best-1].ValidRMSE
		if limit := 0.45; best > limit { // the labels' deviation is 0.7
			t.Errorf("validation RMSE %.3f, limit %v", best, limit)
		}
	})
}

func TestTheBestEpochIsKept(t *testing.T) {
	d := wave(3, 64, 40, 4, 1)
	c := small(ReLU)
	c.Training.Rate = 1 // noisy: the last epoch is not the best
	var seen []Epoch
	net, history, err := Train(context.Background(), c, d, func(e Epoch) { seen = append(seen, e) })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, history.Epochs) || len(seen) != 12 {
		t.Errorf("progress told of %d epochs, the history of %d", len(seen), len(history.Epochs))
	}
	best := 0
	for i, e := range seen {
		if e.Number != i+1 || e.Of != 12 || e.Member != 0 {
			t.Errorf("epoch %d is told as %+v", i+1, e)
		}
		if e.ValidRMSE < seen[best].ValidRMSE {
			best = i
		}
	}
	if history.Best != best+1 || history.Best == 12 {
		t.Errorf("epoch %d was kept, the best of 12 is %d", history.Best, best+1)
	}
	z := matrix.New[Real](d.ValidX.Rows, 1)
	net.Predict(t.Context(), z, d.ValidX)
	if rmse := stats.Measure(matrix.Converted[float64](matrix.View(1, z.Rows, z.Data)),
		matrix.Converted[float64](d.ValidY).Data).RMSE; math.Abs(rmse/seen[best].ValidRMSE-1) > tolerance(1e-12, 1e-6) {
		t.Errorf("the network's RMSE is %v, that of the kept epoch %v", rmse, seen[best].ValidRMSE)
	}
}

// Of equal epochs the first is kept: two are equal if nothing changes.
func TestTheFirstOfEqualEpochsIsKept(t *testing.T) {
	d := wave(3, 64, 40, 4, 1)
	c := small(ReLU)
	c.Training.Rate = 1e-300
	if _, history := train(t, c, d); history.Best != 1 {
		t.Errorf("epoch %d was kept", history.Best)
	}
}

func TestWithoutValidationTheLastEpochIsKept(t *testing.T) {
	d := wave(3, 64, 40, 4, 1)
	c := small(SiLU)
	d.ValidX, d.ValidY = matrix.Dense[Real]{}, matrix.Dense[Real]{}
	net, history := train(t, c, d)
	if history.Best != 12 || !math.IsNaN(history.Epochs[3].ValidRMSE) {
		t.Errorf("epoch %d was kept, validation RMSE %v", history.Best, history.Epochs[3].ValidRMSE)
	}
	tr := newTraining(mustInit(t, 4, c), c.WithDefaults().Training, d, rng.New(c.Seed, "network batches", 0))
	for range 12 {
		tr.order.Permute(tr.rows)
		tr.take(tr.rows[:32])
		tr.take(tr.rows[32:])
	}
	mustBeSame(t, "steps by hand", tr.net, net)
}

func mustInit(t testing.TB, inputs int, c Config) *MLP {
	t.Helper()
	net, err := NewMLP(inputs, c.Architecture, c.Seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func TestFewerRowsThanABatch(t *testing.T) {
	for _, rows := range []int{1, 2, 31} {
		net, history := train(t, small(ReLU), wave(3, rows, 1, 4, 1))
		if len(history.Epochs) != 12 || !net.finite() {
			t.Errorf("%d rows: %d epochs", rows, len(history.Epochs))
		}
	}
}

func TestCancellation(t *testing.T) {
	d := wave(3, 64, 40, 4, 1)
	c := small(ReLU)
	full, _ := train(t, c, d)
	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("enough")
	net, history, err := Train(ctx, c, d, func(e Epoch) {
		if e.Number == 5 {
			cancel(reason)
		}
	})
	if !errors.Is(err, reason) || !strings.Contains(err.Error(), "epoch 6 of 12") {
		t.Errorf("error %v", err)
	}
	if net == nil || len(history.Epochs) != 5 || !net.finite() {
		t.Fatalf("network %v, %d epochs", net != nil, len(history.Epochs))
	}
	if slices.Equal(net.parameters, full.parameters) {
		t.Error("the stopped network is that of the whole training")
	}
	before, cancelled := context.WithCancel(context.Background())
	cancelled()
	net, _, err = Train(before, c, d, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	mustBeSame(t, "stopped at once", net, mustInit(t, 4, c))
	members, _, err := CPU{}.Train(before, c, 3, d, nil)
	if !errors.Is(err, context.Canceled) || len(members) != 1 {
		t.Errorf("%d members, error %v", len(members), err)
	}
}

func TestDivergence(t *testing.T) {
	needFloat32(t, "no learning rate makes both precisions overflow")
	for _, validRows := range []int{0, 40} {
		d := wave(3, 64, validRows, 4, 1)
		c := small(ReLU)
		c.Training.Rate = 1e30
		net, history, err := Train(context.Background(), c, d, nil)
		var diverged *DivergedError
		if !errors.As(err, &diverged) {
			t.Fatalf("error %v", err)
		}
		if diverged.Number != len(history.Epochs)+1 || diverged.Kept != history.Best || diverged.Of != 12 {
			t.Errorf("%v after %d epochs, best %d", err, len(history.Epochs), history.Best)
		}
		if want := fmt.Sprintf("epoch %d of 12", diverged.Number); !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
		if net == nil || !net.finite() {
			t.Error("no finite parameters were kept")
		}
		members, histories, err := CPU{}.Train(context.Background(), c, 2, d, nil)
		if !errors.As(err, &diverged) || len(members) != 2 || len(histories) != 2 ||
			!strings.Contains(err.Error(), "network 1 (from 0) diverged") {
			t.Errorf("%d members, error %v", len(members), err)
		}
	}
}

// Divergence after some good epochs keeps the best of them.
func TestDivergenceKeepsTheBestEpoch(t *testing.T) {
	d := wave(3, 64, 40, 4, 1)
	c := small(ReLU)
	tr := newTraining(mustInit(t, 4, c), c.WithDefaults().Training, d, rng.New(1, "order"))
	var best []Real
	tr.progress = func(e Epoch) {
		best = slices.Clone(tr.best)
		if e.Number == 4 {
			tr.net.parameters[3] = Real(math.Inf(1))
		}
	}
	history, err := tr.run(context.Background())
	var diverged *DivergedError
	if !errors.As(err, &diverged) || diverged.Number != 5 || diverged.Kept != history.Best || len(history.Epochs) != 4 {
		t.Fatalf("error %v after %d epochs", err, len(history.Epochs))
	}
	if !slices.Equal(tr.net.parameters, best) || !tr.net.finite() {
		t.Error("other parameters than the best were kept")
	}
}

func TestTrainRefuses(t *testing.T) {
	good := func() (Config, Data) { return small(ReLU), wave(3, 10, 5, 4, 1) }
	tests := map[string]struct {
		spoil func(*Config, *Data)
		words []string
	}{
		"no rows": {func(_ *Config, d *Data) { d.X, d.Y = d.X.Slice(0, 0), d.Y.Slice(0, 0) }, []string{"no rows"}},
		"labels":  {func(_ *Config, d *Data) { d.Y = d.Y.Slice(0, 9) }, []string{"10 training inputs and 9 labels"}},
		"valid labels": {func(_ *Config, d *Data) { d.ValidY = d.ValidY.Slice(0, 1) },
			[]string{"5 validation inputs and 1 labels"}},
		"columns": {func(_ *Config, d *Data) { d.ValidX = d.ValidX.Block(0, 5, 0, 3) },
			[]string{"3 columns, training inputs 4"}},
		"outputs": {func(c *Config, _ *Data) { c.Architecture.Outputs = 2 },
			[]string{"1 columns, the network has 2 outputs"}},
		"NaN": {func(_ *Config, d *Data) { d.X.Set(7, 2, Real(math.NaN())) },
			[]string{"training inputs: row 7, column 2 (from 0) is NaN"}},
		"infinite": {func(_ *Config, d *Data) { d.ValidY.Set(3, 0, Real(math.Inf(-1))) },
			[]string{"validation labels: row 3", "-Inf"}},
		"config": {func(c *Config, _ *Data) {
			c.Training = Training{Epochs: -1, Batch: -1, Rate: -1, Decay: -1, Beta1: new(1.0), Beta2: new(-1.0),
				Eps: math.Inf(1), Schedule: Schedule{1}}
			c.Architecture = Architecture{Hidden: []int{5, 0}, Outputs: -1, Activation: 77,
				SigmaW: math.NaN(), SigmaB: new(-1.0)}
		}, []string{"epochs", "mini-batch", "learning rate", "decay", "Beta1", "Beta2", "Eps", "peak", "hidden layer 2",
			"outputs", "activation 77", "σ_w", "σ_b"}},
	}
	for name, test := range tests {
		c, d := good()
		test.spoil(&c, &d)
		net, _, err := Train(context.Background(), c, d, nil)
		if net != nil || err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, word := range test.words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: error %q does not say %q", name, err, word)
			}
		}
	}
	c, d := good()
	if _, _, err := (CPU{}).Train(context.Background(), c, 0, d, nil); err == nil {
		t.Error("an ensemble without members")
	}
	if _, err := NewMLP(0, c.Architecture, 0, 0); err == nil {
		t.Error("a network without inputs")
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	for _, c := range []Config{small(ReLU), small(SiLU), small(GELU),
		{Architecture: Architecture{Hidden: []int{130, 140}, Outputs: 3}, Training: Training{Batch: 64, Epochs: 1000}}} {
		c = c.WithDefaults()
		d := wave(3, 128, 64, 80, c.Architecture.Outputs)
		tr := newTraining(mustInit(t, 80, c), c.Training, d, rng.New(1, "order"))
		requireNoAllocs(t, fmt.Sprint("a step of ", c.Architecture), func() {
			tr.order.Permute(tr.rows)
			tr.take(tr.rows[:tr.batch])
			tr.validate()
		})
	}
}

// requireNoAllocs requires that work allocates nothing once the free lists are filled. It
// tries several times: the runtime may allocate in the meantime, too.
func requireNoAllocs(t *testing.T, what string, work func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the free lists
	n := 0.0
	for range 5 {
		if n = testing.AllocsPerRun(20, work); n == 0 {
			return
		}
	}
	t.Errorf("%s: %v allocations", what, n)
}

func TestDecay(t *testing.T) {
	// With a gradient of zero Adam leaves the parameters alone: only the decay
	// changes them, by the learning rate of each step.
	x := matrix.New[Real](8, 2)
	d := Data{X: x, Y: matrix.New[Real](8, 1)}
	c := Config{Architecture: Architecture{Hidden: []int{}}, Training: Training{Epochs: 4, Rate: 0.1, Decay: 0.5}}
	net, _ := train(t, c, d)
	want := float64(mustInit(t, 2, c).Weights(0).At(1, 0))
	for step := range 4 {
		want *= 1 - 0.1*(1-float64(step)/4)*0.5
	}
	if got := float64(net.Weights(0).At(1, 0)); math.Abs(got/want-1) > tolerance(1e-14, 1e-6) {
		t.Errorf("weight %v, want %v", got, want)
	}
}

func TestSchedules(t *testing.T) {
	tests := []struct {
		s    Schedule
		step int
		want float64
	}{
		{Linear, 0, 1}, {Linear, 25, 0.75}, {Linear, 99, 0.01},
		{Hat, 0, 0}, {Hat, 25, 0.5}, {Hat, 50, 1}, {Hat, 75, 0.5},
		{WarmUp, 0, 0}, {WarmUp, 5, 0.5}, {WarmUp, 10, 1}, {WarmUp, 55, 0.5},
	}
	for _, test := range tests {
		if got := test.s.factor(test.step, 100); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%+v, step %d: %v, want %v", test.s, test.step, got, test.want)
		}
	}
}
