package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// plan is a grid of made-up runs.
type plan struct {
	sets, specs   []string
	splits        int
	batch, rounds int
}

// results makes up learning curves: noisy power laws that end near the paper's
// last RMSE.
func (p plan) results() (results benchmark.Results) {
	last, mean := map[[2]string]float64{}, map[[2]string]float64{}
	for _, c := range benchmark.PaperRMSEs() {
		last[[2]string{c.DataSet, c.Spec}], mean[[2]string{c.DataSet, c.Spec}] = c.Last, c.Mean
	}
	for i, set := range p.sets {
		for _, spec := range p.specs {
			for split := range p.splits {
				at := [2]string{set, spec}
				random := [2]string{set, "random"}
				end := last[at]
				if end == 0 { // not in the paper's table
					end = (0.8 + 0.02*float64(len(spec))) * last[random]
				}
				start := mean[random] * math.Sqrt(mean[random]/last[random])
				fall := math.Log(start/end) / math.Log(17)
				end *= 1 + 0.02*math.Log2(float64(p.batch)/256)
				noise := rng.New(1, "noise "+set+spec, uint64(split), uint64(p.batch))
				for round := range p.rounds + 1 {
					r := benchmark.Round{Round: round, Labels: 256 + round*p.batch}
					r.Run = benchmark.Run{DataSet: set, Activation: "relu", Spec: spec, Compat: true, BatchSize: p.batch,
						Rounds: p.rounds, Split: split}
					rmse := end * math.Pow(float64(r.Labels)/4352, -fall) * math.Exp(0.05*noise.NormFloat64())
					r.Test = stats.Metrics{MAE: rmse / (1.2 + 0.1*float64(i)), RMSE: rmse, Q95: 2 * rmse, Q99: 3.5 * rmse,
						MaxE: 12 * rmse * math.Exp(0.2*noise.NormFloat64())}
					r.Training, r.Testing, r.Elapsed = 5, 0.2, 6
					if round < p.rounds {
						r.Features, r.Selection, r.EffectiveDimension = 0.3, 0.4, 5
					}
					results = append(results, r)
				}
			}
		}
	}
	return results
}

func paperSets() (sets []string) {
	for _, c := range benchmark.PaperRMSEs() {
		if c.Spec == "random" {
			sets = append(sets, c.DataSet)
		}
	}
	return sets
}

func selectedSpecs() (specs []string) {
	for _, c := range benchmark.PaperRMSEs() {
		if c.DataSet == "fried" {
			specs = append(specs, c.Spec)
		}
	}
	return specs
}

// goldenResults returns the made-up results of golden/analysis, in the layout of the
// published code.
func goldenResults(t *testing.T) (results benchmark.Results, order []string) {
	t.Helper()
	var g struct {
		Results map[string]map[string][]struct {
			Errors map[string][]float64
			Stats  []struct {
				Kernel    struct{ Total float64 } `json:"kernel_time"`
				Selection struct{ Total float64 } `json:"selection_time"`
			} `json:"al_stats"`
		}
	}
	golden.JSON(t, "analysis/analysis.json", &g)
	order = []string{"NN_random", "NN_maxdiag_ll_train", "NN_maxdet-p_grad_rp-512_train", "NN_bait-fb-p_ll_train",
		"NN_lcmd-tp_grad_ens-3_rp-512", "NN_lcmd-tp_grad_rp-512"}
	for _, id := range order {
		spec := spec.MustParse(id)
		for set, splits := range g.Results[id] {
			for split, run := range splits {
				for i := range run.Errors["rmse"] {
					r := benchmark.Round{Round: i, Labels: 256 * (i + 1)}
					r.Run = benchmark.Run{DataSet: strings.TrimSuffix(set, "_256x16"), Activation: "relu", Compat: true,
						Spec: benchmark.WithoutCompat(spec.String()), BatchSize: 256, Rounds: 16, Split: split}
					e := run.Errors
					r.Test = stats.Metrics{MAE: e["mae"][i], RMSE: e["rmse"][i], Q95: e["q95"][i],
						Q99: e["q99"][i], MaxE: e["maxe"][i]}
					if i < 16 && split == 9 { // the published code takes the times from this split
						r.Features, r.Selection = run.Stats[i].Kernel.Total, run.Stats[i].Selection.Total
					}
					results = append(results, r)
				}
			}
		}
	}
	return results, order
}

// latexRows returns the rows of a tabular environment, with trimmed cells.
func latexRows(t *testing.T, text string, columns int) (rows [][]string) {
	t.Helper()
	_, body, _ := strings.Cut(text, "\n\\hline\n")
	body, _, _ = strings.Cut(body, "\\end{tabular}")
	for _, line := range strings.Split(strings.ReplaceAll(body, "\\hline", "\\\\"), "\\\\") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(line, " (ours)", ""), "&")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells[:columns])
	}
	return rows
}

// TestTablesMatchThePublishedCode compares LaTeX tables, bold type included. It
// skips the time, which we average over all splits, and the columns that only we
// have.
func TestTablesMatchThePublishedCode(t *testing.T) {
	t.Parallel()
	results, _ := goldenResults(t)
	v := newView(benchmark.NewStudies(results, nil)[0])
	for _, c := range []struct {
		file    string
		table   *Table
		columns int
	}{
		{"table_all_algs.txt", allMethods(v), 7},
		{"table_data_sets.txt", byDataSet(v, "", "", benchmark.MeanLog(benchmark.RMSE)), 7},
		{"table_data_sets_nolog.txt", byDataSet(v, "", "", benchmark.MeanOf(benchmark.RMSE)), 7},
		{"table_data_sets_nolog_lasterror.txt", byDataSet(v, "", "", benchmark.Last(benchmark.RMSE)), 7},
	} {
		text := golden.Read(t, "analysis/synthetic/"+c.file)
		var ours strings.Builder
		if err := c.table.WriteLaTeX(&ours); err != nil {
			t.Fatal(err)
		}
		want, got := latexRows(t, string(text), c.columns), latexRows(t, ours.String(), c.columns)
		if len(want) < 4 || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s:\n%v\nwant\n%v", c.file, got, want)
		}
	}
}

func TestReportOnTheWholeBenchmark(t *testing.T) {
	t.Parallel()
	specs := selectedSpecs()
	for _, l := range literatureMethods() {
		if !slices.Contains(specs, l.spec) {
			specs = append(specs, l.spec)
		}
	}
	all := plan{paperSets(), specs, 2, 256, 16}.results()
	for _, steps := range []int{1, 4} {
		all = append(all, plan{paperSets()[:2], selectedSpecs()[1:], 2, 4096 / steps, steps}.results()...)
	}
	page, err := Benchmark(all, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range page.Sections {
		for _, table := range s.Tables {
			names = append(names, table.Name)
			checkTable(t, table)
		}
		for _, f := range s.Figures {
			names = append(names, f.Name)
			if f.Note == "" || !strings.Contains(f.Note, "runs") && !strings.Contains(f.Note, " run") {
				t.Errorf("%s does not say how many runs it is based on: %q", f.Name, f.Note)
			}
		}
	}
	for _, want := range []string{"all-methods", "mean-rmse", "last-rmse", "mean-log-rmse", "literature",
		"less-random", "costs",
		"paper-data-sets", "paper-all-methods", "learning-curve-rmse", "learning-curves", "learning-curves-sets-rmse",
		"learning-curves-sets-q99", "correlation-rmse", "correlation-maxe", "error-variation"} {
		if !slices.Contains(names, "relu-256x16-"+want) {
			t.Errorf("there is no %s in %v", want, names)
		}
	}
	for _, want := range []string{"relu-4096-rows-batch-sizes", "relu-4096-rows-batch-sizes-sets-rmse", "lcmd-steps"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s in %v", want, names)
		}
	}
	var b bytes.Buffer
	if err := page.Write(&b); err != nil {
		t.Fatal(err)
	}
	mustParseXML(t, b.Bytes())
}

// checkTable checks that rows match the headings and that the table counts its runs.
func checkTable(t *testing.T, table *Table) {
	t.Helper()
	for _, r := range table.Rows {
		if len(r.Cells) != len(table.Columns) {
			t.Errorf("%s: %d cells, %d headings", table.Name, len(r.Cells), len(table.Columns))
		}
	}
	if last := table.Columns[len(table.Columns)-1].Head; last != "runs" && last != "of" {
		t.Errorf("%s does not say how many runs it is based on", table.Name)
	}
}

func TestReportOnPartialResults(t *testing.T) {
	t.Parallel()
	specs := []string{"random", "lcmd-tp:grad>sketch(512)"}
	whole := plan{[]string{"fried", "query"}, specs, 3, 256, 16}.results()
	nan := slices.Clone(whole)
	nan[20].Test.RMSE = math.NaN()
	for name, c := range map[string]struct {
		results benchmark.Results
		want    []string
	}{
		"one round": {whole[:1], []string{"0 complete runs of 1 run started or planned",
			"No run of this setting is complete yet", "Missing runs"}},
		"one run": {whole[:17], []string{"1 complete run of 1 run", "1 method x 1 data set x 1 split: 1 run."}},
		"a started run": {whole[:25], []string{"1 complete run of 2 runs",
			"1 run of this setting is missing or incomplete"}},
		"one set": {whole[:6*17], []string{"2 methods x 1 data set x 3 splits: 6 runs.", "RMSE on fried: ReLU",
			"% lower than random selection", "RMSE reduction [%]"}},
		"method missing": {whole[:9*17], []string{"Means over fried. Left out, because some method has no runs there: query.",
			"3 runs of this setting are"}},
		"split missing": {whole[:11*17],
			[]string{"2 methods x 2 data sets x 2 to 3 splits: 10 runs. Only splits that all methods share on a data set " +
				"count: 1 complete run of another split is left out."}},
		"NaN": {nan, []string{"–", "2 methods x 2 data sets x 3 splits: 12 runs."}},
	} {
		page, err := Benchmark(c.results, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := page.Write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		mustParseXML(t, b.Bytes())
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: the page has no %q", name, want)
			}
		}
	}
	if _, err := Benchmark(nil, nil, false); err == nil {
		t.Error("a report without results was accepted")
	}
}

// TestReportOnSeveralTargets: data sets that have several get tables with the error of each;
// a run from before these were stored counts as missing there.
func TestReportOnSeveralTargets(t *testing.T) {
	t.Parallel()
	results := plan{[]string{"fried", "query"}, []string{"random", "lcmd-tp:grad>sketch(512)"}, 2, 256, 16}.results()
	for i, r := range results {
		if r.DataSet == "query" {
			low, high := r.Test, r.Test
			low.RMSE, high.RMSE = 0.5*r.Test.RMSE, 2*r.Test.RMSE
			results[i].Targets = []benchmark.TargetErrors{{Target: "<y>", Metrics: low}, {Target: "z", Metrics: high}}
		}
	}
	page, err := Benchmark(results, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]*Table{}
	for _, table := range page.Sections[0].Tables {
		tables[strings.TrimPrefix(table.Name, "relu-256x16-")] = table
		checkTable(t, table)
	}
	for _, name := range []string{"mean-rmse", "last-rmse"} {
		all, each := tables[name], tables["targets-"+name]
		if each == nil || len(each.Rows) != 2 {
			t.Fatalf("%s: %+v", name, each)
		}
		for k, factor := range []float64{0.5, 2} {
			for column := range 2 {
				got, want := each.Rows[k].Cells[2+column].value, factor*all.Rows[1].Cells[1+column].value
				if math.Abs(got-want) > 1e-12 {
					t.Errorf("%s, target %d, method %d: %v, want %v", name, k, column, got, want)
				}
			}
		}
		if got := each.Rows[0].Cells[1].text; got != "<y>" || each.Rows[1].Cells[0].text != "query" {
			t.Errorf("%s: row of target %q", name, got)
		}
		if !strings.Contains(each.Note, "2 methods x 1 data set x 2 splits: 4 runs.") {
			t.Errorf("%s: %s", name, each.Note)
		}
	}
	var b bytes.Buffer
	if err := page.Write(&b); err != nil {
		t.Fatal(err)
	}
	mustParseXML(t, b.Bytes())
	results[len(results)-1].Targets = nil
	page, err = Benchmark(results, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range page.Sections[0].Tables {
		if strings.HasSuffix(table.Name, "targets-last-rmse") && table.Rows[1].Cells[3].text != missing {
			t.Errorf("a run without errors of targets: %+v", table.Rows[1])
		}
	}
}

// TestReportOnOneDataSet: what compares data sets, or averages over them, is left out.
func TestReportOnOneDataSet(t *testing.T) {
	t.Parallel()
	specs := []string{"random", "lcmd-tp:grad>sketch(512)", "bait-f-p:grad>sketch(512)>train"}
	page, err := Benchmark(plan{[]string{"fried"}, specs, 3, 256, 16}.results(), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := page.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{"average over data sets", "by data set", "method against method", "Gain of",
		"better on", ">data sets<"} {
		if strings.Contains(b.String(), no) {
			t.Errorf("the page has %q", no)
		}
	}
}

func TestReduction(t *testing.T) {
	t.Parallel()
	for difference, want := range map[float64]float64{0: 0, math.Log(0.9): 10, math.Log(1.25): -25} {
		if got := reduction(difference); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %v %%, want %v %%", difference, got, want)
		}
	}
}

func TestNamesOfMethods(t *testing.T) {
	t.Parallel()
	methods := []string{"random", "lcmd-tp:grad>sketch(512)", "bait-f-p:ll>train", "bait-f-p:grad>sketch(512)>train",
		"maxdist-tp:linear", "maxdist-tp:linear@compat", "odd"}
	names := shortNames(methods)
	for method, want := range map[string]string{
		"random": "Random", "lcmd-tp:grad>sketch(512)": "LCMD-TP", "bait-f-p:ll>train": "Bait-F-P ll > train",
		"maxdist-tp:linear": "MaxDist-TP linear", "maxdist-tp:linear@compat": "MaxDist-TP linear, compat", "odd": "odd",
	} {
		if names[method] != want {
			t.Errorf("%s is named %q", method, names[method])
		}
	}
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			t.Errorf("two methods are named %q", n)
		}
		seen[n] = true
	}
	if got := kernelLaTeX("maxdet-p:linear>scale>sketch(3)>train"); got !=
		`$k_{\mathrm{lin} \to \operatorname{scale}(\mathcal{X}_{\operatorname{train}}) \to \operatorname{sketch}(3) \to `+
			`\mathcal{X}_{\operatorname{train}}}$` {
		t.Error(got)
	}
	if got := kernelLaTeX("bait-f-p:(linear+0.5*matern>rff(8))>train"); got !=
		`$(k_{\mathrm{lin}} + 0.5\,k_{\mathrm{matern} \to \operatorname{rff}(8)}) \to \mathcal{X}_{\operatorname{train}}$` {
		t.Error(got)
	}
}

func TestNamesOfLearners(t *testing.T) {
	t.Parallel()
	methods := []string{"random", "auto, random", "gp, random", "lcmd-tp:grad", "auto, lcmd-tp:grad", "auto, lcmd-tp:leaf"}
	names := shortNames(methods)
	for method, want := range map[string]string{
		"random": "network, Random", "auto, random": "auto, Random", "gp, random": "gp, Random",
		"lcmd-tp:grad": "network, LCMD-TP", "auto, lcmd-tp:grad": "auto, LCMD-TP grad",
		"auto, lcmd-tp:leaf": "auto, LCMD-TP leaf",
	} {
		if names[method] != want {
			t.Errorf("%s is named %q", method, names[method])
		}
	}
	if got := methodLaTeX("auto, lcmd-tp:grad"); got != `auto, \textsc{LCMD}-TP` {
		t.Error(got)
	}
	if family("auto, lcmd-tp:grad") != family("lcmd-tp:grad") {
		t.Error("a learner changes the family")
	}
}

// TestReportOnLearners: methods are compared with random selection by the same learner, and learners with the
// network by the same method.
func TestReportOnLearners(t *testing.T) {
	t.Parallel()
	errors := map[string]float64{"random": 0.8, "lcmd-tp:grad": 0.6, "auto, random": 0.4, "auto, lcmd-tp:grad": 0.36,
		"auto, lcmd-tp:leaf": 0.38}
	for i := range 5 { // more methods than are shown
		errors[fmt.Sprintf("trees, lcmd-tp:leaf>sketch(%d)", 8+i)] = 0.7 + 0.01*float64(i)
	}
	var results benchmark.Results
	for spec, rmse := range errors {
		for split := range 2 {
			for round := range 2 {
				r := benchmark.Round{Round: round, Labels: 64 + 64*round, EffectiveDimension: math.NaN()}
				r.Run = benchmark.Run{DataSet: "set", Activation: "relu", Spec: spec, BatchSize: 64, Rounds: 1, Split: split}
				e := rmse * (1 + 0.1*float64(split))
				r.Test = stats.Metrics{MAE: e, RMSE: e, Q95: e, Q99: e, MaxE: e}
				results = append(results, r)
			}
		}
	}
	page, err := Benchmark(results, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]string{}
	for _, table := range page.Sections[0].Tables {
		var text strings.Builder
		if err := table.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		tables[table.Name] = strings.Join(strings.Fields(text.String()), " ")
	}
	for name, wants := range map[string][]string{
		"relu-64x1-all-methods":  {"auto, LCMD-TP grad", "network, LCMD-TP grad"},
		"relu-64x1-less-random":  {"network, LCMD-TP grad 25.0", "auto, LCMD-TP grad 10.0", "auto, LCMD-TP leaf 5.0"},
		"relu-64x1-less-network": {"auto, Random – 50.0", "auto, LCMD-TP grad 40.0"},
		"relu-64x1-last-rmse":    {"auto, Random", "network, Random", "auto, LCMD-TP leaf"},
	} {
		for _, want := range wants {
			if !strings.Contains(tables[name], want) {
				t.Errorf("%s lacks %q:\n%s", name, want, tables[name])
			}
		}
	}
	if strings.Contains(tables["relu-64x1-less-network"], "leaf") ||
		strings.Contains(tables["relu-64x1-last-rmse"], "sketch(12)") {
		t.Errorf("too much is compared:\n%s\n%s", tables["relu-64x1-less-network"], tables["relu-64x1-last-rmse"])
	}
	if text := strings.Join(page.Sections[0].Text, "\n"); !strings.Contains(text,
		"with learner auto is LCMD-TP (grad): 10.0 % lower") || !strings.Contains(text,
		"with learner network is LCMD-TP (grad): 25.0 % lower") {
		t.Error(text)
	}
}

// TestLCMDStepsPickAsLCMD compares the figure with the real method.
func TestLCMDStepsPickAsLCMD(t *testing.T) {
	t.Parallel()
	points, selected := lcmdPoints()
	features := matrix.New[float32](len(points), 2)
	for i, p := range points {
		features.Row(i)[0], features.Row(i)[1] = float32(p[0]), float32(p[1])
	}
	batch, err := nextbatch.Select(t.Context(), spec.MustParse("lcmd-tp:features"), nextbatch.Problem{
		Train: features.SelectRows(selected), Pool: features, Batch: 2})
	if err != nil {
		t.Fatal(err)
	}
	first := newLCMDStep(points, selected)
	second := newLCMDStep(points, append(selected, first.pick))
	if rows := batch.Rows(); rows[0] != first.pick || rows[1] != second.pick {
		t.Errorf("picks %d and %d, LCMD %v", first.pick, second.pick, rows)
	}
	if first.cluster != 0 || second.cluster == 0 {
		t.Errorf("clusters %d and %d: the figure should show two different cases", first.cluster, second.cluster)
	}
}

func TestSplitList(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]int{"": nil, "3": {3}, "0-2": {0, 1, 2}, "0, 2-3, 7": {0, 2, 3, 7}} {
		if got := splitList(list); got != want {
			t.Errorf("%v: %q", list, got)
		}
	}
}
