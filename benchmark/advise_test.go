package benchmark

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// question asks about n rows with a smooth label, with networks so small that the
// answer is immediate.
func question(n int) Question {
	stream := rng.New(1, "advise test")
	data := &dataset.Regression{X: matrix.New[float32](n, 2), Y: make([]float64, n)}
	for i := range n {
		a, b := stream.Float64(), stream.Float64()
		data.X.Set(i, 0, float32(a))
		data.X.Set(i, 1, float32(b))
		data.Y[i] = math.Sin(4*a) + b
	}
	return Question{Data: data, Specs: []string{"lcmd-tp:linear"}, Hidden: []int{8}, Epochs: 3, Rounds: 2, Repeats: 3}
}

func TestAdvise(t *testing.T) {
	steps := 0
	q := question(300)
	q.Progress = func(done, of int, _ Record) {
		steps++
		if done != steps || done > of {
			t.Errorf("step %d of %d after %d", done, of, steps)
		}
	}
	a, err := q.Advise(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if a.Because == "" || a.Spec == "" || len(a.Savings.Methods) != 1 || a.Savings.Splits != 3 || !(a.Variation.Ratio > 1) {
		t.Errorf("%+v", a)
	}
	if want := (ReplaySizes{Rows: 300, Test: 60, Valid: 37, Start: 16, Batch: 25, Rounds: 2, Repeats: 3}); a.Sizes != want {
		t.Errorf("sizes %+v", a.Sizes)
	}
	again, err := q.withoutProgress().Advise(linalg.WithThreads(t.Context(), 1))
	if err != nil || again.Savings.Methods[0].Gain != a.Savings.Methods[0].Gain || again.Variation != a.Variation || again.Batch != a.Batch {
		t.Errorf("a second time, with one thread: %+v and %+v, %v", a, again, err)
	}
}

func (q Question) withoutProgress() Question {
	q.Progress = nil
	return q
}

func TestAdviseFewRows(t *testing.T) {
	a, err := question(100).Advise(context.Background())
	if err != nil || a.Verdict != TooFew || a.Savings != nil || !strings.Contains(a.Because, "100 rows have a label") {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestAdviseRefuses(t *testing.T) {
	equal := question(200)
	clear(equal.Data.Y)
	unknown, random, once := question(200), question(200), question(200)
	unknown.Specs = []string{"nothing"}
	random.Specs = []string{"random"}
	once.Repeats = 1
	for name, q := range map[string]Question{"equal labels": equal, "unknown method": unknown, "random": random, "one repeat": once} {
		if _, err := q.Advise(context.Background()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := question(200).Advise(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
}

func TestDecide(t *testing.T) {
	falls, flat := Interval{0.4, 0.2, 0.6}, Interval{0.1, -0.1, 0.3}
	ahead, even := Interval{0.2, 0.1, 0.3}, Interval{0.01, -0.1, 0.1}
	for _, c := range []struct {
		slope, gain, share Interval
		want               Verdict
	}{
		{falls, ahead, Interval{0.4, 0.2, 0.5}, Worth},
		{falls, ahead, Interval{0.4, -0.1, 0.6}, Worth},
		{falls, even, Interval{0.02, -0.05, 0.08}, AsGood},
		{falls, Interval{-0.2, -0.3, -0.1}, Interval{-0.3, -0.5, -0.1}, AsGood},
		{falls, even, Interval{0.2, -0.2, 0.5}, TooFew},
		{flat, ahead, Interval{0.4, 0.2, 0.5}, TooFew},
		{falls, even, Interval{math.NaN(), math.NaN(), math.NaN()}, TooFew},
	} {
		a := &Advice{Savings: &Savings{Slope: c.slope}}
		a.decide(Saving{Spec: "lcmd", Gain: c.gain, Share: c.share})
		if a.Verdict != c.want || a.Because == "" {
			t.Errorf("%+v: %v, %s", c, a.Verdict, a.Because)
		}
	}
}

// TestChooseBatch: one large batch is preferred if it loses little.
func TestChooseBatch(t *testing.T) {
	several := powerResults(2, map[string]float64{"lcmd-tp:linear": 2, "maxdist-p:linear": 1}, 0)
	for factor, want := range map[float64]int{1.9: 600, 1.2: 200} {
		var once Results
		for _, r := range powerResults(2, map[string]float64{"lcmd-tp:linear": factor}, 0) {
			if r.Spec == "lcmd-tp:linear" && r.Round == 3 {
				r.Round = 1
				once = append(once, r)
			}
		}
		a := &Advice{Spec: "lcmd-tp:linear", Results: several, Sizes: ReplaySizes{Start: 100, Batch: 200, Rounds: 3, Repeats: 2}}
		a.chooseBatch(100, once)
		if a.Batch != want {
			t.Errorf("factor %v: batch %d, %s", factor, a.Batch, a.BatchBy)
		}
	}
}
