package tables

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
)

// TestLabelSD: a column says the noise of each label, also of the mean of replicates, and is not an input.
func TestLabelSD(t *testing.T) {
	id, x := dataset.NewText("id"), dataset.NewNumeric("x")
	for i, name := range []string{"a", "b", "c", "c", "d"} {
		id.Append([]byte(name))
		x.Append(float64(name[0]) * (1 + float64(i/4)))
	}
	y := dataset.NewNumeric("y", 1, 2, 3, 4, math.NaN())
	z := dataset.NewNumeric("z", 1, math.NaN(), 3, 4, math.NaN())
	read := func(columns []string, sd ...float64) (*Rows, error) {
		s := Tables{Input: Input{Table: tableOf(t, id, x, y, z, dataset.NewNumeric("sd", sd...),
			dataset.NewNumeric("z sd", 2, -1, 1, 1, math.NaN())), TargetColumns: []string{"y", "z"}, IDColumn: "id",
			LabelSD: columns}}
		return s.Rows(t.Context())
	}
	both := []string{"sd", "z sd"}
	r, err := read(both, 0.5, 0, 3, 4, -1) // one without a label has no meaning
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{0.25, 4, 0, 0, 25. / 4, 0.5}; !slices.Equal(r.Noise, want) {
		t.Errorf("the variances are %v, want %v", r.Noise, want)
	}
	if got, want := r.SomeTrain(2).Noise, []float64{0.25, 4, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("the variances of some rows are %v, want %v", got, want)
	}
	if got := r.Encoder.Features(); !slices.Equal(got, []string{"x"}) {
		t.Errorf("the inputs are %v", got)
	}
	none := math.NaN()
	for _, c := range []struct {
		columns []string
		sd      []float64
		want    string
	}{
		{both, []float64{1, none, 1, 1, 1}, `row 1 (from 0, id b): the label has no standard deviation; give one`},
		{both, []float64{1, 1, 1, -2, 1}, `row 3 (from 0, id c): the standard deviation of the label is -2, but must be`},
		{both[:1], []float64{1, 1, 1, 1, 1}, `1 column is named for the noise of the labels, but 2 target columns`},
		{[]string{"sd", "z"}, []float64{1, 1, 1, 1, 1}, `column "z" is named as a target and for the noise`},
		{[]string{"sd", "no"}, []float64{1, 1, 1, 1, 1}, `column "no" is not in the table`},
	} {
		if _, err := read(c.columns, c.sd...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}
