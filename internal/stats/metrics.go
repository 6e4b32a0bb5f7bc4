package stats

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

// Metrics are the errors that the paper reports (section "Experiments"), over
// the absolute differences of predictions and labels.
type Metrics struct {
	MAE  float64 // mean
	RMSE float64 // root of the mean square
	MaxE float64 // maximum
	Q95  float64 // 95 % quantile: of n in ascending order, number ⌊0.95·n⌋, from 0
	Q99  float64 // 99 % quantile, likewise
}

// Measure compares predictions with labels. Row i of predictions is from member
// i of an ensemble and has a number for each label. The metrics of the members
// are averaged; for RMSE, the mean square is. Without labels or
// members, all metrics are NaN; a prediction that is NaN makes them NaN.
func Measure(predictions matrix.Dense[float64], labels []float64) Metrics {
	matrix.MustMatch("stats.Measure", predictions.Shape(), matrix.Shape{Rows: predictions.Rows, Cols: len(labels)})
	nan := math.NaN()
	if predictions.Rows == 0 || len(labels) == 0 {
		return Metrics{nan, nan, nan, nan, nan}
	}
	var sum Metrics // its RMSE is a mean square until the end
	errors := make([]float64, len(labels))
	for i := range predictions.Rows {
		for j, p := range predictions.Row(i) {
			errors[j] = math.Abs(p - labels[j])
		}
		sum.add(errors)
	}
	n := float64(predictions.Rows)
	return Metrics{MAE: sum.MAE / n, RMSE: math.Sqrt(sum.RMSE / n), MaxE: sum.MaxE / n, Q95: sum.Q95 / n, Q99: sum.Q99 / n}
}

// add adds the metrics of one member. It sorts the errors.
func (m *Metrics) add(errors []float64) {
	slices.Sort(errors) // NaN comes first
	n := float64(len(errors))
	poison := errors[0] * 0
	square := 0.0
	for _, e := range errors {
		m.MAE += e / n
		square += e * e
	}
	m.RMSE += square / n
	m.MaxE += errors[len(errors)-1] + poison
	m.Q95 += quantile(errors, 95) + poison
	m.Q99 += quantile(errors, 99) + poison
}

// quantile returns the percent quantile of sorted numbers, without
// interpolation.
func quantile(sorted []float64, percent int) float64 {
	return sorted[len(sorted)*percent/100]
}
