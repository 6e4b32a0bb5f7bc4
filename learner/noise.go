package learner

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/encode"
)

// Known noise of labels. Gaussian processes add the variances to the diagonal of their covariance. Trees, networks and
// the weights of the blend count each label by its encode.Precision. Errors and intervals stay those of a new
// measurement: one that is as noisy as the labels are on average.

// noiseOf returns the known variances of the labels of a target, by row; nil if none is known.
func (t *Task) noiseOf(target int) []float64 {
	if t.Noise == nil {
		return nil
	}
	list := make([]float64, t.Rows.Len())
	for row := range list {
		list[row] = t.Noise[row*t.Targets()+target]
	}
	return list
}

// precision returns how much each label of the one target counts; nil if all count alike.
func (t *Task) precision() []float64 { return encode.Precision(t.Labels.Data, t.Noise) }

// counts returns how much each of some rows counts for the weights of a target: for as many rows of the pool as it
// stands for, times the precision of its label. Nil means that all count alike.
func (t *Task) counts(target int, rows []int) []float64 {
	precision := encode.Precision(column(t.Labels, target), t.noiseOf(target))
	if precision == nil {
		return t.stand(rows)
	}
	counts := pick(precision, rows)
	for i, s := range t.stand(rows) {
		counts[i] *= s
	}
	return counts
}

// meanNoise is the mean of the known variances of the labels of the one target.
func (t *Task) meanNoise() (mean float64) {
	for _, v := range t.Noise {
		mean += v / float64(len(t.Noise))
	}
	return mean
}

// noiseOn returns the known variances of labels on a scale g: with s the deviation of the noise of a label y, the
// square of (g(y + s) - g(y - s))/2.
func (t *Task) noiseOn(s scale) []float64 {
	if t.Noise == nil {
		return nil
	}
	list := slices.Clone(t.Noise)
	for i, y := range t.Labels.Data {
		deviation := math.Sqrt(list[i])
		half := (s.of(y+deviation) - s.of(y-deviation)) / 2
		list[i] = half * half
	}
	return list
}
