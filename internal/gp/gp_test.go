package gp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// drawn returns rows and labels that depend on the first two inputs.
func drawn(n, inputs int) (matrix.Dense[float64], []float64) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(inputs)))
	rows, labels := matrix.New[float64](n, inputs), make([]float64, n)
	for i := range rows.Data {
		rows.Data[i] = r.NormFloat64()
	}
	for i := range labels {
		x := rows.Row(i)
		labels[i] = 5 + math.Sin(2*x[0]) + 0.1*r.NormFloat64()
		if inputs > 1 {
			labels[i] += 0.5 * x[1]
		}
	}
	return rows, labels
}

// oneThread is the context of most tests: they run beside each other.
func oneThread(t *testing.T) context.Context { return linalg.WithThreads(t.Context(), 1) }

func fitted(t *testing.T, data Data) *Model {
	t.Helper()
	m, err := Fit(oneThread(t), data, Config{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func predicted(t *testing.T, m *Model, rows matrix.Dense[float64]) (mean, variance []float64) {
	t.Helper()
	mean, variance, err := m.Predict(oneThread(t), rows)
	if err != nil {
		t.Fatal(err)
	}
	return mean, variance
}

// alike reports numbers that differ by more than a tolerance.
func alike(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > tolerance*(1+math.Abs(want[i])) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestGradient compares the gradient of the search with differences, with weights and a
// group of columns.
func TestGradient(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(40, 4)
	weights := make([]float64, 40)
	for i := range weights {
		weights[i] = 1 + float64(i%3)
	}
	for _, shape := range []kernel.Shape{kernel.RBF, kernel.Matern52} {
		for _, prior := range []Prior{Alike, Sparse, Stationary} {
			data := Data{Inputs: rows, Labels: labels, Weights: weights, Groups: [][]int{{1, 3}}}
			m := newModel(data, unitsOf(data))
			s := newSearch(oneThread(t), shape, prior, m.sample, m.units)
			x := []float64{-3, -2, 0.5, 1, 0.2}
			got, unused := make([]float64, len(x)), make([]float64, len(x))
			if _, err := s.evaluate(got, x); err != nil {
				t.Fatal(err)
			}
			const h = 1e-5
			for i := range x {
				sides := [2]float64{}
				for side, step := range []float64{-h, h} {
					moved := slices.Clone(x)
					moved[i] += step
					value, err := s.evaluate(unused, moved)
					if err != nil {
						t.Fatal(err)
					}
					sides[side] = value
				}
				if want := (sides[1] - sides[0]) / (2 * h); math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
					t.Errorf("shape %d, prior %d: slope %d is %v, not %v", shape, prior, i, got[i], want)
				}
			}
		}
	}
}

// plainPosterior is the textbook's posterior by Gaussian elimination, from exported hyperparameters.
func plainPosterior(m *Model, rows matrix.Dense[float64], labels, weights, noise []float64,
	x []float64) (mean, variance float64) {
	labelMean, deviation := meanAndDeviation(labels)
	centres := make([]float64, rows.Cols)
	for j := range centres {
		centres[j] = spreadOf(rows, j).mean
	}
	covariance := func(a, b []float64) float64 {
		squared, linear := 0.0, 0.0
		for j := range a {
			squared += square((a[j] - b[j]) / m.Lengths[j])
			linear += square(m.Slopes[j]) * (a[j] - centres[j]) * (b[j] - centres[j])
		}
		r := math.Sqrt(5 * squared)
		return m.Signal*((1+r+r*r/3)*math.Exp(-r)+1) + linear
	}
	n := len(labels)
	system := make([][]float64, n) // C, then the labels and the covariances with x
	meanWeight, _ := meanAndDeviation(weights)
	for i := range system {
		system[i] = make([]float64, n+2)
		for k := range n {
			system[i][k] = covariance(rows.Row(i), rows.Row(k))
		}
		system[i][i] += m.Noise * meanWeight / weights[i]
		if noise != nil {
			system[i][i] += noise[i]
		}
		system[i][n], system[i][n+1] = (labels[i]-labelMean)/deviation, covariance(rows.Row(i), x)
	}
	for p := range n {
		for i := range n {
			if factor := system[i][p] / system[p][p]; i != p {
				for k := p; k < n+2; k++ {
					system[i][k] -= factor * system[p][k]
				}
			}
		}
	}
	variance = covariance(x, x)
	for i := range n {
		own := covariance(rows.Row(i), x)
		mean += own * system[i][n] / system[i][i]
		variance -= own * system[i][n+1] / system[i][i]
	}
	return labelMean + deviation*mean, variance
}

func TestPosteriorIsThePlainOne(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(60, 3)
	weights, known := make([]float64, 60), make([]float64, 60)
	for i := range weights {
		weights[i], known[i] = 1+float64(i%4), 0.2*float64(i%5)
	}
	tests, _ := drawn(7, 3)
	for _, prior := range []Prior{Alike, Sparse, Stationary} {
		for _, noise := range [][]float64{nil, known} {
			m, err := Fit(oneThread(t), Data{Inputs: rows, Labels: labels, Weights: weights, Noise: noise},
				Config{Prior: prior})
			if err != nil {
				t.Fatal(err)
			}
			mean, variance := predicted(t, m, tests)
			for i := range mean {
				wantMean, wantVariance := plainPosterior(m, rows, labels, weights, noise, tests.Row(i))
				near(t, "mean", mean[i], wantMean)
				near(t, "variance", variance[i], wantVariance)
			}
			only, err := m.PredictMean(t.Context(), tests)
			if err != nil || !slices.Equal(only, mean) {
				t.Errorf("means alone: %v, error %v; want %v", only, err, mean)
			}
		}
	}
}

// TestConstantNoise: equal known variances are those of the noise that a process without them has.
func TestConstantNoise(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(60, 2)
	usual := fitted(t, Data{Inputs: rows, Labels: labels})
	d := usual.Describe()
	quarter := slices.Repeat([]float64{usual.Noise / 4}, 60)
	split := newModel(Data{Inputs: rows, Labels: labels, Noise: quarter}, usual.units)
	split.ratios = usual.ratios
	split.ratios.noise, split.ratios.signal = d.Noise*3/4, usual.signal
	if err := split.condition(oneThread(t)); err != nil {
		t.Fatal(err)
	}
	tests, _ := drawn(9, 2)
	mean, variance := predicted(t, usual, tests)
	again, spread := predicted(t, split, tests)
	alike(t, "mean", again, mean, 1e-10)
	alike(t, "variance", spread, variance, 1e-10)
}

// TestSparse: of thirty inputs two matter, and only together. Who believes that most may not matter finds them with few
// labels.
func TestSparse(t *testing.T) {
	t.Parallel()
	together := func(rows matrix.Dense[float64]) (labels []float64) {
		for i := range rows.Rows {
			x := rows.Row(i)
			labels = append(labels, math.Sin(2*x[0])*x[1])
		}
		return labels
	}
	rows, _ := drawn(70, 30)
	tests, _ := drawn(500, 30)
	truth, errors := together(tests), map[Prior]float64{}
	for _, prior := range []Prior{Alike, Sparse, Stationary} {
		m, err := Fit(oneThread(t), Data{Inputs: rows, Labels: together(rows)}, Config{Prior: prior})
		if err != nil {
			t.Fatal(err)
		}
		mean, _ := predicted(t, m, tests)
		for i := range truth {
			errors[prior] += square(mean[i]-truth[i]) / 500
		}
		if prior != Alike && errors[prior] > errors[Alike]/2 {
			t.Errorf("prior %d: the squared error is %.3f, with the usual beliefs %.3f", prior, errors[prior], errors[Alike])
		}
	}
}

// TestLearns compares the error with the deviation of the noise, and looks for the inputs
// that do not matter.
func TestLearns(t *testing.T) {
	t.Parallel()
	for _, smooth := range []bool{false, true} {
		rows, labels := drawn(160, 5)
		m, err := Fit(oneThread(t), Data{Inputs: rows, Labels: labels}, Config{Smooth: smooth})
		if err != nil {
			t.Fatal(err)
		}
		tests, truth := drawn(500, 5)
		mean, _ := predicted(t, m, tests)
		errors := 0.0
		for i := range truth {
			errors += square(mean[i]-truth[i]) / 500
		}
		if errors > square(0.2) {
			t.Errorf("smooth %v: the error is %.3f; the noise is 0.1", smooth, math.Sqrt(errors))
		}
		if m.Noise < square(0.06) || m.Noise > square(0.14) {
			t.Errorf("smooth %v: the noise is %.3f", smooth, math.Sqrt(m.Noise))
		}
		for j := 2; j < 5; j++ {
			if m.Lengths[j] < 3*m.Lengths[0] {
				t.Errorf("smooth %v: the length scales are %.3g", smooth, m.Lengths)
			}
		}
		if k := m.Kernel(); k.Variance != m.Signal || !slices.Equal(k.Lengths, m.Lengths) ||
			(k.Shape == kernel.RBF) != smooth {
			t.Errorf("smooth %v: the kernel is %v", smooth, k)
		}
	}
}

// TestRowsInAnyOrder permutes the rows.
func TestRowsInAnyOrder(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(80, 3)
	order := rand.New(rand.NewPCG(1, 1)).Perm(80)
	other := make([]float64, 80)
	for i, r := range order {
		other[i] = labels[r]
	}
	tests, _ := drawn(9, 3)
	mean, variance := predicted(t, fitted(t, Data{Inputs: rows, Labels: labels}), tests)
	mean2, variance2 := predicted(t, fitted(t, Data{Inputs: rows.SelectRows(order), Labels: other}), tests)
	alike(t, "mean", mean2, mean, 1e-4)
	alike(t, "variance", variance2, variance, 1e-4)
}

// TestUnitsDoNotMatter scales a column and the labels: a length scale and the variances follow, with
// given units or those of the rows.
func TestUnitsDoNotMatter(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(60, 3)
	tests, _ := drawn(9, 3)
	for _, units := range [][]float64{nil, {1, 1, 1}} {
		m := fitted(t, Data{Inputs: rows, Labels: labels, Units: units})
		mean, variance := predicted(t, m, tests)
		scale := func(rows matrix.Dense[float64]) matrix.Dense[float64] {
			rows = rows.Clone()
			for i := range rows.Rows {
				rows.Row(i)[1] = 1000*rows.Row(i)[1] + 7
			}
			return rows
		}
		larger := make([]float64, len(labels))
		for i, y := range labels {
			larger[i] = 3*y - 20
		}
		if units != nil {
			units = []float64{1, 1000, 1}
		}
		scaled := fitted(t, Data{Inputs: scale(rows), Labels: larger, Units: units})
		mean2, variance2 := predicted(t, scaled, scale(tests))
		for i := range mean {
			mean[i], variance[i] = 3*mean[i]-20, 9*variance[i]
		}
		alike(t, "mean", mean2, mean, 1e-4)
		alike(t, "variance", variance2, variance, 1e-4)
		alike(t, "length scales", scaled.Lengths, []float64{m.Lengths[0], 1000 * m.Lengths[1], m.Lengths[2]}, 1e-3)
		alike(t, "variances", []float64{scaled.Signal, scaled.Noise}, []float64{9 * m.Signal, 9 * m.Noise}, 1e-3)
	}
}

// TestThreadsDoNotMatter requires equal bits.
func TestThreadsDoNotMatter(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(270, 2)
	tests, _ := drawn(600, 2)
	var want []float64
	for _, threads := range []int{1, 2} {
		ctx := linalg.WithThreads(t.Context(), threads)
		m, err := Fit(ctx, Data{Inputs: rows, Labels: labels}, Config{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		mean, variance, err := m.Predict(ctx, tests)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Concat(mean, variance, m.Lengths, []float64{m.Noise, m.Signal, m.LogLikelihood})
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d threads: other numbers", threads)
		}
	}
}

// TestFewRows fits 1 to 5 rows, equal labels, equal rows and no inputs.
func TestFewRows(t *testing.T) {
	t.Parallel()
	tests, _ := drawn(5, 2)
	for n := 1; n <= 5; n++ {
		rows, labels := drawn(n, 2)
		for name, data := range map[string]Data{
			"plain":        {Inputs: rows, Labels: labels},
			"equal labels": {Inputs: rows, Labels: slices.Repeat([]float64{0.1}, n)},
			"equal rows":   {Inputs: matrix.View(n, 2, slices.Repeat([]float64{0.1, 3}, n)), Labels: labels},
		} {
			for _, prior := range []Prior{Alike, Sparse, Stationary} {
				m, err := Fit(oneThread(t), data, Config{Prior: prior})
				if err != nil {
					t.Fatal(err)
				}
				mean, variance := predicted(t, m, tests)
				for i := range mean {
					least, most := slices.Min(data.Labels), slices.Max(data.Labels)
					if width := 10*(most-least) + 1e-9; !(mean[i] >= least-width && mean[i] <= most+width) ||
						!(variance[i] >= 0) || math.IsInf(variance[i], 1) {
						t.Errorf("%s, %d rows, prior %d: mean %v, variance %v", name, n, prior, mean[i], variance[i])
					}
				}
			}
		}
	}
	_, labels := drawn(4, 2)
	mean, _ := predicted(t, fitted(t, Data{Inputs: matrix.New[float64](4, 0), Labels: labels}), matrix.New[float64](3, 0))
	average, _ := meanAndDeviation(labels)
	alike(t, "mean without inputs", mean, []float64{average, average, average}, 1e-9)
}

// TestDuplicates has every row three times, with different labels.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(30, 2)
	rows, labels = matrix.Stack(rows, rows, rows), slices.Concat(labels, labels, labels)
	for i := range labels {
		labels[i] += 0.2 * float64(i/30-1)
	}
	m := fitted(t, Data{Inputs: rows, Labels: labels})
	if deviation := math.Sqrt(m.Noise); deviation < 0.1 || deviation > 0.25 {
		t.Errorf("the deviation of the noise is %.3f, not about 0.17", deviation)
	}
}

// TestHeavyTail has labels of which one is a thousand deviations away.
func TestHeavyTail(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(100, 2)
	labels[17] += 1e3
	tests, _ := drawn(20, 2)
	mean, variance := predicted(t, fitted(t, Data{Inputs: rows, Labels: labels}), tests)
	for i := range mean {
		if math.Abs(mean[i]) > 1e3 || !(variance[i] >= 0) {
			t.Errorf("mean %v, variance %v", mean[i], variance[i])
		}
	}
}

// TestGroups requires one length scale for one-hot columns, whatever their scale was, and
// none for a column that does not vary.
func TestGroups(t *testing.T) {
	t.Parallel()
	inputs, labels := drawn(90, 1)
	rows := matrix.New[float64](90, 5)
	for i := range 90 {
		category := i % 3
		copy(rows.Row(i), []float64{inputs.At(i, 0), 0, 0, 0, 0})
		rows.Row(i)[1+category] = float64(1 + category)
		labels[i] += float64(2 * category)
	}
	m := fitted(t, Data{Inputs: rows, Labels: labels, Groups: [][]int{{1, 2, 3, 4}}})
	alike(t, "length scales", []float64{m.Lengths[2], m.Lengths[3]}, []float64{2 * m.Lengths[1], 3 * m.Lengths[1]}, 1e-9)
	if m.Lengths[4] != math.MaxFloat64 || m.Slopes[4] != 0 {
		t.Errorf("a column that does not vary has the length scale %v and the slope %v", m.Lengths[4], m.Slopes[4])
	}
}

// TestWeights compares a weight of 4 in one row with the row four times: the posteriors agree
// for the same hyperparameters.
func TestWeights(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(20, 2)
	weights := slices.Repeat([]float64{1}, 20)
	weights[3] = 4
	weighted := fitted(t, Data{Inputs: rows, Labels: labels, Weights: weights})
	repeated := weighted.Describe()
	repeated.Weights = nil
	repeated.Rows = slices.Concat(repeated.Rows, rows.Row(3), rows.Row(3), rows.Row(3))
	repeated.Labels = slices.Concat(labels, []float64{labels[3], labels[3], labels[3]})
	repeated.Noise *= 23. / 20 // that of the mean weight
	other, err := Restore(t.Context(), repeated)
	if err != nil {
		t.Fatal(err)
	}
	other.mean, other.deviation = weighted.mean, weighted.deviation
	for i, y := range other.data.Labels {
		other.sample.labels[i] = (y - other.mean) / other.deviation
	}
	if err := other.condition(t.Context()); err != nil {
		t.Fatal(err)
	}
	tests, _ := drawn(9, 2)
	mean, _ := predicted(t, weighted, tests)
	again, _ := predicted(t, other, tests)
	alike(t, "mean", again, mean, 1e-8)
}

func TestFitRefuses(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(6, 2)
	bad := rows.Clone()
	bad.Set(2, 1, math.NaN())
	for word, data := range map[string]Data{
		"at least one labelled row":  {},
		"3 labels for 6 rows":        {Inputs: rows, Labels: labels[:3]},
		"input 1 of row 2 is NaN":    {Inputs: bad, Labels: labels},
		"the label of row 1 is +Inf": {Inputs: rows, Labels: []float64{1, math.Inf(1), 1, 1, 1, 1}},
		"2 weights for 6 rows":       {Inputs: rows, Labels: labels, Weights: []float64{1, 1}},
		"the weight of row 1 is 0":   {Inputs: rows, Labels: labels, Weights: []float64{1, 0, 1, 1, 1, 1}},
		"1 units for 2 inputs":       {Inputs: rows, Labels: labels, Units: []float64{1}},
		"the unit of input 1 is -1":  {Inputs: rows, Labels: labels, Units: []float64{1, -1}},
		"group 0 has column 2":       {Inputs: rows, Labels: labels, Groups: [][]int{{2}}},
		"column 1 is in group 0":     {Inputs: rows, Labels: labels, Groups: [][]int{{1}, {0, 1}}},
		"too large to compute with":  {Inputs: rows, Labels: []float64{1e308, -1e308, 1, 1, 1, 1}},
		"at most 8192 labels, and there": {Inputs: matrix.New[float64](MostLabels+1, 1),
			Labels: make([]float64, MostLabels+1)},
	} {
		if _, err := Fit(oneThread(t), data, Config{}); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
	var many *TooManyError
	if _, err := Fit(t.Context(), Data{Inputs: matrix.New[float64](MostLabels+1, 1)}, Config{}); !errors.As(err, &many) ||
		many.Labels != MostLabels+1 {
		t.Errorf("error %v", err)
	}
	m := fitted(t, Data{Inputs: rows, Labels: labels})
	if _, _, err := m.Predict(t.Context(), matrix.New[float64](1, 3)); err == nil {
		t.Error("rows with too many inputs are accepted")
	}
	if _, _, err := m.Predict(t.Context(), bad); err == nil {
		t.Error("a NaN is accepted")
	}
}

// countdown is a context that is cancelled when it has been asked a number of times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	rows, labels := drawn(30, 2)
	for left := range 30 {
		if _, err := Fit(&countdown{oneThread(t), left}, Data{Inputs: rows, Labels: labels},
			Config{}); err != context.Canceled {
			t.Fatalf("after %d: error %v", left, err)
		}
	}
	m := fitted(t, Data{Inputs: rows, Labels: labels})
	tests, _ := drawn(3*blockRows, 2)
	folds := make([]int, 30)
	for i := range folds {
		folds[i] = i % 3
	}
	for left := range 3 {
		if mean, _, err := m.Predict(&countdown{oneThread(t), left}, tests); err != context.Canceled || mean != nil {
			t.Errorf("after %d blocks: error %v", left, err)
		}
		if mean, _, err := m.OutOfFold(&countdown{oneThread(t), left}, folds); err != context.Canceled || mean != nil {
			t.Errorf("after %d folds: error %v", left, err)
		}
	}
}
