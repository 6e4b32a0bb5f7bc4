package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/benchmark"
)

// Figures over batch sizes: the same number of rows labelled in few large batches
// or in many small ones. Random rows do not depend on the size of a batch; they
// are a constant line, from one of the schedules.

// schedules are studies that end with the same number of labelled rows, in the
// order of their batch sizes.
type schedules struct {
	studies []*benchmark.Study
	methods []string // with runs in at least two of them
	random  string   // or nothing
	steady  *benchmark.Study
	names   map[string]string

	uncounted int // complete runs of splits that others lack
}

// newSchedules groups studies, and leaves out groups with a single batch size.
func newSchedules(studies []*benchmark.Study) (list []schedules) {
	type key struct {
		activation string
		rows       int
	}
	groups, order := map[key][]*benchmark.Study{}, []key{}
	for _, s := range studies {
		k := key{s.Activation, s.BatchSize * s.Rounds}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], s)
	}
	for _, k := range order {
		group := schedules{studies: groups[k]}
		slices.SortFunc(group.studies, func(a, b *benchmark.Study) int { return a.BatchSize - b.BatchSize })
		if group.choose(); len(group.methods) > 0 {
			list = append(list, group)
		}
	}
	return list
}

// choose finds the methods to show, and the schedule of random rows: with the
// batch size of the paper's tables, or near it.
func (g *schedules) choose() {
	count := map[string]int{}
	var all []string
	for _, s := range g.studies {
		for _, m := range shownMethods(s) {
			if count[m]++; count[m] == 1 {
				all = append(all, m)
			}
		}
		random, ok := s.Find("random")
		if ok && s.Runs(random, s.DataSets...) > 0 && (g.steady == nil || distance(s) < distance(g.steady)) {
			g.random, g.steady = random, s
		}
	}
	g.methods = slices.DeleteFunc(all, func(m string) bool { return count[m] < 2 || m == g.random })
	slices.SortStableFunc(g.methods, func(a, b string) int { return family(a) - family(b) })
	g.names = shortNames(slices.Concat([]string{g.random}, g.methods))
	g.restrict()
}

// restrict leaves the runs that can be compared: on each data set, the splits
// that all methods have with all batch sizes.
func (g *schedules) restrict() {
	steady := slices.Index(g.studies, g.steady)
	before := g.runs()
	for i, s := range g.studies {
		g.studies[i] = s.Together(g.in(s)...)
	}
	for i := range g.studies {
		for _, other := range g.studies {
			g.studies[i] = g.studies[i].Within(other)
		}
	}
	if steady >= 0 {
		g.steady = g.studies[steady]
	}
	g.uncounted = before - g.runs()
}

// runs counts those of the methods to show.
func (g *schedules) runs() (n int) {
	for _, s := range g.studies {
		for _, m := range g.in(s) {
			n += s.Runs(m, s.DataSets...)
		}
	}
	return n
}

func distance(s *benchmark.Study) float64 {
	return math.Abs(math.Log(float64(s.BatchSize) / float64(benchmark.PaperSetting("").BatchSize)))
}

// sets are those on which every method that a study has, has runs there.
func (g schedules) sets() (sets []string) {
	for i, s := range g.studies {
		common := s.Common(g.in(s)...)
		if i == 0 {
			sets = common
		}
		sets = slices.DeleteFunc(sets, func(set string) bool { return !slices.Contains(common, set) })
	}
	return sets
}

// in lists the methods that a study has runs of.
func (g schedules) in(s *benchmark.Study) (methods []string) {
	for _, m := range g.methods {
		if s.Runs(m, s.DataSets...) > 0 {
			methods = append(methods, m)
		}
	}
	if s == g.steady {
		methods = append(methods, g.random)
	}
	return methods
}

func (g schedules) panel(m benchmark.Metric, sets ...string) Panel {
	p := Panel{XLabel: "batch size", YLabel: "last mean log " + m.String(), X: Log2}
	last := func(s *benchmark.Study, method string) benchmark.Mean {
		return s.Mean(benchmark.LogAt(m, s.Rounds), method, sets...)
	}
	if g.steady != nil {
		c := Curve{Name: g.names[g.random]}
		for _, s := range g.studies {
			c.add(float64(s.BatchSize), last(g.steady, g.random))
		}
		p.Curves = append(p.Curves, c)
	}
	for _, method := range g.methods {
		c := Curve{Name: g.names[method]}
		for _, s := range g.studies {
			c.add(float64(s.BatchSize), last(s, method))
		}
		p.Curves = append(p.Curves, c)
	}
	return p
}

func (g schedules) title() string {
	s := g.studies[0]
	return fmt.Sprintf("%s, %d rows in all", activationTitle(s.Activation), s.BatchSize*s.Rounds)
}

func (g schedules) figure(name, title string) *Figure {
	shown := g.methods
	if g.steady != nil {
		shown = append([]string{g.random}, shown...)
	}
	s := g.studies[0]
	return &Figure{Name: fmt.Sprintf("%s-%d-rows-%s", fileName(s.Activation), s.BatchSize*s.Rounds, name), Title: title + ": " + g.title(),
		Columns: 3, Order: styleOrder(shown, g.names)}
}

// behind counts the runs.
func (g schedules) behind(sets []string) string {
	runs := 0
	for _, s := range g.studies {
		for _, m := range g.in(s) {
			runs += s.Runs(m, sets...)
		}
	}
	return fmt.Sprintf("%s on %s, %s. Random rows: the runs with batches of %s.",
		plural(runs, "run", "runs"), plural(len(sets), "data set", "data sets"), plural(len(g.studies), "batch size", "batch sizes"), g.steadyText()) + g.leftOut() + shaded(g.studies[0].Splits)
}

func (g schedules) leftOut() string {
	if g.uncounted == 0 {
		return ""
	}
	return fmt.Sprintf(" Only splits that all have count: %s left out.", plural(g.uncounted, "complete run of another split is", "complete runs of other splits are"))
}

func (g schedules) steadyText() string {
	if g.steady == nil {
		return "no size"
	}
	return fmt.Sprint(g.steady.BatchSize)
}

// figures are those of all metrics, averaged over data sets, and of the RMSE on
// each data set.
func (g schedules) figures() []*Figure {
	average, bySet := g.figure("batch-sizes", "Errors after the last batch"), g.figure("batch-sizes-sets-rmse", "RMSE after the last batch by data set")
	sets := g.sets()
	for _, m := range benchmark.AllMetrics() {
		p := g.panel(m, sets...)
		p.Title = metricTitle(m)
		average.Panels = append(average.Panels, p)
	}
	var all []string
	for _, s := range g.studies {
		for _, set := range s.DataSets {
			if !slices.Contains(all, set) {
				all = append(all, set)
			}
		}
	}
	slices.Sort(all)
	drawn, note := firstSets(all)
	for _, set := range drawn {
		p := g.panel(benchmark.RMSE, set)
		p.Title = set
		bySet.Panels = append(bySet.Panels, p)
	}
	average.Note, bySet.Note = g.behind(sets), g.behind(all)+note
	bySet.Columns = setColumns(len(all))
	return []*Figure{average, bySet}
}
