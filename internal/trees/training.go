package trees

import (
	"errors"
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// training is a table in the form in which both learners read it: features instead of
// columns, each in one slice; standardised labels; weights with mean 1.
type training struct {
	inputs  matrix.Dense[float32]
	labels  []float64
	weights []float64
	scale   standard
	encoder *encoder

	// features holds the values of each feature by row; those of target statistics are
	// nil, because they depend on an order of the rows.
	features [][]float32
}

// standard undoes the standardisation of the labels: label = offset + unit·standardised.
type standard struct{ offset, unit float64 }

func newTraining(d Data) (*training, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	d = d.weighted()
	t := &training{inputs: d.Inputs, weights: relative(d.Weights, len(d.Labels))}
	if err := t.standardise(d.Labels); err != nil {
		return nil, err
	}
	t.encoder = newEncoder(d.Inputs, d.Columns, t.labels, t.weights)
	t.features = make([][]float32, len(t.encoder.features))
	for j, f := range t.encoder.features {
		if f.kind != statistic {
			t.features[j] = t.encoder.values(j, t.inputs)
		}
	}
	return t, nil
}

// weighted drops the rows with weight 0.
func (d Data) weighted() Data {
	var rows []int
	for i, w := range d.Weights {
		if w > 0 {
			rows = append(rows, i)
		}
	}
	if len(rows) == len(d.Weights) {
		return d
	}
	return d.Subset(rows)
}

// relative returns the weights divided by their mean.
func relative(weights []float64, n int) []float64 {
	r := make([]float64, n)
	sum := 0.0
	for i := range r {
		r[i] = 1
		if weights != nil {
			r[i] = weights[i]
		}
		sum += r[i]
	}
	for i := range r {
		r[i] *= float64(n) / sum
	}
	return r
}

// standardise computes the labels with mean 0 and variance 1. It divides by the largest
// deviation before it squares, so that labels may be of any size.
func (t *training) standardise(labels []float64) error {
	n := float64(len(labels))
	for i, y := range labels {
		t.scale.offset += t.weights[i] * (y / n)
	}
	most, squares := 0.0, 0.0
	for _, y := range labels {
		most = max(most, math.Abs(y-t.scale.offset))
	}
	if math.IsInf(most, 0) || math.IsNaN(most) {
		return errors.New("trees: the labels are so far apart that their differences are not finite")
	}
	t.scale.unit = 1
	if most > 0 {
		for i, y := range labels {
			d := (y - t.scale.offset) / most
			squares += t.weights[i] * d * d / n
		}
		t.scale.unit = most * math.Sqrt(squares)
	}
	t.labels = make([]float64, len(labels))
	for i, y := range labels {
		t.labels[i] = (y - t.scale.offset) / t.scale.unit
	}
	return nil
}
