package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/benchmark"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/report"
	"github.com/nextbatch/nextbatch/spec"
)

// advising is one run of the command advise.
type advising struct {
	columns         columnFlags
	net             networkFlags
	methods         []string
	rounds, repeats int
	json, quiet     bool
	page            string

	progress *progress
}

func newAdvise() *cobra.Command {
	a := &advising{}
	c := &cobra.Command{
		Use:   "advise TABLE",
		Short: "Estimate from your labels whether active learning is worth it",
		Example: `  nextbatch advise table.csv --target y --id name
  nextbatch advise table.csv --target y --method 'lcmd-tp:ll' --repeats 10 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.progress = newProgress(cmd.ErrOrStderr(), a.quiet)
			return a.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
		Long: `Replays active learning on the rows that have a label: some are held out to measure
errors on, a few are labelled at the start, and the methods ask for the labels of
the others, round after round, compared with random rows. Prints what share of the
labels each method saves, with an interval; the ratio RMSE/MAE, with the gain that
the paper's data sets suggest for it (section "When should BMDAL be Applied?"); and
then a method and a batch size, or that random is as good, or that there are too
few labels to decide.

The intervals hold at 95 %, all together: a jackknife over the repeats, Student's
t. They cover the randomness of splits and networks, not that of another table; and
a replay has a smaller pool than the real thing, which leaves methods less choice.`,
	}
	f := c.Flags()
	f.StringVar(&a.columns.target, "target", "", "target column: the labels")
	f.StringArrayVar(&a.methods, "method", nil, "a method to try; repeatable (default "+fmt.Sprint(benchmark.AdviseSpecs())+")")
	f.IntVar(&a.rounds, "rounds", 3, "batches that each method asks for")
	f.IntVar(&a.repeats, "repeats", 6, "repetitions on other splits")
	f.StringVar(&a.page, "report", "", "write a page with the learning curves to this .html file")
	f.BoolVar(&a.json, "json", false, "print one JSON object")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress, only warnings and errors")
	a.columns.register(c)
	a.net.registerOne(c)
	return c
}

func (a *advising) run(ctx context.Context, path string, out io.Writer) error {
	begin := time.Now()
	q, err := a.question()
	if err != nil {
		return err
	}
	ctx, err = withThreads(ctx, a.net.threads)
	if err != nil {
		return err
	}
	defer a.columns.memory.begin()()
	rows, err := a.read(ctx, path, q)
	if err != nil {
		return err
	}
	q.Data = &dataset.Regression{X: rows.Train, Y: rows.Labels, Rows: rows.TrainRows, Encoder: rows.Encoder}
	q.Progress = func(done, of int, r benchmark.Record) {
		a.progress.step("replay", done, of, fmt.Sprintf("%s, split %d, %d labels, RMSE %.3g (labels have deviation 1)", r.Spec, r.Split+1, r.Labels, r.Test.RMSE))
	}
	advice, err := q.Advise(ctx)
	a.progress.done()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return dataError{err}
	}
	if pool := rows.Pool.Rows; pool > 0 && advice.Batch > pool {
		advice.Batch, advice.BatchBy = pool, "as many rows as there are candidates"
	}
	result := newAdviseResult(advice, rows, a)
	result.Seconds = time.Since(begin).Seconds()
	if a.page != "" {
		if err := atomicfile.Write(a.page, advicePage(path, advice, result).Write); err != nil {
			return err
		}
		a.progress.say("page written to %s", a.page)
	}
	if a.json {
		return printJSON(out, result)
	}
	return printAdvice(out, advice, result)
}

// question reads the flags.
func (a *advising) question() (benchmark.Question, error) {
	q := benchmark.Question{
		Activation: a.net.activation, Hidden: a.net.hidden, Epochs: a.net.epochs,
		Rounds: a.rounds, Repeats: a.repeats, Seed: a.net.seed,
	}
	if a.columns.target == "" {
		return q, usagef("name the target column with --target")
	}
	if a.rounds < 1 || a.repeats < 2 {
		return q, usagef("--rounds must be at least 1 and --repeats at least 2")
	}
	for _, text := range a.methods {
		method, err := spec.Parse(text)
		if err != nil {
			return q, err
		}
		if method.Method == spec.Random {
			return q, usagef("the methods are compared with random anyway; name others with --method")
		}
		q.Specs = append(q.Specs, method.String())
	}
	_, err := a.net.config()
	return q, errors.Join(err, a.columns.check(), checkOutput("--report", a.page, ".html"))
}

func (a *advising) read(ctx context.Context, path string, q benchmark.Question) (*nextbatch.Rows, error) {
	table, err := a.columns.read(ctx, path, false)
	if err != nil {
		return nil, err
	}
	t := nextbatch.Tables{One: table, Names: map[*dataset.Table]string{table: path}, TargetColumn: a.columns.target, Strict: a.columns.missing == "refuse", Categorical: a.columns.categorical}
	t.Admit = func(z nextbatch.Sizes) error { return a.admit(table, z, q.Specs) }
	if a.columns.id != "" {
		t.NotInputs = append(t.NotInputs, a.columns.id)
	}
	rows, err := t.Rows()
	if err != nil {
		return nil, dataError{err}
	}
	for _, w := range rows.Warnings {
		a.progress.warn(w)
	}
	a.progress.say("%d labelled rows, %d candidates, %d inputs", rows.Train.Rows, rows.Pool.Rows, rows.Train.Cols)
	if rows.Train.Rows == 0 {
		return nil, dataError{errorf("%s: no row has a label and all inputs", path)}
	}
	return rows, nil
}

// admit refuses replays that would need more memory than is available.
func (a *advising) admit(table *dataset.Table, z nextbatch.Sizes, texts []string) error {
	config, err := a.net.config()
	if err != nil {
		return err
	}
	if len(texts) == 0 {
		texts = benchmark.AdviseSpecs()
	}
	var specs []spec.Spec
	for _, text := range texts {
		method, err := spec.Parse(text)
		if err != nil {
			return err
		}
		specs = append(specs, method)
	}
	unlabelled := 4 * int64(z.Pool) * int64(z.Inputs)
	z.Pool = z.Train // the labelled rows are both
	return a.columns.memory.admit("the replay", replayNeed(table.Bytes()+unlabelled, z, config, specs, 1), "narrower layers (--hidden)", "methods with a smaller sketch", "fewer labelled rows")
}

// adviseResult is what advise prints as JSON.
type adviseResult struct {
	Verdict  string         `json:"verdict"` // "worth it", "random is as good" or "too few labels"
	Because  string         `json:"because"`
	Spec     string         `json:"spec"`
	Batch    int            `json:"batch"` // 0: any
	BatchBy  string         `json:"batch_by"`
	Labelled int            `json:"labelled"`
	Pool     int            `json:"pool"`
	Ratio    number         `json:"rmse_mae_ratio"`
	Expected number         `json:"expected_improvement"` // in sample efficiency, by the paper's data sets
	Slope    *intervalEntry `json:"random_slope,omitempty"`
	Methods  []adviseMethod `json:"methods"`
	Replay   *replayEntry   `json:"replay,omitempty"`
	Seed     uint64         `json:"seed"`
	Warnings []string       `json:"warnings"`
	Seconds  float64        `json:"seconds"`
	Version  string         `json:"version"`
}

type intervalEntry struct {
	Value number `json:"value"`
	Low   number `json:"low"`
	High  number `json:"high"`
}

type adviseMethod struct {
	Spec    string        `json:"spec"`
	Saved   intervalEntry `json:"labels_saved"`  // share of the labels that random rows need for their final error
	Gain    intervalEntry `json:"log_rmse_gain"` // mean over rounds
	Reached bool          `json:"reached"`       // that error, within the rounds
}

// replayEntry holds the division of the labelled rows, and the learning curves.
type replayEntry struct {
	Test    int                 `json:"test"`
	Valid   int                 `json:"valid"`
	Repeats int                 `json:"repeats"`
	Labels  []int               `json:"labels"`
	LogRMSE map[string][]number `json:"mean_log_rmse"` // by spec, after each round; labels have deviation 1
}

func newAdviseResult(advice *benchmark.Advice, rows *nextbatch.Rows, a *advising) adviseResult {
	r := adviseResult{
		Verdict: advice.Verdict.String(), Because: advice.Because, Spec: advice.Spec, Batch: advice.Batch, BatchBy: advice.BatchBy,
		Labelled: rows.Train.Rows, Pool: rows.Pool.Rows, Ratio: number(advice.Variation.Ratio), Expected: number(advice.Variation.Expected),
		Methods: []adviseMethod{}, Seed: a.net.seed, Warnings: append([]string{}, a.progress.warnings...), Version: thisBuild().Version,
	}
	s := advice.Savings
	if s == nil {
		return r
	}
	slope := newInterval(s.Slope)
	r.Slope = &slope
	for _, m := range s.Methods {
		r.Methods = append(r.Methods, adviseMethod{m.Spec, newInterval(m.Share), newInterval(m.Gain), m.Reached})
	}
	r.Replay = &replayEntry{advice.Sizes.Test, advice.Sizes.Valid, s.Splits, s.Labels, map[string][]number{}}
	for _, round := range advice.Results {
		curve := r.Replay.LogRMSE[round.Spec]
		if curve == nil {
			curve = make([]number, len(s.Labels))
			r.Replay.LogRMSE[round.Spec] = curve
		}
		curve[round.Round] += number(math.Log(round.Test.RMSE) / float64(s.Splits))
	}
	return r
}

func newInterval(i benchmark.Interval) intervalEntry {
	return intervalEntry{number(i.Value), number(i.Low), number(i.High)}
}

func printAdvice(out io.Writer, a *benchmark.Advice, r adviseResult) error {
	fmt.Fprintf(out, "%s: %s.\n", shown(r.Verdict), shown(r.Because))
	for _, t := range adviceTables(a, r) {
		fmt.Fprintln(out)
		if err := printTable(out, t); err != nil {
			return err
		}
	}
	return nil
}

// adviceTables returns the advice, the savings of each method, and the errors.
func adviceTables(a *benchmark.Advice, r adviseResult) []*report.Table {
	batch := fmt.Sprintf("%d rows", r.Batch)
	if r.Batch == 0 {
		batch = "any"
	}
	facts := &report.Table{Columns: []report.Column{{Head: "advice"}, {Head: ""}}}
	add := func(name, value string) {
		facts.Rows = append(facts.Rows, report.Row{Cells: []report.Cell{report.Text(name), report.Text(value)}})
	}
	add("method", r.Spec)
	add("batch", batch+": "+r.BatchBy)
	s := a.Savings
	if s == nil {
		return []*report.Table{facts}
	}
	v, last := a.Variation, len(s.Labels)-1
	add("RMSE/MAE", fmt.Sprintf("%.2f, of a network with %d labels, on %d held-out rows", v.Ratio, v.Labels, a.Sizes.Test))
	add("expected", fmt.Sprintf("log RMSE falls %.2f times as much as with random rows, going by the paper's data sets (correlation 0.88)", 1+v.Expected))
	add("replay", fmt.Sprintf("from %d to %d labels in %d rounds, %d times, errors on %d rows", s.Labels[0], s.Labels[last], a.Sizes.Rounds, s.Splits, a.Sizes.Test))
	return []*report.Table{facts, savingsTable(s), errorsTable(a, r)}
}

func savingsTable(s *benchmark.Savings) *report.Table {
	last := s.Labels[len(s.Labels)-1]
	t := &report.Table{
		Title:   "Labels saved",
		Note:    fmt.Sprintf("To reach the error of random rows with %d labels. Intervals hold at 95 %% for all methods together: jackknife over %d repeats, Student's t.", last, s.Splits),
		Columns: []report.Column{{Head: "method"}, {Head: "saved"}, {Head: "interval"}, {Head: "labels needed"}},
	}
	for _, m := range s.Methods {
		needed := "not reached"
		if m.Reached {
			needed = fmt.Sprintf("%.0f of %d", (1-m.Share.Value)*float64(last), last)
		}
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.Text(m.Spec), report.Text(percent(m.Share.Value)),
			report.Text(percent(m.Share.Low) + " to " + percent(m.Share.High)), report.Text(needed)}})
	}
	return t
}

func errorsTable(a *benchmark.Advice, r adviseResult) *report.Table {
	t := &report.Table{Title: "RMSE by labels", Note: "Geometric means over repeats; labels have deviation 1.", Columns: []report.Column{{Head: "method"}}}
	for _, n := range a.Savings.Labels {
		t.Columns = append(t.Columns, report.Column{Head: strconv.Itoa(n)})
	}
	for _, spec := range adviceSpecs(a) {
		row := report.Row{Cells: []report.Cell{report.Text(spec)}}
		for _, v := range r.Replay.LogRMSE[spec] {
			row.Cells = append(row.Cells, report.Number(math.Exp(float64(v)), 4))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// adviceSpecs are the methods in the order of the replay, random first.
func adviceSpecs(a *benchmark.Advice) (specs []string) {
	for _, r := range a.Results {
		if !slices.Contains(specs, r.Spec) {
			specs = append(specs, r.Spec)
		}
	}
	return specs
}

func advicePage(path string, a *benchmark.Advice, r adviseResult) *report.Page {
	page := &report.Page{Title: "Is active learning worth it for " + path + "?", Intro: []string{r.Verdict + ": " + r.Because + "."}}
	section := report.Section{Title: "Advice", Tables: adviceTables(a, r)}
	page.Sections = append(page.Sections, section)
	if len(r.Warnings) > 0 {
		page.Sections = append(page.Sections, report.Section{Title: "Warnings", Text: r.Warnings})
	}
	if a.Savings != nil {
		page.Sections = append(page.Sections, report.Section{Title: "Learning curves", Figures: []*report.Figure{adviceFigure(a, r)}})
	}
	return page
}

func adviceFigure(a *benchmark.Advice, r adviseResult) *report.Figure {
	var curves []report.Curve
	for _, spec := range adviceSpecs(a) {
		c := report.Curve{Name: spec}
		for i, v := range r.Replay.LogRMSE[spec] {
			c.X, c.Y = append(c.X, float64(a.Savings.Labels[i])), append(c.Y, math.Exp(float64(v)))
		}
		for i := range c.X {
			low, high := math.Inf(1), 0.0
			for _, round := range a.Results {
				if round.Spec == spec && round.Round == i {
					low, high = min(low, round.Test.RMSE), max(high, round.Test.RMSE)
				}
			}
			c.Low, c.High = append(c.Low, low), append(c.High, high)
		}
		curves = append(curves, c)
	}
	f := report.LearningCurves("Replay on the labelled rows", "RMSE (labels have deviation 1)", curves)
	f.Note = fmt.Sprintf("Geometric means of %d repeats, and the range that they span.", a.Savings.Splits)
	return f
}

func percent(share float64) string {
	if math.IsNaN(share) {
		return "unknown"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
