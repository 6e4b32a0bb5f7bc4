package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Figures over batch sizes: the same number of rows labelled in a few large
// batches or in many small ones. Random selection does not depend on the batch
// size; it is a constant line, taken from one of the schedules.

// schedules groups studies that end with the same number of labelled rows, in the
// order of their batch sizes.
type schedules struct {
	studies []*benchmark.Study
	methods []string // with runs in at least two of the studies
	names   map[string]string

	random      string           // the method of random selection; may be empty
	randomStudy *benchmark.Study // where its runs come from; may be nil

	unused int // complete runs of splits that others lack
}

// newSchedules groups studies and drops groups with a single batch size.
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

// choose finds the methods to show, and takes random selection from the schedule
// whose batch size is closest to that of the paper's tables.
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
		if ok && s.Runs(random, s.DataSets...) > 0 && (g.randomStudy == nil || distance(s) < distance(g.randomStudy)) {
			g.random, g.randomStudy = random, s
		}
	}
	g.methods = slices.DeleteFunc(all, func(m string) bool { return count[m] < 2 || m == g.random })
	slices.SortStableFunc(g.methods, func(a, b string) int { return family(a) - family(b) })
	g.names = shortNames(slices.Concat([]string{g.random}, g.methods))
	g.restrict()
}

// restrict keeps the runs that can be compared: on each data set, the splits that
// all methods have at all batch sizes.
func (g *schedules) restrict() {
	random := slices.Index(g.studies, g.randomStudy)
	before := g.runs()
	for i, s := range g.studies {
		g.studies[i] = s.OnCommonSplits(g.methodsOf(s)...)
	}
	for i := range g.studies {
		for _, other := range g.studies {
			g.studies[i] = g.studies[i].OnSplitsOf(other)
		}
	}
	if random >= 0 {
		g.randomStudy = g.studies[random]
	}
	g.unused = before - g.runs()
}

// runs counts the runs of the methods to show.
func (g *schedules) runs() (n int) {
	for _, s := range g.studies {
		for _, m := range g.methodsOf(s) {
			n += s.Runs(m, s.DataSets...)
		}
	}
	return n
}

// distance is how far a batch size is from that of the paper's tables.
func distance(s *benchmark.Study) float64 {
	return math.Abs(math.Log(float64(s.BatchSize) / float64(benchmark.PaperSetting("").BatchSize)))
}

// sets lists the data sets on which, in every study, all of its methods have runs.
func (g schedules) sets() (sets []string) {
	for i, s := range g.studies {
		common := s.Common(g.methodsOf(s)...)
		if i == 0 {
			sets = common
		}
		sets = slices.DeleteFunc(sets, func(set string) bool { return !slices.Contains(common, set) })
	}
	return sets
}

// methodsOf lists the methods to show that have runs in a study.
func (g schedules) methodsOf(s *benchmark.Study) (methods []string) {
	for _, m := range g.methods {
		if s.Runs(m, s.DataSets...) > 0 {
			methods = append(methods, m)
		}
	}
	if s == g.randomStudy {
		methods = append(methods, g.random)
	}
	return methods
}

func (g schedules) panel(m benchmark.Metric, sets ...string) Panel {
	p := Panel{XLabel: "batch size", YLabel: "last mean log " + m.String(), X: Log2}
	last := func(s *benchmark.Study, method string) benchmark.Mean {
		return s.Mean(benchmark.LogAt(m, s.Rounds), method, sets...)
	}
	if g.randomStudy != nil {
		c := Curve{Name: g.names[g.random]}
		for _, s := range g.studies {
			c.add(float64(s.BatchSize), last(g.randomStudy, g.random))
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
	if g.randomStudy != nil {
		shown = append([]string{g.random}, shown...)
	}
	s := g.studies[0]
	return &Figure{Name: fmt.Sprintf("%s-%d-rows-%s", fileName(s.Activation), s.BatchSize*s.Rounds, name),
		Title:   title + ": " + g.title(),
		Columns: 3, Order: styleOrder(shown, g.names)}
}

// note states how many runs a figure is based on.
func (g schedules) note(sets []string) string {
	runs := 0
	for _, s := range g.studies {
		for _, m := range g.methodsOf(s) {
			runs += s.Runs(m, sets...)
		}
	}
	return fmt.Sprintf("%s on %s, %s.", words.Count(runs, "run", "runs"), words.Count(len(sets), "data set", "data sets"),
		words.Count(len(g.studies), "batch size",
			"batch sizes")) + g.randomNote() + g.unusedNote() + bandNote(g.studies[0].Splits)
}

func (g schedules) unusedNote() string {
	if g.unused == 0 {
		return ""
	}
	return fmt.Sprintf(" Only splits that all of them share count: %s left out.",
		words.Count(g.unused, "complete run of another split is", "complete runs of other splits are"))
}

func (g schedules) randomNote() string {
	if g.randomStudy == nil {
		return " There are no runs of random selection."
	}
	return fmt.Sprintf(" Random selection: the runs with batches of %d.", g.randomStudy.BatchSize)
}

// figures plots all metrics, averaged over data sets, and the RMSE on each data
// set.
func (g schedules) figures() []*Figure {
	average, bySet := g.figure("batch-sizes", "Errors after the last batch"),
		g.figure("batch-sizes-sets-rmse", "RMSE after the last batch by data set")
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
	average.Note, bySet.Note = g.note(sets), g.note(all)+note
	bySet.Columns = setColumns(len(all))
	return []*Figure{average, bySet}
}
