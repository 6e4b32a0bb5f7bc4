package learner

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// made returns a task of a smooth function with noise.
func made(rows int) Task {
	r := rng.New(7, "learner: made rows")
	t := Task{X: matrix.New[float32](rows, 3), Unlabelled: matrix.New[float32](20, 3), Seed: 5}
	for _, m := range []matrix.Dense[float32]{t.X, t.Unlabelled} {
		for i := range m.Data {
			m.Data[i] = float32(r.NormFloat64())
		}
	}
	for i := range rows {
		row := t.X.Row(i)
		t.Labels = append(t.Labels, math.Sin(float64(row[0]))+float64(row[1])+0.1*r.NormFloat64())
	}
	return t
}

// all are small versions of all learners.
func all() []Learner {
	small := smoothNetwork()
	small.Options.Config.Architecture.Hidden, small.Options.Config.Training.Epochs = []int{16}, 8
	return []Learner{Process{}, ExtraTrees{}, Boosting{}, small}
}

func fit(t *testing.T, ctx context.Context, task Task, learners ...Learner) *Blend {
	t.Helper()
	b, err := Fit(ctx, task, learners...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func predict(t *testing.T, ctx context.Context, m Model, rows matrix.Dense[float32]) []Prediction {
	t.Helper()
	p, err := m.Predict(ctx, rows)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestThreadsChangeNothing: weights and predictions have the same bits on one thread and on several.
func TestThreadsChangeNothing(t *testing.T) {
	task := made(40)
	one, several := linalg.WithThreads(t.Context(), 1), linalg.WithThreads(t.Context(), 3)
	a, b := fit(t, one, task, all()...), fit(t, several, task, all()...)
	if !reflect.DeepEqual(a.Candidates, b.Candidates) {
		t.Errorf("one thread: %+v\nseveral: %+v", a.Candidates, b.Candidates)
	}
	if !slices.Equal(predict(t, one, a, task.Unlabelled), predict(t, several, b, task.Unlabelled)) {
		t.Error("the predictions differ")
	}
}

// biased is a learner whose predictions of the first input are all off by the same amount.
type biased struct {
	name string
	off  float64 // the error of its predictions
	left string
}

func (b biased) Name() string            { return b.name }
func (b biased) Refuses(int, int) string { return b.left }
func (b biased) Predict(_ context.Context, rows matrix.Dense[float32]) ([]Prediction, error) {
	list := make([]Prediction, rows.Rows)
	for i := range list {
		list[i] = Prediction{float64(rows.At(i, 0)) + b.off, 0.5}
	}
	return list, nil
}
func (b biased) CrossFit(ctx context.Context, t *Task) (*CrossFitted, error) {
	held, err := b.Predict(ctx, t.X)
	return &CrossFitted{Model: b, Held: held}, err
}

// TestOwnLearners: two learners whose errors are opposite have equal weights, and their blend has no error;
// a learner that leaves the task is told of, and the others are blended.
func TestOwnLearners(t *testing.T) {
	task := made(30)
	for i := range task.Labels {
		task.Labels[i] = float64(task.X.At(i, 0))
	}
	b := fit(t, t.Context(), task, biased{name: "low", off: -1}, biased{name: "away", left: "too many labels"}, biased{name: "high", off: 1})
	if c := b.Candidates[1]; c.Left != "too many labels" || c.Weight != 0 {
		t.Errorf("the one that left: %+v", c)
	}
	low, high := b.Candidates[0], b.Candidates[2]
	if low.Error != 1 || high.Error != 1 || math.Abs(low.Weight-0.5) > 0.03 || math.Abs(low.Weight+high.Weight-1) > 1e-12 {
		t.Errorf("the others: %+v, %+v", low, high)
	}
	if b.Error > 0.06 {
		t.Errorf("the error of the blend is %v", b.Error)
	}
	for _, p := range predict(t, t.Context(), b, task.Unlabelled) {
		if want := math.Sqrt(0.25 + 1); math.Abs(p.Deviation-want) > 0.01 {
			t.Fatalf("the deviation is %v, not %v: that within the models, and that between them", p.Deviation, want)
		}
	}
}

// TestHeldRowsAreNotLearnt: changing a label leaves the held-out prediction of its own row as it is, apart from
// the number of trees of boosting, which all rows choose.
func TestHeldRowsAreNotLearnt(t *testing.T) {
	task := made(30)
	for _, l := range all() {
		if l.Name() == "boosting" {
			continue
		}
		before := fit(t, t.Context(), task, l).Held
		changed := task
		changed.Labels = slices.Clone(task.Labels)
		changed.Labels[4] += 3
		after := fit(t, t.Context(), changed, l).Held
		if before[4] != after[4] {
			t.Errorf("%s: the prediction of the row is %v, and %v with another label", l.Name(), before[4], after[4])
		}
		if slices.Equal(before, after) {
			t.Errorf("%s: a label changes nothing", l.Name())
		}
	}
}

// TestDivergenceIsTold: networks that diverge are named, and take no part where they predict no numbers.
func TestDivergenceIsTold(t *testing.T) {
	wild := smoothNetwork()
	wild.Options.Config.Architecture.Hidden, wild.Options.Config.Training.Epochs = []int{16}, 8
	wild.Options.Config.Training.Rate = 1e30
	b := fit(t, t.Context(), made(30), wild, Process{})
	if c := b.Candidates[0]; len(c.Notes) == 0 || !strings.Contains(c.Notes[0], "fold 1 of 5") {
		t.Errorf("the notes are %q", c.Notes)
	}
	if c := b.Candidates; c[0].Left == "" || c[0].Weight != 0 || c[1].Weight != 1 {
		t.Errorf("the candidates are %+v", c)
	}
}

// TestCategories: a category is one column for trees, whatever the number of its levels, and a value that is
// missing is missing.
func TestCategories(t *testing.T) {
	columns := []Column{{First: 0, Width: 1, Mark: 5}, {First: 1, Width: 3, Category: true}, {First: 4, Width: 1, Category: true}}
	rows := matrix.FromRows([][]float32{{7, 0, 1, 0, 1, 0}, {7, 0, 0, 0, 0.5, 1}})
	got := folded(rows, columns)
	if want := []float32{7, 1, 1}; !slices.Equal(got.Row(0), want) {
		t.Errorf("the first row is %v, not %v", got.Row(0), want)
	}
	if r := got.Row(1); r[0] == r[0] || r[1] == r[1] || r[2] == r[2] {
		t.Errorf("the second row is %v; its values are missing", r)
	}
	task := made(30)
	task.Columns = []Column{{First: 0, Width: 2, Category: true}, {First: 2, Width: 1}}
	for i := range task.X.Rows {
		row := task.X.Row(i)
		row[0], row[1] = float32(i%2), float32(1-i%2)
	}
	fit(t, t.Context(), task, all()...)
}

// TestErrors: what cannot be learnt from is an error that says why.
func TestErrors(t *testing.T) {
	few, nan, short, wide := made(30), made(30), made(30), made(30)
	few.X, few.Labels = few.X.Slice(0, 3), few.Labels[:3]
	nan.Labels[7] = math.NaN()
	short.Labels = short.Labels[:29]
	wide.Columns = []Column{{First: 2, Width: 2}}
	for want, task := range map[string]Task{
		"3 rows have a label; cross-fitting needs 4": few, "the label of row 7 is NaN": nan,
		"30 rows and 29 labels": short, "2 features from 2 on, but rows have 3": wide,
	} {
		if _, err := Fit(t.Context(), task, Process{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, not %q", err, want)
		}
	}
	if _, err := Fit(t.Context(), made(30)); err == nil {
		t.Error("no learner is no error")
	}
	if _, err := Fit(t.Context(), made(30), biased{name: "one", left: "it is tired"}); err == nil || !strings.Contains(err.Error(), "one: it is tired") {
		t.Errorf("nobody takes the task, and the error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, l := range all() {
		var stopped *network.StoppedError
		if _, err := Fit(ctx, made(30), l); !errors.Is(err, context.Canceled) && !errors.As(err, &stopped) {
			t.Errorf("%s: the error of a cancelled fit is %v", l.Name(), err)
		}
	}
}
