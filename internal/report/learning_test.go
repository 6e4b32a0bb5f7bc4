package report

import "testing"

func TestLearningCurves(t *testing.T) {
	t.Parallel()
	var curves []Curve
	for _, name := range []string{"random", "a", "b", "c", "d", "e", "f", "g"} {
		curves = append(curves, Curve{Name: name, X: []float64{1, 2}, Y: []float64{2, 1}})
	}
	f := LearningCurves("title", "RMSE", curves)
	if _, styles, _ := f.names(); styles["random"].colour != black || styles["a"].colour != vermillion ||
		styles["g"].shape == nil {
		t.Errorf("%+v", styles)
	}
	if _, err := f.PNG(); err != nil {
		t.Error(err)
	}
}
