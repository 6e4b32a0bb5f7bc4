package plausible

import (
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
)

// stream is a kind of label, which follows from a smooth function of the inputs with values around 0 and a standard
// deviation of about 1, and from noise.
type stream struct {
	name  string
	label func(f, noise float64, draw *rng.Stream) float64

	alone, predicted caught // what is found at least, by the labels so far alone and with the predictions of models
}

// caught are percentages of the planted factors of 10 and 100 that move a label by more than three widths.
type caught [2]int

// magnitudes are streams that spread over magnitudes.
var magnitudes = []stream{
	{"IC50", func(f, e float64, _ *rng.Stream) float64 { return math.Pow(10, 2.5+1.2*f+0.4*e) },
		caught{14, 28}, caught{6, 20}},
	{"six decades", func(f, e float64, _ *rng.Stream) float64 { return math.Pow(10, 6/(1+math.Exp(-1.7*f-0.3*e))) },
		caught{3, 36}, caught{1, 26}},
	{"lognormal 1", func(f, e float64, _ *rng.Stream) float64 { return math.Exp(0.8*f + 0.6*e) },
		caught{79, 94}, caught{72, 93}},
	{"lognormal 2", func(f, e float64, _ *rng.Stream) float64 { return math.Exp(1.6*f + 1.2*e) },
		caught{23, 43}, caught{20, 45}},
	{"lognormal noise", func(_, e float64, _ *rng.Stream) float64 { return math.Exp(1.5 * e) },
		caught{41, 66}, caught{36, 66}},
	{"counts, 70 % zeros", func(f, e float64, d *rng.Stream) float64 { return poisson(math.Exp(1.5*f-1.6+1.2*e), d) },
		caught{23, 76}, caught{2, 23}},
	{"few counts", func(f, e float64, d *rng.Stream) float64 { return poisson(math.Exp(1.2*f-1.6+0.6*e), d) },
		caught{38, 90}, caught{16, 60}},
	{"titre with a limit", func(f, e float64, _ *rng.Stream) float64 { return max(100, math.Pow(10, 3+1.5*f+0.3*e)) },
		caught{10, 20}, caught{6, 13}},
	{"with background", func(f, e float64, d *rng.Stream) float64 { return math.Exp(1+1.2*f+e/2) + 0.3*d.NormFloat64() },
		caught{58, 81}, caught{50, 83}},
	{"negative", func(f, e float64, _ *rng.Stream) float64 { return -math.Exp(1.2*f + 0.5*e) },
		caught{52, 78}, caught{52, 78}},
	{"both signs", func(f, e float64, _ *rng.Stream) float64 { return math.Sinh(2*f + e) },
		caught{34, 51}, caught{31, 39}},
}

// level are streams that do not.
var level = []stream{
	{"level", func(f, e float64, _ *rng.Stream) float64 { return 50 + 10*f + 3*e },
		caught{100, 100}, caught{100, 100}},
	{"nearly level", func(f, e float64, _ *rng.Stream) float64 { return 50 * math.Exp(0.1*f+0.03*e) },
		caught{100, 100}, caught{100, 100}},
}

// poisson draws a number from Poisson's distribution.
func poisson(mean float64, draw *rng.Stream) float64 {
	if mean > 50 {
		return math.Round(mean + math.Sqrt(mean)*draw.NormFloat64())
	}
	n, p := 0.0, draw.Float64()
	for limit := math.Exp(-mean); p > limit; n++ {
		p *= draw.Float64()
	}
	return n
}

// draw returns inputs and labels.
func (s *stream) draw(seed uint64, n int) (matrix.Dense[float32], []float64) {
	draw, x, y := rng.New(seed, s.name), matrix.New[float32](n, 4), make([]float64, n)
	for i := range y {
		row := x.Row(i)
		for j := range row {
			row[j] = float32(2*draw.Float64() - 1)
		}
		a, b, c := float64(row[0]), float64(row[1]), float64(row[2])
		y[i] = s.label(1.1*a+0.9*math.Sin(2*b)+0.8*a*c-0.4*b*b, draw.NormFloat64(), draw)
	}
	return x, y
}

// check requires that few true labels wait, and as many planted factors as are known to be found.
func (l *looked) check(t *testing.T, s *stream, least caught) {
	t.Helper()
	t.Log(l.row(s.name))
	if 200*l.alarms > l.labels {
		t.Errorf("%s: %d of %d true labels wait, more than 1 in 200", s.name, l.alarms, l.labels)
	}
	for k, percent := range least {
		if 100*l.found[k] < percent*l.moved[k] || l.moved[k] == 0 {
			t.Errorf("%s: %d of %d factors (%s) wait, fewer than %d %%", s.name, l.found[k], l.moved[k],
				plantings[k].name, percent)
		}
	}
}

// TestLabelsOfStreams: labels that arrive one by one are compared with those before them, from the first 20 on. Of each
// stream, at most 1 in 200 true ones waits.
func TestLabelsOfStreams(t *testing.T) {
	t.Parallel()
	seeds := 60
	if testing.Short() {
		seeds = 20
	}
	for _, s := range append(magnitudes, level...) {
		all := nothingLooked()
		for seed := range uint64(seeds) {
			_, y := s.draw(seed, Fewest+200)
			known := sorted(y[:Fewest])
			for i := Fewest; i < len(y); i++ {
				labels := known.Labels()
				all.lookAt(labels, y[i], nil, labels.plain.high-labels.plain.low, i)
				known.Add(y[i])
			}
		}
		all.check(t, &s, s.alone)
	}
}

// TestPredictedLabelsOfStreams: the same with the predictions of models, which know nothing of scales.
func TestPredictedLabelsOfStreams(t *testing.T) {
	t.Parallel()
	kinds := []learner.Kind{learner.GaussianOnly, learner.TreesOnly}
	if testing.Short() {
		kinds = kinds[:1]
	}
	for _, s := range append(magnitudes, level...) {
		all := nothingLooked()
		for _, size := range []int{32, 96} {
			for _, kind := range kinds {
				for seed := range uint64(3) {
					all.add(s.outlook(t, kind, seed, size).look(false))
				}
			}
		}
		all.check(t, &s, s.predicted)
	}
}

// outlook is what a model that has learnt from some labels of a stream expects of 500 others.
func (s *stream) outlook(t *testing.T, kind learner.Kind, seed uint64, size int) *outlook {
	t.Helper()
	x, y := s.draw(seed, size+500)
	order := make([]int, len(y))
	for i := range order {
		order[i] = i
	}
	return predicted(t, kind, x, y, nil, order[:size], order[size:], seed)
}

// TestSlipsOfStreams: factors of 10 and 100 are found where labels are level, with predictions and without. Where they
// spread over magnitudes, only a factor that takes a label beyond these can be.
func TestSlipsOfStreams(t *testing.T) {
	t.Parallel()
	for _, s := range level {
		for _, alone := range []bool{false, true} {
			for k, found := range s.outlook(t, learner.GaussianOnly, 0, 64).look(alone).found[:2] {
				if found < 500 {
					t.Errorf("%s, alone %v: %d of 500 slips (%s) wait", s.name, alone, found, plantings[k].name)
				}
			}
		}
	}
	for _, s := range magnitudes {
		_, y := s.draw(0, 256)
		labels, size := Learn(y), 0.0
		for _, v := range y {
			size = max(size, math.Abs(v))
		}
		if s.name == "negative" {
			size = -size
		}
		doubt := labels.Examine(1e5*size, nil)
		if doubt == nil || !strings.Contains(doubt.Words(1e5*size, 0).String(), " on a logarithmic scale") {
			t.Errorf("%s: 1e5 times the largest label: %v", s.name, doubt)
		}
	}
}
