package learner

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestAbsurdLabelsAreLeftOut: a label that is a thousand times too large changes the predictions no more than a missing
// one would, is named, and keeps its residual, which audits and estimates of errors need.
func TestAbsurdLabelsAreLeftOut(t *testing.T) {
	clean, wrong := made(60), made(60)
	wrong.Y[7] = 1000
	both := []Learner{processLearner{}, extraTrees{}}
	right, m := fit(t, t.Context(), clean, both...), fit(t, t.Context(), wrong, both...)
	if len(right.LeftOut()) > 0 {
		t.Fatalf("right labels are left out: %+v", right.LeftOut())
	}
	left := m.LeftOut()
	if len(left) != 1 || left[0].Row != 7 || left[0].Label != 1000 || math.Abs(left[0].Prediction-clean.Y[7]) > 1 {
		t.Fatalf("left out: %+v; the right label is %v", left, clean.Y[7])
	}
	notes := m.LeftOutNotes(func(row int) string { return "r" + string(rune('0'+row)) }, nil)
	if len(notes) != 1 || !strings.Contains(notes[0], "the label 1,000 of row r7 was left out") {
		t.Errorf("the notes are %q", notes)
	}
	test := made(200)
	error := func(m *Model) float64 {
		off := predict(t, t.Context(), m, test.X).Mean
		for i, y := range test.Y {
			off[i] -= y
		}
		return conformal.RootMeanSquare(off)
	}
	if a, b := error(right), error(m); b > 1.1*a {
		t.Errorf("the error is %v with right labels, and %v with a wrong one", a, b)
	}
	residuals := m.Residuals()
	if len(residuals) != 60 || residuals[7].Row != 7 || residuals[7].Error > -990 || len(m.HeldDeviations()) != 60 {
		t.Errorf("%d residuals, %d deviations, of row 7: %+v", len(residuals), len(m.HeldDeviations()), residuals[7])
	}
	if e := m.Provenance().ValidRMSE[0]; e > 1 {
		t.Errorf("the RMSE out of fold is %v", e)
	}
}

// TestWrongLabelsOfSeveralTargets: networks and candidates from elsewhere do without a label, too, and the other target
// keeps the row.
func TestWrongLabelsOfSeveralTargets(t *testing.T) {
	s := madeTwo(60)
	held := matrix.New[float64](60, 2)
	for i := range 60 {
		held.Set(i, 0, s.Y[2*i]+0.1)
		held.Set(i, 1, -2*s.Y[2*i]-0.1)
	}
	s.Y[2*10+1] = -5000
	m := fit(t, t.Context(), s, append(all(), Given("elsewhere", held))...)
	if first, second := m.LeftOut(), m.Target(1).LeftOut(); len(first) > 0 || len(second) != 1 || second[0].Row != 10 {
		t.Errorf("left out: %+v, %+v", first, second)
	}
	if notes := m.Target(1).LeftOutNotes(func(int) string { return "x" },
		func(int) string { return "which is odd" }); len(notes) != 1 ||
		!strings.Contains(notes[0], "row x (2), which is odd, was left out") {
		t.Errorf("the notes are %q", notes)
	}
}

// TestHeavyTailsAreKept: large errors are left out only where a gap separates them from the others, and not too many of
// them.
func TestHeavyTailsAreKept(t *testing.T) {
	crossed := []*CrossFitted{{Means: make([]float64, 100)}}
	task := func(large ...float64) *Task {
		labels := matrix.New[float64](100, 1)
		for i := range 100 {
			labels.Set(i, 0, float64(i%10)/9)
		}
		for i, y := range large {
			labels.Set(i, 0, y)
		}
		return &Task{Labels: labels}
	}
	for _, c := range []struct {
		large []float64
		left  []int
	}{
		{nil, nil},
		{[]float64{3, 6, 12, 24, 48}, nil},                 // a heavy tail
		{[]float64{5}, nil},                                // not absurd
		{[]float64{-100}, []int{0}},                        //
		{[]float64{2, 100, -30}, []int{1, 2}},              //
		{slices.Repeat([]float64{100}, 5), upTo(5)},        // one in twenty
		{slices.Repeat([]float64{100}, 6), nil},            // more: they belong to the data
		{[]float64{40, 40, 40, 40, 40, 4000}, []int{5}},    //
		{[]float64{math.NaN(), 100, math.NaN()}, []int{1}}, // missing labels
	} {
		if got := task(c.large...).absurd(0, crossed); !reflect.DeepEqual(got, c.left) {
			t.Errorf("%v: left out %v, want %v", c.large, got, c.left)
		}
	}
	small := []*CrossFitted{{Means: column(task().Labels, 0)}}
	small[0].Means[3] = 1 // all other errors are far below 0.1
	for i := range 100 {
		small[0].Means[i] += 0.001
	}
	if got := task().absurd(0, small); got != nil {
		t.Errorf("left out %v, although the label is like the others", got)
	}
	if got := task(100).absurd(0, []*CrossFitted{crossed[0], {Means: slices.Repeat([]float64{100}, 100)}}); got != nil {
		t.Errorf("left out %v, although a candidate expects it", got)
	}
}
