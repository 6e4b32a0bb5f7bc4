package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/spec"
)

// Benchmark builds the report on benchmark results: a section per setting (that
// is, activation function, batch size and number of batches), one on batch sizes,
// and a picture of LCMD. With paper, it sets our numbers beside the paper's.
// Planned runs that are missing are listed, and tables and figures do without
// them; without a plan, every combination of the methods, data sets and splits in
// the results counts as planned.
func Benchmark(results benchmark.Results, planned []benchmark.Run, paper bool) (*Page, error) {
	if len(results) == 0 {
		return nil, errors.New("there are no results yet")
	}
	studies := benchmark.NewStudies(results, planned)
	page := &Page{Title: "Benchmark of batch active learning methods"}
	finished := 0
	for _, s := range studies {
		for _, m := range s.Methods {
			finished += s.Runs(m, s.DataSets...)
		}
		page.Sections = append(page.Sections, studySection(newView(s), paper))
	}
	for _, g := range newSchedules(studies) {
		page.Sections = append(page.Sections, Section{Title: "Batch sizes: " + g.title(), Figures: g.figures()})
	}
	page.Sections = append(page.Sections, Section{Title: "How LCMD picks", Figures: []*Figure{lcmdSteps()}})
	page.Intro = []string{fmt.Sprintf("%s of %s.", words.Count(finished, "complete run", "complete runs"),
		words.Count(countRuns(results, planned), "run started or planned", "runs started or planned"))}
	return page, nil
}

func countRuns(results benchmark.Results, planned []benchmark.Run) int {
	runs := map[benchmark.Run]bool{}
	for _, r := range planned {
		runs[r] = true
	}
	for _, r := range results {
		runs[r.Run] = true
	}
	return len(runs)
}

func studySection(v view, paper bool) Section {
	s := Section{Title: settingTitle(v.Setting)}
	if gaps := gapTable(v); gaps != nil {
		s.Tables = append(s.Tables, gaps)
	}
	if len(v.shown) == 0 {
		s.Text = append(s.Text, "No run of this setting is complete yet.")
		return s
	}
	s.Tables = append(s.Tables, allMethods(v),
		byDataSet(v, "mean-rmse", "RMSE, mean over rounds", benchmark.MeanOf(benchmark.RMSE)),
		byDataSet(v, "last-rmse", "RMSE after the last batch", benchmark.Last(benchmark.RMSE)))
	if t := byTarget(v, "targets-mean-rmse", "RMSE of each target, mean over rounds",
		benchmark.MeanOf(benchmark.RMSE)); t != nil {
		s.Tables = append(s.Tables, t, byTarget(v, "targets-last-rmse", "RMSE of each target after the last batch",
			benchmark.Last(benchmark.RMSE)))
	}
	s.Figures = append(s.Figures, averageCurve(v), learningCurves(v))
	if len(v.DataSets) > 1 { // of a single one, the table of all methods and the curves above show the same
		s.Tables = append(s.Tables, byDataSet(v, "mean-log-rmse", "Mean log RMSE", benchmark.MeanLog(benchmark.RMSE)))
		s.Figures = append(s.Figures, curvesBySet(v, benchmark.RMSE), curvesBySet(v, benchmark.Q99))
	}
	if methods, names := literatureIn(v.Study); methods != nil {
		s.Tables = append(s.Tables, literatureTable(v, methods, names))
		s.Figures = append(s.Figures, literatureCurve(v, methods, names))
	}
	if t := minusRandom(v); len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	if t := minusNetwork(v); len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	s.Text = append(s.Text, bestReductions(v)...)
	if random, ok := v.random(); ok {
		v.addComparisons(&s, random)
	}
	s.Tables = append(s.Tables, costs(v))
	if paper {
		s.addPaper(v)
	}
	return s
}

// addComparisons adds the figures that compare with random selection.
func (v view) addComparisons(s *Section, random string) {
	if len(v.DataSets) == 1 { // what follows compares data sets
		return
	}
	for _, m := range []benchmark.Metric{benchmark.RMSE, benchmark.MaxE} {
		if f := correlation(v, random, m); f != nil {
			s.Figures = append(s.Figures, f)
		}
	}
	if method, ok := v.Find(spec.Default); ok && len(v.OnCommonSplits(method, random).Common(method, random)) > 0 {
		s.Figures = append(s.Figures, errorVariation(v, method, random))
	}
}

func (s *Section) addPaper(v view) {
	tables := paperTables(v)
	if len(tables) == 0 {
		s.Text = append(s.Text,
			"The paper has no numbers for this setting: its tables cover 16 batches of 256 rows, with its own methods and "+
				"data sets.")
	}
	s.Tables = append(s.Tables, tables...)
}

// MarkStandIns marks the data sets that are not those of the paper, also beside the
// paper's numbers.
func (p *Page) MarkStandIns(names []string, results benchmark.Results) {
	for _, name := range names {
		if !slices.ContainsFunc(results, func(r benchmark.Round) bool { return r.DataSet == name }) {
			continue
		}
		text := name + " is a stand-in for the paper's data set; its errors cannot be compared with the paper's."
		p.Intro = append(p.Intro, text)
		for _, t := range p.AllTables() {
			if t.IsComparison() {
				t.Note += " " + text
			}
		}
	}
}

// IsComparison reports whether a table has the paper's numbers.
func (t *Table) IsComparison() bool { return strings.Contains(t.Name, "-paper-") }

// AllTables lists the tables of all sections.
func (p *Page) AllTables() (tables []*Table) {
	for _, s := range p.Sections {
		tables = append(tables, s.Tables...)
	}
	return tables
}
