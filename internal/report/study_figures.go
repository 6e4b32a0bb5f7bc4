package report

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/words"
)

const rowsLabel = "labelled rows"

// setColumns is the number of columns for one panel per data set.
func setColumns(sets int) int {
	if sets == 4 {
		return 2
	}
	return min(3, sets)
}

// learningCurve is the curve of a method, with a band of one standard error on
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

// learningPanel plots methods over labelled rows, with a dashed line at the last
// error of random selection.
func learningPanel(s *benchmark.Study, m benchmark.Metric, methods []string, names map[string]string,
	sets ...string) Panel {
	p := Panel{XLabel: rowsLabel, YLabel: "mean log " + m.String(), X: Log2, measured: true}
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

const dashedLine = " Dashed line: random selection after the last batch."

func (v view) meanNote(fair *benchmark.Study, methods, sets []string) string {
	return meanRunsNote(fair, methods, sets) + unusedRunsNote(v.Study, fair, methods,
		sets) + bandNote(fair.Splits) + dashedLine
}

// learningCurves has one panel per metric, averaged over data sets.
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

// averageCurve is the most telling panel: RMSE over all data sets, or on the only one.
func averageCurve(v view) *Figure {
	title := "RMSE, average over data sets: "
	if len(v.DataSets) == 1 {
		title = fmt.Sprintf("RMSE on %s: ", v.DataSets[0])
	}
	f := &Figure{Name: v.name + "-learning-curve-rmse", Title: title + settingTitle(v.Setting),
		Order: styleOrder(v.shown, v.names), Note: v.meanNote(v.fair, v.shown, v.sets)}
	f.Panels = []Panel{learningPanel(v.fair, benchmark.RMSE, v.shown, v.names, v.sets...)}
	return f
}

// curvesBySet has one panel per data set.
func curvesBySet(v view, m benchmark.Metric) *Figure {
	f := &Figure{Name: v.name + "-learning-curves-sets-" + fileWord(m),
		Title:   fmt.Sprintf("%s by data set: %s", metricTitle(m), settingTitle(v.Setting)),
		Columns: setColumns(len(v.DataSets)), Order: styleOrder(v.shown, v.names),
		Note: runsNote(v.fair, v.shown, v.DataSets) + unusedRunsNote(v.Study, v.fair, v.shown,
			v.DataSets) + bandNote(v.fair.Splits) + dashedLine}
	drawn, note := firstSets(v.DataSets)
	f.Note += note
	for _, set := range drawn {
		p := learningPanel(v.fair, m, v.shown, v.names, set)
		p.Title = set
		f.Panels = append(f.Panels, p)
	}
	return f
}

// maxSets is the most data sets that a figure shows one by one.
const maxSets = 60

// firstSets returns the data sets that a figure has space for, and a note if
// there are more.
func firstSets(sets []string) (drawn []string, note string) {
	if len(sets) <= maxSets {
		return sets, ""
	}
	return sets[:maxSets], fmt.Sprintf(" Only the first %d of %d data sets are shown.", maxSets, len(sets))
}

// metricTitle is the full name of a metric.
func metricTitle(m benchmark.Metric) string {
	if m == benchmark.Q95 || m == benchmark.Q99 {
		return m.String() + " quantile"
	}
	return m.String()
}

// fileWord is the name of a metric in a file name.
func fileWord(m benchmark.Metric) string {
	return map[benchmark.Metric]string{benchmark.MAE: "mae", benchmark.RMSE: "rmse", benchmark.Q95: "q95",
		benchmark.Q99: "q99", benchmark.MaxE: "maxe"}[m]
}

// correlation plots each pair of methods against each other: one mark per data
// set at their mean log errors minus that of random selection. It returns nil
// with fewer than two methods besides random.
func correlation(v view, random string, m benchmark.Metric) *Figure {
	var methods []string
	for _, method := range v.shown {
		if method != random {
			methods = append(methods, method)
		}
	}
	compared := append(slices.Clone(methods), random)
	all := v.Study
	v.Study = all.OnCommonSplits(compared...)
	sets := v.Common(compared...)
	if len(methods) < 2 || len(sets) == 0 {
		return nil
	}
	f := &Figure{Name: v.name + "-correlation-" + fileWord(m), Columns: len(methods) - 1, Width: 100,
		Height: 100, Order: sets,
		Title: fmt.Sprintf("Mean log %v minus that of random selection, method against method: %s", m,
			settingTitle(v.Setting)),
		Note: meanRunsNote(v.Study, compared, sets) + unusedRunsNote(all, v.Study, compared, sets) +
			" Left of the vertical dashed line, the method on the x axis beats random selection; below the horizontal one, " +
			"the method on the y axis does. Below the diagonal, the method on the y axis is the better of the two."}
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
	var shown squareRange // always contains zero
	for _, set := range sets {
		mark := Mark{Name: set, Tip: set, X: v.Difference(benchmark.MeanLog(m), x, random, set).Value,
			Y: v.Difference(benchmark.MeanLog(m), y, random, set).Value}
		p.Marks = append(p.Marks, mark)
		if !math.IsNaN(mark.X + mark.Y) {
			shown = squareRange{min(shown.low, mark.X, mark.Y), max(shown.high, mark.X, mark.Y)}
		}
	}
	p.more = []plot.Plotter{shown, rule{slope: 1}, rule{dash: dashed}, rule{vertical: true, dash: dashed}}
	return p
}

// errorVariation plots the gain of the paper's method over random selection
// against how unevenly errors are spread at the start.
func errorVariation(v view, method, random string) *Figure {
	e := v.ErrorVariation(method, random)
	name := methodTitle(method)
	p := Panel{XLabel: "mean log RMSE - mean log MAE before the first batch", YLabel: "improvement in sample efficiency"}
	for i, set := range e.DataSets {
		p.Marks = append(p.Marks, Mark{Name: set, Tip: set, X: e.X[i], Y: e.Y[i], Labelled: true})
	}
	note := fmt.Sprintf("%s and random selection, %s.", name, words.Count(e.Runs, "run", "runs"))
	if len(e.DataSets) > 2 && !math.IsNaN(e.R) {
		p.more = []plot.Plotter{rule{at: e.Intercept, slope: e.Slope, dash: dashed}}
		note += fmt.Sprintf(" Line: least-squares fit y = %.2f x %+.2f; correlation R = %.2f over %d data sets.", e.Slope,
			e.Intercept, e.R, len(e.DataSets))
	} else {
		note += " Too few data sets for a line."
	}
	return &Figure{Name: v.name + "-error-variation", Title: fmt.Sprintf("Gain of %s by variation of the errors: %s", name,
		settingTitle(v.Setting)),
		Note: note +
			" Improvement: (mean log RMSE of the method minus that of random selection) / (mean log RMSE of random selection " +
			"minus that before the first batch).", Panels: []Panel{p}}
}
