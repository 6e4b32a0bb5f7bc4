package benchmark_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/spec"
)

// goldenAnalysis is analysis.json: made-up results in the layout of the published
// code, and what that code computes from them.
type goldenAnalysis struct {
	Results map[string]map[string][]struct {
		Errors map[string][]float64
		Stats  []struct {
			Kernel    struct{ Total float64 } `json:"kernel_time"`
			Selection struct{ Total float64 } `json:"selection_time"`
		} `json:"al_stats"`
	}
	Expected map[string]map[string]struct {
		MeanLog    float64            `json:"mean_log_over_tasks"`
		LastLog    float64            `json:"last_log_over_tasks"`
		PerSet     map[string]float64 `json:"per_task_mean_log"`
		Curve      []float64          `json:"learning_curve_mean"`
		CurveError []float64          `json:"learning_curve_stderr"`
		Printed    float64            `json:"print_avg_results_stderr"`
	}
	Seconds map[string]float64 `json:"avg_time_split9"`
}

func (g goldenAnalysis) rounds() (results benchmark.Results) {
	for id, sets := range g.Results {
		spec := spec.MustParse(id)
		spec.Compat = false
		for set, splits := range sets {
			for split, run := range splits {
				for i, rmse := range run.Errors["rmse"] {
					r := benchmark.Round{Round: i, Labels: 256 * (i + 1)}
					r.Run = benchmark.Run{DataSet: strings.TrimSuffix(set, "_256x16"), Activation: "relu",
						Spec: spec.String(), Compat: true,
						BatchSize: 256, Rounds: 16, Split: split}
					r.Test = stats.Metrics{MAE: run.Errors["mae"][i], RMSE: rmse, Q95: run.Errors["q95"][i],
						Q99: run.Errors["q99"][i], MaxE: run.Errors["maxe"][i]}
					if i < len(run.Stats) {
						r.Features, r.Selection = run.Stats[i].Kernel.Total, run.Stats[i].Selection.Total
					}
					results = append(results, r)
				}
			}
		}
	}
	return results
}

func closeTo(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestAnalysisMatchesThePublishedCode(t *testing.T) {
	t.Parallel()
	var g goldenAnalysis
	golden.JSON(t, "analysis/analysis.json", &g)
	studies := benchmark.NewStudies(g.rounds(), nil)
	if len(studies) != 1 || len(studies[0].Methods) != 6 || len(studies[0].Gaps) != 0 {
		t.Fatalf("%d studies", len(studies))
	}
	s := studies[0]
	for _, m := range benchmark.AllMetrics() {
		name := map[benchmark.Metric]string{benchmark.MAE: "mae", benchmark.RMSE: "rmse", benchmark.Q95: "q95",
			benchmark.Q99: "q99", benchmark.MaxE: "maxe"}[m]
		if len(g.Expected[name]) != 6 {
			t.Fatalf("no numbers for %s", name)
		}
		for id, want := range g.Expected[name] {
			method, what := spec.MustParse(id).String(), id+" "+name
			mean := s.Mean(benchmark.MeanLog(m), method, s.DataSets...)
			closeTo(t, what, mean.Value, want.MeanLog)
			// That code prints the deviation with divisor n, not n − 1.
			closeTo(t, what+" error", mean.StdErr*math.Sqrt(11.0/12), want.Printed)
			if mean.Runs != 48 || mean.Sets != 4 {
				t.Errorf("%s: %d runs, %d sets", what, mean.Runs, mean.Sets)
			}
			closeTo(t, what+" last", s.Mean(benchmark.LogAt(m, 16), method, s.DataSets...).Value, want.LastLog)
			for set, v := range want.PerSet {
				closeTo(t, what+" "+set, s.Mean(benchmark.MeanLog(m), method, strings.TrimSuffix(set, "_256x16")).Value, v)
			}
			for i, point := range s.Curve(m, method, s.DataSets...) {
				closeTo(t, what+" curve", point.Value, want.Curve[i])
				closeTo(t, what+" curve error", point.StdErr, want.CurveError[i])
			}
		}
	}
	var tenth benchmark.Results // the split that the published code takes the times from
	for _, r := range g.rounds() {
		if r.Split == 9 {
			tenth = append(tenth, r)
		}
	}
	timed := benchmark.NewStudies(tenth, nil)[0]
	for id, want := range g.Seconds {
		closeTo(t, id+" seconds", timed.Mean(benchmark.PickSeconds(), spec.MustParse(id).String(), s.DataSets...).Value, want)
	}
}

// makeRun makes a run whose RMSE is start·fall^round, and whose MAE is half of it.
func makeRun(set, spec string, split int, start, fall float64) (rounds benchmark.Results) {
	for i := range 5 {
		r := benchmark.Round{Round: i, Labels: 256 + 1024*i}
		r.Run = benchmark.Run{DataSet: set, Activation: "relu", Spec: spec, BatchSize: 1024, Rounds: 4, Split: split}
		v := start * math.Pow(fall, float64(i))
		r.Test = stats.Metrics{MAE: v / 2, RMSE: v, Q95: 2 * v, Q99: 3 * v, MaxE: 10 * v}
		r.Features, r.Selection = 1, 2
		rounds = append(rounds, r)
	}
	return rounds
}

func TestStudyWithGaps(t *testing.T) {
	t.Parallel()
	var all benchmark.Results
	all = append(all, makeRun("b", "lcmd-tp:grad", 0, 1, 0.5)...)
	all = append(all, makeRun("b", "random", 0, 1, 0.8)...)
	all = append(all, makeRun("b", "random", 2, 1.1, 0.8)...)
	all = append(all, makeRun("a", "random", 0, 1, 0.9)...)
	all = append(all, makeRun("a", "lcmd-tp:grad", 0, 1, 0.9)[:3]...) // stopped
	s := benchmark.NewStudies(all, nil)[0]
	if got := strings.Join(s.Methods, " "); got != "random lcmd-tp:grad" {
		t.Error(got)
	}
	if len(s.Gaps) != 3 || s.Gaps[0].Method != "random" || s.Gaps[0].DataSet != "a" || s.Gaps[0].Splits[0] != 2 ||
		len(s.Gaps[1].Splits) != 2 || len(s.Gaps[2].Splits) != 1 {
		t.Errorf("%+v", s.Gaps)
	}
	if got := s.Common(s.Methods...); len(got) != 1 || got[0] != "b" {
		t.Error(got)
	}
	if m := s.Mean(benchmark.MeanLog(benchmark.RMSE), "lcmd-tp:grad", "a", "b"); !math.IsNaN(m.Value) || m.Runs != 1 {
		t.Errorf("%+v", m)
	}
	if m := s.Mean(benchmark.Last(benchmark.MAE), "lcmd-tp:grad", "b"); m.Value != 1.0/32 || !math.IsNaN(m.StdErr) {
		t.Errorf("%+v", m)
	}
	d := s.Difference(benchmark.MeanLog(benchmark.RMSE), "lcmd-tp:grad", "random", "b")
	closeTo(t, "difference", d.Value, 2.5*math.Log(0.5/0.8)) // rounds 1 to 4, of split 0 only
	if d.Runs != 1 {
		t.Errorf("%+v", d)
	}
	if m := s.Mean(benchmark.PickSeconds(), "random", "b"); m.Value != 3 {
		t.Errorf("%+v", m)
	}
}

func TestOnCommonSplits(t *testing.T) {
	t.Parallel()
	var all benchmark.Results
	for split := range 3 {
		all = append(all, makeRun("a", "random", split, float64(1+split), 0.9)...)
	}
	all = append(all, makeRun("a", "lcmd-tp:grad", 1, 2, 0.5)...)
	all = append(all, makeRun("b", "random", 0, 1, 0.9)...)
	all = append(all, makeRun("b", "random", 1, 1, 0.9)...)
	all = append(all, makeRun("b", "lcmd-tp:grad", 2, 1, 0.5)...)
	s := benchmark.NewStudies(all, nil)[0]
	both := s.OnCommonSplits("random", "lcmd-tp:grad")
	if m := both.Mean(benchmark.LogAt(benchmark.RMSE, 0), "random", "a"); m.Runs != 1 || m.Value != math.Log(2) {
		t.Errorf("more than split 1: %+v", m)
	}
	if both.Runs("random", "b") != 2 || both.Runs("lcmd-tp:grad", "b") != 0 {
		t.Error("without a common split, the method with fewer runs should be dropped")
	}
	if s.Runs("random", "a") != 3 || s.OnCommonSplits("random").Runs("random", "a", "b") != 5 {
		t.Error("runs were lost")
	}
	if w := s.OnCommonSplits("random").OnSplitsOf(both); w.Runs("random", "a") != 1 ||
		w.Runs("random", "b") != 2 || len(w.Splits) != 2 {
		t.Errorf("within: %d and %d runs, splits %v", w.Runs("random", "a"), w.Runs("random", "b"), w.Splits)
	}
	v := s.ErrorVariation("lcmd-tp:grad", "random")
	if len(v.DataSets) != 1 || v.Runs != 2 {
		t.Errorf("%+v", v)
	}
}

func TestStudyWithPlan(t *testing.T) {
	t.Parallel()
	var planned []benchmark.Run
	for _, set := range []string{"a", "b"} {
		for split := range 3 {
			planned = append(planned, makeRun(set, "random", split, 1, 1)[0].Run)
		}
	}
	planned = append(planned, makeRun("b", "lcmd-tp:grad", 0, 1, 1)[0].Run)
	all := append(makeRun("a", "random", 0, 1, 0.9), makeRun("a", "random", 2, 1, 0.9)[:2]...)
	s := benchmark.NewStudies(all, planned)[0]
	if got := fmt.Sprint(s.Gaps); got != "[{random a [1 2] 3} {random b [0 1 2] 3} {lcmd-tp:grad b [0] 1}]" {
		t.Error(got)
	}
	if len(s.DataSets) != 1 || len(s.Finished()) != 1 {
		t.Errorf("%v, %v", s.DataSets, s.Finished())
	}
}

// A results file may have as many data sets and splits as runs; a study of it must
// not take time quadratic in their number, in which this test would take minutes.
func TestStudyOfManySetsAndSplits(t *testing.T) {
	if testing.Short() {
		t.Skip("analyses many runs")
	}
	t.Parallel()
	const n = 50_000
	var all benchmark.Results
	var planned []benchmark.Run
	for i := range n {
		run := makeRun(fmt.Sprintf("set %06d", i), "random", i, 1, 0.9)
		all = append(all, run...)
		planned = append(planned, run[0].Run)
	}
	s := benchmark.NewStudies(all[:len(all)-1], planned)[0] // the last run lacks a round
	if len(s.DataSets) != n-1 || len(s.Splits) != n || len(s.Gaps) != 1 || s.Gaps[0].Splits[0] != n-1 {
		t.Errorf("%d data sets, %d splits, gaps %+v", len(s.DataSets), len(s.Splits), s.Gaps)
	}
	both := s.OnCommonSplits("random").OnSplitsOf(s)
	if len(both.Splits) != n-1 || both.Runs("random", s.DataSets...) != n-1 {
		t.Errorf("%d splits in common", len(both.Splits))
	}
}

func TestSettingsThatDifferFromThePaper(t *testing.T) {
	t.Parallel()
	if got := (benchmark.Settings{Seed: 3, Start: 256}).DifferencesFromPaper(); got != nil {
		t.Error(got)
	}
	got := benchmark.Settings{Epochs: 8, Hidden: []int{64}}.DifferencesFromPaper()
	if len(got) != 2 || got[0] != "8 epochs, not 256" || got[1] != "64 neurons in hidden layers, not 512 and 512" {
		t.Error(got)
	}
}

func TestStudyWithoutRuns(t *testing.T) {
	t.Parallel()
	if got := benchmark.NewStudies(nil, nil); got != nil {
		t.Error(got)
	}
	s := benchmark.NewStudies(makeRun("a", "no spec at all", 0, 1, 0.9)[:2], nil)[0]
	if len(s.Gaps) != 1 || s.Labels != nil || len(s.Finished()) != 0 ||
		s.Curve(benchmark.RMSE, "no spec at all", "a") != nil {
		t.Errorf("%+v", s)
	}
	if m := s.Mean(benchmark.MeanLog(benchmark.RMSE), "absent"); !math.IsNaN(m.Value) || m.Runs != 0 {
		t.Errorf("%+v", m)
	}
}

func TestNaNStays(t *testing.T) {
	t.Parallel()
	all := append(makeRun("a", "random", 0, 1, 0.9), makeRun("a", "random", 1, 1, 0.9)...)
	all[3].Test.RMSE = math.NaN()
	s := benchmark.NewStudies(all, nil)[0]
	if m := s.Mean(benchmark.MeanLog(benchmark.RMSE), "random", "a"); !math.IsNaN(m.Value) {
		t.Errorf("%+v", m)
	}
	if m := s.Mean(benchmark.MeanLog(benchmark.MAE), "random", "a"); math.IsNaN(m.Value) {
		t.Errorf("%+v", m)
	}
}

func TestErrorVariation(t *testing.T) {
	t.Parallel()
	var all benchmark.Results
	for i, set := range []string{"a", "b", "c"} {
		random, lcmd := makeRun(set, "random", 0, 1, 0.9), makeRun(set, "lcmd-tp:grad", 0, 1, math.Pow(0.9, 1+float64(i)))
		random[0].Test.MAE = math.Exp(-float64(i)) // x = i, and y = i
		all = append(append(all, random...), lcmd...)
	}
	v := benchmark.NewStudies(all, nil)[0].ErrorVariation("lcmd-tp:grad", "random")
	for i := range v.X {
		closeTo(t, "x", v.X[i], float64(i))
		closeTo(t, "y", v.Y[i], float64(i))
	}
	closeTo(t, "slope", v.Slope, 1)
	closeTo(t, "R", v.R, 1)
	if v.Runs != 6 {
		t.Error(v.Runs)
	}
}

func TestPaperTables(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	known := map[string]bool{}
	for _, s := range spec.Published() {
		s.Compat = false
		known[s.String()] = true
	}
	for _, m := range benchmark.PaperMethods() {
		count[m.Activation]++
		if !known[m.Spec] {
			t.Errorf("%s is not a published method", m.Spec)
		}
		for metric, v := range m.Log {
			if v < -3 || v > 2 || (metric == benchmark.MaxE) != (v > 0.3) {
				t.Errorf("%s: mean log %v is %v", m.Spec, metric, v)
			}
		}
	}
	if count["relu"] != 76 || count["silu"] != 76 {
		t.Error(count)
	}
	selected := map[string]int{}
	for _, c := range benchmark.PaperRMSEs() {
		selected[c.Spec]++
		if !(c.Last <= c.Mean) || c.Last <= 0 {
			t.Errorf("%+v", c)
		}
	}
	for _, s := range spec.Selected() {
		s.Compat = false
		if selected[s.String()] != 15 {
			t.Errorf("%s has numbers for %d data sets", s, selected[s.String()])
		}
	}
	// The tables of data sets average to the numbers in the table of all methods,
	// except that the logarithm is taken after the mean over rounds.
	for _, c := range []struct {
		spec string
		want float64
	}{{"random", -1.401}, {"lcmd-tp:grad>sketch(512)", -1.590}} {
		sum := 0.0
		for _, p := range benchmark.PaperRMSEs() {
			if p.Spec == c.spec {
				sum += math.Log(p.Mean) / 15
			}
		}
		if math.Abs(sum-c.want) > 0.05 {
			t.Errorf("%s: %v, want about %v", c.spec, sum, c.want)
		}
	}
}

func TestCompareWithPaper(t *testing.T) {
	t.Parallel()
	paper := func(set, spec string, split int, rmse float64) benchmark.Results {
		rounds := makeRun(set, spec, split, rmse, 1)
		for i := 5; i <= 16; i++ {
			rounds = append(rounds, rounds[0])
		}
		for i := range rounds {
			rounds[i].BatchSize, rounds[i].Rounds, rounds[i].Round, rounds[i].Compat = 256, 16, i, true
		}
		return rounds
	}
	all := append(paper("fried", "random", 0, 0.24), paper("fried", "random", 1, 0.26)...)
	all = append(all, paper("own", "random", 0, 1)...)
	list := benchmark.NewStudies(all, nil)[0].CompareWithPaper()
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	a := list[0]
	if a.DataSet != "fried" || a.Method != "random@compat" || a.Paper != 0.230 || a.Ours.Runs != 2 {
		t.Errorf("%+v", a)
	}
	closeTo(t, "difference", a.Difference, 0.25-0.23)
	closeTo(t, "relative", a.Relative, 0.02/0.23)
	closeTo(t, "error", a.StdErr, math.Sqrt(0.01*0.01*1.1+1e-6/12))
	if got := benchmark.NewStudies(makeRun("fried", "random", 0, 1, 1), nil)[0].CompareWithPaper(); got != nil {
		t.Errorf("another setting: %+v", got)
	}
	var whole benchmark.Results
	for _, p := range benchmark.PaperRMSEs() {
		if p.Spec == "random" {
			whole = append(whole, paper(p.DataSet, "random", 0, 1)...)
		}
	}
	list = benchmark.NewStudies(whole, nil)[0].CompareWithPaper()
	last := list[len(list)-1]
	if len(list) != 15+15+5 || last.DataSet != "" || last.What != "mean log MAXE" ||
		last.Paper != 1.107 || !last.Logarithmic {
		t.Errorf("%d, %+v", len(list), last)
	}
	closeTo(t, "relative", last.Relative, 10/math.Exp(1.107)-1)
}
