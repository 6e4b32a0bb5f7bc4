package network

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestFarLabelsDoNotSetTheScale: a label that is far beyond all others counts as the farthest ordinary one, in training
// and in validation; labels without such a one are scaled by their mean and deviation as ever.
func TestFarLabelsDoNotSetTheScale(t *testing.T) {
	r := rng.New(3, "far labels")
	s := Sample{X: matrix.New[Real](50, 2)}
	for i := range s.X.Rows {
		for j := range 2 {
			s.X.Set(i, j, Real(r.NormFloat64()))
		}
		s.Y = append(s.Y, float64(s.X.At(i, 0)))
	}
	o := Options{Config: Config{Training: Training{Epochs: 4}, Architecture: Architecture{Hidden: []int{8}}},
		Holdout: new(0.0)}
	scale := func(s Sample) encode.LabelScaler {
		m, err := Fit(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		_, labels := m.Scaling()
		return labels
	}
	want, err := encode.FitLabelScaler(s.Y)
	if err != nil || scale(s) != want {
		t.Errorf("ordinary labels are scaled by %+v, not %+v (%v)", scale(s), want, err)
	}
	s.Y[11] = 1e9
	if got := scale(s); got.Deviation > 1.3*want.Deviation || math.Abs(got.Mean-want.Mean) > 0.3 {
		t.Errorf("with a far label: %+v, with ordinary ones %+v", got, want)
	}
	if s.Y[11] != 1e9 {
		t.Error("the label of the caller was changed")
	}
	s.ValidX, s.ValidY = s.X, s.Y
	m, err := Fit(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if e := m.Provenance().ValidRMSE[0]; e > 10 {
		t.Errorf("the validation error is %v", e)
	}
}
