package network

import (
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// withGaps returns labels of which every third is missing, in turn.
func withGaps(y matrix.Dense[Real]) matrix.Dense[Real] {
	gaps := y.Clone()
	for i := range gaps.Rows {
		gaps.Set(i, i%3%gaps.Cols, Real(math.NaN()))
	}
	return gaps
}

// TestMissingLabelsAreLeftOut compares loss, its gradient by the outputs, and the
// validation error with plain sums over the labels that are not missing.
func TestMissingLabelsAreLeftOut(t *testing.T) {
	t.Parallel()
	d := wave(3, 40, 21, 5, 3)
	d.Y, d.ValidY = withGaps(d.Y), withGaps(d.ValidY)
	net, err := NewMLP(5, Architecture{Hidden: []int{9}, Outputs: 3}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	tr := newTraining(net, Config{}.WithDefaults().Training, d, rng.New(1, "order"))
	rows := rng.New(4, "rows").Perm(40)
	tr.pass.inputs(d.X, rows)
	z := tr.pass.forward().Clone()
	loss := tr.residuals(z, rows)
	sum, n := 0.0, 0.0
	for i, row := range rows {
		for j, y := range d.Y.Row(row) {
			if !math.IsNaN(float64(y)) {
				off := float64(z.At(i, j)) - float64(y)
				sum, n = sum+off*off, n+1
			}
		}
	}
	if n != 80 || math.Abs(loss-sum/n) > tolerance(1e-12, 1e-6) {
		t.Errorf("loss %v, want %v over %v labels", loss, sum/n, n)
	}
	for i, row := range rows {
		for j, y := range d.Y.Row(row) {
			want := 0.0
			if !math.IsNaN(float64(y)) {
				want = 2 * float64(z.At(i, j)-y) / n
			}
			if got := tr.pass.grad[1].At(i, j); math.Abs(float64(got)-want) > tolerance(1e-12, 1e-7) {
				t.Fatalf("row %d, output %d: gradient %v, want %v", row, j, got, want)
			}
		}
	}
	out, squares, labels := predict(net, d.ValidX), 0.0, 0.0
	for i := range out.Rows {
		for j, y := range d.ValidY.Row(i) {
			if !math.IsNaN(float64(y)) {
				off := float64(out.At(i, j)) - float64(y)
				squares, labels = squares+off*off, labels+1
			}
		}
	}
	if got, want := tr.validate(), math.Sqrt(squares/labels); math.Abs(got-want) > tolerance(1e-12, 1e-6) {
		t.Errorf("validation RMSE %v, want %v", got, want)
	}
}

// TestTrainingLearnsWithMissingLabels: a row that lacks one label still teaches the
// others.
func TestTrainingLearnsWithMissingLabels(t *testing.T) {
	t.Parallel()
	d := wave(11, 512, 256, 3, 2)
	d.Y = withGaps(d.Y)
	c := Config{Architecture: Architecture{Hidden: []int{32, 32}, Outputs: 2}, Training: Training{Epochs: 40, Batch: 64}}
	_, history := train(t, c, d)
	if best := history.Epochs[history.Best-1].ValidRMSE; best > 0.45 { // the labels' deviation is 0.7
		t.Errorf("validation RMSE %.3f", best)
	}
}

func TestMissingLabelsRefused(t *testing.T) {
	t.Parallel()
	nan, inf := Real(math.NaN()), Real(math.Inf(1))
	for word, labels := range map[string][]Real{
		"training labels: row 1 (from 0) has none":            {1, 2, nan, nan},
		"training labels: row 1, column 0 (from 0) is +Inf":   {1, 2, inf, nan},
		"training labels have 1 columns, the network has 2 o": {1, 2},
	} {
		d := Data{X: matrix.New[Real](2, 1), Y: matrix.View(2, len(labels)/2, labels)}
		_, _, err := Train(t.Context(), Config{Architecture: Architecture{Outputs: 2}}, d, nil)
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
	one := Data{X: matrix.New[Real](2, 1), Y: matrix.View(2, 1, []Real{1, nan})}
	if _, _, err := Train(t.Context(), Config{}, one, nil); err == nil || !strings.Contains(err.Error(), "is NaN") {
		t.Errorf("one output: error %v", err)
	}
}
