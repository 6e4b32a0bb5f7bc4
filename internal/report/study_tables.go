package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
)

// methodCells names a method and its kernel, marked compat if only some methods
// of the study are.
func (v view) methodCells(method string) []Cell {
	kernel, formula := kernelTitle(method), kernelLaTeX(method)
	if v.mixed {
		kernel, formula = kernel+compatWord(method), formula+compatWord(method)
	}
	word := learnerWord(method, v.learners)
	return []Cell{typeset(word+methodTitle(method), word+methodLaTeX(method)), typeset(kernel, formula)}
}

var methodColumns = []Heading{{Head: "Selection method"}, {Head: "Kernel"}}

// allMethods is the paper's table of all methods: mean log metrics and time.
func allMethods(v view) *Table {
	methods := v.Finished()
	all := v.Study
	v.Study = all.OnCommonSplits(methods...)
	sets := v.Common(methods...)
	t := &Table{Name: v.name + "-all-methods", Title: "Mean log errors of all methods: " + settingTitle(v.Setting),
		Columns: slices.Clone(methodColumns)}
	for _, m := range benchmark.AllMetrics() {
		t.Columns = append(t.Columns, Heading{Head: m.String()})
	}
	t.Columns = append(t.Columns, Heading{"avg. time [s]", `avg.\ time [$s$]`},
		Heading{Head: "RMSE std. err."}, Heading{Head: "runs"})
	v.sortByRMSE(methods, sets)
	for i, m := range methods {
		row := Row{Cells: v.methodCells(m), Rule: i > 0 && family(m) != family(methods[i-1])}
		for _, metric := range benchmark.AllMetrics() {
			row.Cells = append(row.Cells, Number(v.Mean(benchmark.MeanLog(metric), m, sets...).Value, 3))
		}
		row.Cells = append(row.Cells, Number(v.Mean(benchmark.PickSeconds(), m, sets...).Value, 3),
			Number(v.Mean(benchmark.MeanLog(benchmark.RMSE), m, sets...).StdErr, 4), Count(v.Runs(m, sets...)))
		t.Rows = append(t.Rows, row)
	}
	for i := range benchmark.AllMetrics() {
		t.boldColumn(2 + i)
	}
	t.Note = meanRunsNote(v.Study, methods, sets) + unusedRunsNote(all, v.Study, methods, sets) +
		" Logarithms are averaged over rounds (without the start), splits and data sets. The time is that of selecting one " +
		"batch, including features."
	return t
}

// sortByRMSE sorts methods by family, then by mean log RMSE.
func (v view) sortByRMSE(methods, sets []string) {
	rmse := map[string]float64{}
	for _, m := range methods {
		rmse[m] = v.Mean(benchmark.MeanLog(benchmark.RMSE), m, sets...).Value
	}
	slices.SortStableFunc(methods, func(a, b string) int {
		return cmp.Or(family(a)-family(b), cmp.Compare(rmse[a], rmse[b]))
	})
}

// boldColumn makes the smallest numbers of a column bold.
func (t *Table) boldColumn(column int) {
	var cells []*Cell
	for i := range t.Rows {
		cells = append(cells, &t.Rows[i].Cells[column])
	}
	boldBest(cells)
}

// byDataSet is a table with one row per data set and one column per method shown.
func byDataSet(v view, name, title string, of benchmark.Statistic) *Table {
	var lines []line
	for _, set := range v.DataSets {
		lines = append(lines, line{[]Cell{Text(set)}, set, of})
	}
	return compareMethods(v, name, title, []Heading{{Head: "Data set"}}, lines)
}

// byTarget is a table with one row per target of the data sets that have several; it is nil
// if none has.
func byTarget(v view, name, title string, of benchmark.Statistic) *Table {
	var lines []line
	for _, set := range v.DataSets {
		for k, target := range v.Targets(set) {
			lines = append(lines, line{[]Cell{Text(set), Text(target)}, set, benchmark.OfTarget(k, of)})
		}
	}
	if lines == nil {
		return nil
	}
	t := compareMethods(v, name, title, []Heading{{Head: "Data set"}, {Head: "Target"}}, lines)
	t.Note += " Errors are in units of the deviation of each target."
	return t
}

// line is a row of a table that compares methods: a statistic of their runs on a data set.
type line struct {
	names []Cell
	set   string
	of    benchmark.Statistic
}

// compareMethods is a table with one column per method shown.
func compareMethods(v view, name, title string, names []Heading, lines []line) *Table {
	t := &Table{Name: v.name + "-" + name, Title: title + ": " + settingTitle(v.Setting), Columns: names}
	for _, m := range v.shown {
		head := Heading{Head: v.names[m]}
		if head.Head == methodTitle(m) {
			head.LaTeX = methodLaTeX(m)
		}
		t.Columns = append(t.Columns, head)
	}
	t.Columns = append(t.Columns, Heading{Head: "runs"})
	var sets []string
	for _, l := range lines {
		sets = append(sets, l.set)
		row := Row{Cells: l.names}
		runs := 0
		var best []*Cell
		for _, m := range v.shown {
			row.Cells = append(row.Cells, Number(v.fair.Mean(l.of, m, l.set).Value, 3))
			runs += v.fair.Runs(m, l.set)
		}
		for i := range v.shown {
			best = append(best, &row.Cells[len(names)+i])
		}
		boldBest(best)
		row.Cells = append(row.Cells, Count(runs))
		t.Rows = append(t.Rows, row)
	}
	sets = slices.Compact(sets) // the lines of a data set are consecutive
	t.Note = runsNote(v.fair, v.shown, sets) + unusedRunsNote(v.Study, v.fair, v.shown, sets)
	if len(v.shown) < len(v.Finished()) {
		t.Note += fmt.Sprintf(" %d of %d methods are shown.", len(v.shown), len(v.Finished()))
	}
	return t
}

// minusRandom compares methods with random selection on the same splits, with the same learner.
func minusRandom(v view) *Table {
	t := minusOther(v, v.ownRandom)
	t.Name, t.Title = v.name+"-less-random", "Errors compared with random selection: "+settingTitle(v.Setting)
	t.Note += "The reduction is that of the geometric mean of the errors; a negative one means larger errors than with " +
		"random selection."
	if v.learners {
		t.Note += " Each method is compared with random selection with the same learner."
	}
	return t
}

// minusNetwork compares learners with a network alone, on the same splits and with the same method.
func minusNetwork(v view) *Table {
	t := minusOther(v, v.withNetwork)
	t.Name, t.Title = v.name+"-less-network", "Errors compared with a network and the same method: "+
		settingTitle(v.Setting)
	t.Note += "The reduction is that of the geometric mean of the errors; a negative one means larger errors than with " +
		"a network."
	return t
}

// minusOther compares each method with another, if there is one, on the same splits.
func minusOther(v view, otherOf func(method string) string) *Table {
	t := &Table{Columns: slices.Clone(methodColumns)}
	several := len(v.DataSets) > 1
	for _, m := range []benchmark.Metric{benchmark.RMSE, benchmark.MaxE} {
		t.Columns = append(t.Columns, Heading{Head: m.String() + " reduction [%]"},
			Heading{Head: "log " + m.String() + " difference"}, Heading{Head: "std. err."})
		if several {
			t.Columns = append(t.Columns, Heading{Head: "better on"})
		}
	}
	if several {
		t.Columns = append(t.Columns, Heading{Head: "data sets"})
	}
	t.Columns = append(t.Columns, Heading{Head: "runs"})
	for _, method := range v.Finished() {
		other := otherOf(method)
		sets := v.OnCommonSplits(method, other).Common(method, other)
		if method == other || len(sets) == 0 {
			continue
		}
		row := Row{Cells: v.methodCells(method)}
		runs := 0
		for _, m := range []benchmark.Metric{benchmark.RMSE, benchmark.MaxE} {
			d := v.Difference(benchmark.MeanLog(m), method, other, sets...)
			better := 0
			for _, set := range sets {
				if v.Difference(benchmark.MeanLog(m), method, other, set).Value < 0 {
					better++
				}
			}
			row.Cells = append(row.Cells, Number(reduction(d.Value), 1), Number(d.Value, 3), Number(d.StdErr, 4))
			if several {
				row.Cells = append(row.Cells, Count(better))
			}
			runs = d.Runs
		}
		if several {
			row.Cells = append(row.Cells, Count(len(sets)))
		}
		row.Cells = append(row.Cells, Count(runs))
		t.Rows = append(t.Rows, row)
	}
	t.Note = "Differences of the mean log errors on the same splits, over the data sets where both have runs; the runs " +
		"column counts pairs. "
	return t
}

// reduction turns a difference of log errors into the percentage by which the error
// is smaller.
func reduction(difference float64) float64 { return -100 * math.Expm1(difference) }

// bestReductions describes, for each learner, how much smaller the errors of the best method are than
// those of random selection, where there is something to compare.
func bestReductions(v view) (texts []string) {
	for _, kind := range learner.Kinds() {
		if text := bestReduction(v, kind); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

func bestReduction(v view, kind learner.Kind) string {
	best, lowest, sets := "", math.Inf(1), 0
	for _, method := range v.Finished() {
		random := v.ownRandom(method)
		common := v.OnCommonSplits(method, random).Common(method, random)
		if of, _ := benchmark.SplitSpec(method); of != kind || method == random || len(common) == 0 {
			continue
		}
		if d := v.Difference(benchmark.MeanLog(benchmark.RMSE), method, random, common...).Value; d < lowest {
			best, lowest, sets = method, d, len(common)
		}
	}
	if best == "" {
		return ""
	}
	where := v.DataSets[0]
	if len(v.DataSets) > 1 {
		where = words.Count(sets, "data set", "data sets")
	}
	how := fmt.Sprintf("%.1f %% lower", reduction(lowest))
	if lowest > 0 {
		how = fmt.Sprintf("%.1f %% higher", -reduction(lowest))
	}
	of := ""
	if v.learners {
		of = fmt.Sprintf(" with learner %s", kind)
	}
	name, mode := titleParts(best)
	return fmt.Sprintf("The method with the lowest RMSE%s is %s (%s): %s than random selection, averaged over the "+
		"rounds and splits of %s.",
		of, name+mode, kernelTitle(best), how, where)
}

// costs shows where the time of a run goes, and what else was measured.
func costs(v view) *Table {
	t := &Table{Name: v.name + "-costs", Title: "Seconds per run: " + settingTitle(v.Setting),
		Columns: slices.Clone(methodColumns)}
	parts := []struct {
		head string
		of   func(benchmark.Round) float64
	}{
		{"training", func(r benchmark.Round) float64 { return r.Training }},
		{"features", func(r benchmark.Round) float64 { return r.Features }},
		{"selection", func(r benchmark.Round) float64 { return r.Selection }},
		{"testing", func(r benchmark.Round) float64 { return r.Testing }},
	}
	for _, p := range parts {
		t.Columns = append(t.Columns, Heading{Head: p.head})
	}
	for _, head := range []string{"in all", "rest [%]", "effective dimension", "random fill-ups", "runs"} {
		t.Columns = append(t.Columns, Heading{Head: head})
	}
	for _, m := range v.Finished() {
		sets := v.Common(m)
		row := Row{Cells: v.methodCells(m)}
		known := 0.0
		for _, p := range parts {
			mean := v.Mean(benchmark.SumOf(p.of), m, sets...).Value
			known += mean
			row.Cells = append(row.Cells, Number(mean, 1))
		}
		all := v.Mean(benchmark.SumOf(func(r benchmark.Round) float64 { return r.Elapsed }), m, sets...).Value
		row.Cells = append(row.Cells, Number(all, 1), Number(100*(all-known)/all, 1),
			Number(v.Mean(benchmark.EffectiveDimension(), m, sets...).Value, 1),
			Number(v.Mean(benchmark.SumOf(func(r benchmark.Round) float64 { return float64(r.Fallbacks) }), m, sets...).Value,
				1),
			Count(v.Runs(m, sets...)))
		t.Rows = append(t.Rows, row)
	}
	t.Note = "Means over runs, each method on the data sets where it has runs. The effective dimension is that of the " +
		"kernel, averaged over rounds; random fill-ups counts the rows of a run for which the method fell back to random " +
		"selection."
	return t
}

// gapTable lists the missing runs; it is nil if there are none.
func gapTable(v view) *Table {
	if len(v.Gaps) == 0 {
		return nil
	}
	t := &Table{Name: v.name + "-missing", Title: "Missing runs: " + settingTitle(v.Setting),
		Columns: slices.Concat([]Heading{{Head: "Data set"}}, methodColumns,
			[]Heading{{Head: "missing splits"}, {Head: "missing"}, {Head: "of"}})}
	total := 0
	for _, g := range v.Gaps {
		cells := append([]Cell{Text(g.DataSet)}, v.methodCells(g.Method)...)
		t.Rows = append(t.Rows, Row{Cells: append(cells, Text(splitList(g.Splits)), Count(len(g.Splits)), Count(g.Planned))})
		total += len(g.Splits)
	}
	t.Note = fmt.Sprintf("%s missing or incomplete. Runs that lack a round are ignored everywhere.",
		words.Count(total, "run of this setting is", "runs of this setting are"))
	return t
}

// splitList writes ascending numbers, with ranges as first-last.
func splitList(splits []int) string {
	var parts []string
	for i := 0; i < len(splits); {
		j := i
		for j+1 < len(splits) && splits[j+1] == splits[j]+1 {
			j++
		}
		part := strconv.Itoa(splits[i])
		if j > i {
			part += "-" + strconv.Itoa(splits[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
