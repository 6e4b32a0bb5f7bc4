package report

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"

	"github.com/nextbatch/nextbatch/benchmark"
)

const rowsLabel = "labelled rows"

// setColumns is how many columns of panels there are for so many data sets.
func setColumns(sets int) int {
	if sets == 4 {
		return 2
	}
	return min(3, sets)
}

// learningCurve is the curve of a method, its band one standard error wide on
// either side.
func learningCurve(s *benchmark.Study, m benchmark.Metric, method, name string, sets ...string) Curve {
	c := Curve{Name: name}
	for i, mean := range s.Curve(m, method, sets...) {
		c.add(float64(s.Labels[i]), mean)
	}
	return c
}

func (c *Curve) add(x float64, m benchmark.Mean) {
	c.X, c.Y = append(c.X, x), append(c.Y, m.Value)
	c.Low, c.High = append(c.Low, m.Value-m.StdErr), append(c.High, m.Value+m.StdErr)
}

// learningPanel has the curves of methods over labelled rows, and a dashed line
// at the last error of random rows.
func learningPanel(s *benchmark.Study, m benchmark.Metric, methods []string, names map[string]string, sets ...string) Panel {
	p := Panel{XLabel: rowsLabel, YLabel: "mean log " + m.String(), X: Log2}
	for _, method := range methods {
		p.Curves = append(p.Curves, learningCurve(s, m, method, names[method], sets...))
	}
	if random, ok := s.Find("random"); ok && len(s.Labels) > 0 {
		if last := s.Mean(benchmark.LogAt(m, s.Rounds), random, sets...).Value; !math.IsNaN(last) {
			p.more = []plot.Plotter{rule{at: last, dash: dashed}}
		}
	}
	return p
}

const dashedLine = " Dashed line: random rows after the last batch."

func (v view) meanNote(fair *benchmark.Study, methods, sets []string) string {
	return behindMean(fair, methods, sets) + uncounted(v.Study, fair, methods, sets) + shaded(fair.Splits) + dashedLine
}

// learningCurves has a panel for each metric, averaged over data sets.
func learningCurves(v view) *Figure {
	f := &Figure{Name: v.name + "-learning-curves", Title: "Learning curves: " + settingTitle(v.Setting), Columns: 3,
		Order: styleOrder(v.shown, v.names), Note: v.meanNote(v.fair, v.shown, v.sets)}
	for _, m := range benchmark.AllMetrics() {
		p := learningPanel(v.fair, m, v.shown, v.names, v.sets...)
		p.Title = metricTitle(m)
		f.Panels = append(f.Panels, p)
	}
	return f
}

// averageCurve is the one panel that tells most: RMSE over all data sets.
func averageCurve(v view) *Figure {
	f := &Figure{Name: v.name + "-learning-curve-rmse", Title: "RMSE, average over data sets: " + settingTitle(v.Setting),
		Order: styleOrder(v.shown, v.names), Note: v.meanNote(v.fair, v.shown, v.sets)}
	f.Panels = []Panel{learningPanel(v.fair, benchmark.RMSE, v.shown, v.names, v.sets...)}
	return f
}

// curvesBySet has a panel for each data set.
func curvesBySet(v view, m benchmark.Metric) *Figure {
	f := &Figure{Name: v.name + "-learning-curves-sets-" + fileWord(m), Title: fmt.Sprintf("%s by data set: %s", metricTitle(m), settingTitle(v.Setting)),
		Columns: setColumns(len(v.DataSets)), Order: styleOrder(v.shown, v.names), Note: behind(v.fair, v.shown, v.DataSets) + uncounted(v.Study, v.fair, v.shown, v.DataSets) + shaded(v.fair.Splits) + dashedLine}
	drawn, note := firstSets(v.DataSets)
	f.Note += note
	for _, set := range drawn {
		p := learningPanel(v.fair, m, v.shown, v.names, set)
		p.Title = set
		f.Panels = append(f.Panels, p)
	}
	return f
}

// mostSets is how many data sets a figure shows one by one.
const mostSets = 60

// firstSets are those that a figure has room for, and what to say of the others.
func firstSets(sets []string) (drawn []string, note string) {
	if len(sets) <= mostSets {
		return sets, ""
	}
	return sets[:mostSets], fmt.Sprintf(" Shown are the first %d of %d data sets.", mostSets, len(sets))
}

// metricTitle is a metric in full.
func metricTitle(m benchmark.Metric) string {
	if m == benchmark.Q95 || m == benchmark.Q99 {
		return m.String() + " quantile"
	}
	return m.String()
}

// fileWord is a metric in the name of a file.
func fileWord(m benchmark.Metric) string {
	return map[benchmark.Metric]string{benchmark.MAE: "mae", benchmark.RMSE: "rmse", benchmark.Q95: "q95",
		benchmark.Q99: "q99", benchmark.MaxE: "maxe"}[m]
}

// correlation sets each two methods against each other: a mark for each data set
// at their mean log errors less that of random rows. It is nil with fewer than
// two methods beside random.
func correlation(v view, random string, m benchmark.Metric) *Figure {
	var methods []string
	for _, method := range v.shown {
		if method != random {
			methods = append(methods, method)
		}
	}
	compared := append(slices.Clone(methods), random)
	all := v.Study
	v.Study = all.Together(compared...)
	sets := v.Common(compared...)
	if len(methods) < 2 || len(sets) == 0 {
		return nil
	}
	f := &Figure{Name: v.name + "-correlation-" + fileWord(m), Columns: len(methods) - 1, Width: 100, Height: 100, Order: sets,
		Title: fmt.Sprintf("Mean log %v less that of random rows, method against method: %s", m, settingTitle(v.Setting)),
		Note:  behindMean(v.Study, compared, sets) + uncounted(all, v.Study, compared, sets) + " Left of the vertical dashed line the method of the x axis is better than random rows, below the horizontal one that of the y axis is; below the diagonal the method of the y axis is the better of the two."}
	sets, note := firstSets(sets)
	f.Order, f.Note = sets, f.Note+note
	if len(methods) < 5 {
		f.Width, f.Height = 160, 160
	}
	for row := 1; row < len(methods); row++ {
		for column := range len(methods) - 1 {
			p := Panel{blank: column >= row}
			if !p.blank {
				p = correlationPanel(v, m, random, methods[column], methods[row], sets)
			}
			f.Panels = append(f.Panels, p)
		}
	}
	return f
}

func correlationPanel(v view, m benchmark.Metric, random, x, y string, sets []string) Panel {
	p := Panel{XLabel: v.names[x], YLabel: v.names[y], square: true}
	var shown room // with zero in it
	for _, set := range sets {
		mark := Mark{Name: set, X: v.Difference(benchmark.MeanLog(m), x, random, set).Value,
			Y: v.Difference(benchmark.MeanLog(m), y, random, set).Value}
		p.Marks = append(p.Marks, mark)
		if !math.IsNaN(mark.X + mark.Y) {
			shown = room{min(shown.low, mark.X, mark.Y), max(shown.high, mark.X, mark.Y)}
		}
	}
	p.more = []plot.Plotter{shown, rule{slope: 1}, rule{dash: dashed}, rule{vertical: true, dash: dashed}}
	return p
}

// errorVariation sets the gain of the paper's method over random rows against
// how unevenly errors are spread at the start.
func errorVariation(v view, method, random string) *Figure {
	e := v.ErrorVariation(method, random)
	name := methodTitle(method)
	p := Panel{XLabel: "mean log RMSE - mean log MAE before the first batch", YLabel: "improvement in sample efficiency"}
	for i, set := range e.DataSets {
		p.Marks = append(p.Marks, Mark{Name: set, X: e.X[i], Y: e.Y[i], Labelled: true})
	}
	note := fmt.Sprintf("%s and random rows, %s.", name, plural(e.Runs, "run", "runs"))
	if len(e.DataSets) > 2 && !math.IsNaN(e.R) {
		p.more = []plot.Plotter{rule{at: e.Intercept, slope: e.Slope, dash: dashed}}
		note += fmt.Sprintf(" Line: least squares, y = %.2f x %+.2f; correlation R = %.2f over %d data sets.", e.Slope, e.Intercept, e.R, len(e.DataSets))
	} else {
		note += " Too few data sets for a line."
	}
	return &Figure{Name: v.name + "-error-variation", Title: fmt.Sprintf("What %s gains, and how errors vary: %s", name, settingTitle(v.Setting)),
		Note: note + " Improvement: (mean log RMSE of the method less that of random rows) / (mean log RMSE of random rows less that before the first batch).", Panels: []Panel{p}}
}
