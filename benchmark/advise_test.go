package benchmark

import (
	"context"
	"errors"
	"fmt"
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
	t.Parallel()
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
	if a.Because == "" || a.Method == "" || len(a.Comparison.Methods) != 1 || a.Comparison.Splits != 3 || !(a.Variation.Ratio > 1) || a.Variation.Labels != 140 {
		t.Errorf("%+v", a)
	}
	if want := (ReplaySizes{Rows: 300, Test: 60, Valid: 30, Start: 48, Batch: 46, Rounds: 2, Repeats: 3}); a.Sizes != want {
		t.Errorf("sizes %+v", a.Sizes)
	}
	again, err := q.withoutProgress().Advise(linalg.WithThreads(t.Context(), 1))
	if err != nil || again.Comparison.Methods[0].Reduction != a.Comparison.Methods[0].Reduction || again.Variation != a.Variation || again.Batch != a.Batch {
		t.Errorf("a second time, with one thread: %+v and %+v, %v", a, again, err)
	}
}

func (q Question) withoutProgress() Question {
	q.Progress = nil
	return q
}

func TestAdviseFewRows(t *testing.T) {
	t.Parallel()
	for n, batch := range map[int]int{5: 2, 64: 16, 99: 25} {
		a, err := question(n).Advise(context.Background())
		if err != nil || a.Verdict != Unclear || a.Comparison != nil || a.More != 100-n || a.Batch != batch {
			t.Errorf("%d rows: %+v, %v", n, a, err)
		}
		if want := fmt.Sprintf("%d rows have a label", n); !strings.Contains(a.Because, want) {
			t.Errorf("%q is not in %q", want, a.Because)
		}
	}
}

// TestReplaySizes: a replay uses most of the labels, leaves a choice, and its batches are
// in proportion to them.
func TestReplaySizes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]ReplaySizes{
		100:    {100, 20, 10, 13, 11, 3, 10},
		1500:   {1500, 300, 150, 175, 175, 3, 10},
		20_000: {20_000, 4000, 512, 256, 256, 3, 10},
	} {
		s := replaySizes(n, 3, 10)
		if s != want {
			t.Errorf("%d rows: %+v, want %+v", n, s, want)
		}
		if last := s.Start + s.Rounds*s.Batch; last > s.Rows-s.Test-s.Valid-s.Batch {
			t.Errorf("%d rows: after %d labels too few are left to choose from: %+v", n, last, s)
		}
	}
}

func TestAdviseRefuses(t *testing.T) {
	t.Parallel()
	equal := question(200)
	clear(equal.Data.Y)
	unknown, random, once, twice, long := question(200), question(200), question(200), question(200), question(200)
	unknown.Specs = []string{"nothing"}
	random.Specs = []string{"random"}
	once.Repeats = 2
	twice.Specs = append(twice.Specs, twice.Specs...)
	long.Rounds = 200
	for name, q := range map[string]Question{"equal labels": equal, "unknown method": unknown, "random": random, "two repeats": once, "a method named twice": twice, "more rounds than rows": long} {
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

// TestAdviseKnowsGain asks about one table with a gain and one without.
func TestAdviseKnowsGain(t *testing.T) {
	if testing.Short() {
		t.Skip("trains many networks")
	}
	t.Parallel()
	if a := advised(t, gainTable(400, 1), 6); a.Verdict != Beats || a.Method != a.Spec || a.Batch != a.Sizes.Batch {
		t.Errorf("%s: %s; %+v", a.Answer(), a.Because, a)
	}
	if a := advised(t, linearTable(300, 1), 6); a.Verdict == Beats {
		t.Errorf("%s: %s", a.Answer(), a.Because)
	}
}
