package learner

import (
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestTheInContextNetworkLearns: on a smooth function its error on new rows is less than a third of the
// deviation of the labels, and a model of other weights is not read.
func TestTheInContextNetworkLearns(t *testing.T) {
	m, test := fit(t, t.Context(), made(60), contextLearner{}), made(200)
	off := predict(t, t.Context(), m, test.X).Mean
	for i, y := range test.Y {
		off[i] -= y
	}
	if e, all := conformal.RootMeanSquare(off), deviation(test.Y); e > all/3 {
		t.Errorf("the error is %v, and the deviation of the labels %v", e, all)
	}
	c := m.of().blend.parts[0].predictor.(*contextual)
	raw, err := c.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(raw), `"weights":"`, `"weights":"0`, 1)
	_, err = restoreContextual([][]byte{[]byte(other)}, c.fold)
	if err == nil || !strings.Contains(err.Error(), "other weights") {
		t.Errorf("a model of other weights: %v", err)
	}
	cut := strings.Replace(string(raw), `"labels":[`, `"labels":[1,`, 1)
	if _, err := restoreContextual([][]byte{[]byte(cut)}, c.fold); err == nil {
		t.Error("a model with a label too many is read")
	}
}

// TestTheInContextNetworkSaysThatItIgnoresNoise: where labels are known to be differently noisy, a note says that it
// counts all alike.
func TestTheInContextNetworkSaysThatItIgnoresNoise(t *testing.T) {
	s := made(30)
	if notes := fit(t, t.Context(), s, contextLearner{}).Notes(); len(notes) > 0 {
		t.Errorf("without noise: %q", notes)
	}
	s.Noise = make([]float64, len(s.Y))
	s.Noise[3] = 1
	if notes := fit(t, t.Context(), s, contextLearner{}).Notes(); len(notes) != 1 ||
		!strings.Contains(notes[0], "noisy labels like exact ones") {
		t.Errorf("with noise: %q", notes)
	}
}

// TestWhatTheInContextNetworkLeaves: it says how many labels and columns it takes.
func TestWhatTheInContextNetworkLeaves(t *testing.T) {
	if err := InContext.CheckLabels(1025); err == nil || !strings.Contains(err.Error(), "at most 1,024 labels") {
		t.Errorf("1,025 labels: %v", err)
	}
	if err := InContext.CheckLabels(1024); err != nil {
		t.Error(err)
	}
	s := made(30)
	wide := matrix.New[float32](30, 130)
	for i := range 30 {
		for j := range 130 {
			wide.Set(i, j, float32(math.Sin(float64(i*j))))
		}
	}
	s.X, s.Unlabelled = wide, wide.Slice(0, 5)
	m := fit(t, t.Context(), s, processLearner{}, contextLearner{})
	if left := m.Candidates()[1].Left; left != "it takes at most 128 columns, and there are 130" {
		t.Errorf("it says %q", left)
	}
	_, err := Fit(t.Context(), s, Options{Kind: InContext})
	if err == nil || !strings.Contains(err.Error(), "128 columns") {
		t.Errorf("alone: %v", err)
	}
}
