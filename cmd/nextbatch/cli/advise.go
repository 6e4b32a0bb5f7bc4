package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// adviseFlags are the flags of advise.
type adviseFlags struct {
	columns         columnFlags
	net             networkFlags
	learner         learner.Kind
	methods         []string
	rounds, repeats int
	json, quiet     bool
	page            string
}

// advising is one run of the command advise.
type advising struct {
	adviseFlags
	run
	path     string
	question benchmark.Question
	rows     *tables.Rows
	decimal  byte // mark of the table; 0 means a point
}

func newAdvise() *cobra.Command {
	a := &adviseFlags{}
	c := &cobra.Command{
		Use:   "advise TABLE",
		Short: "Find out from your labels which model suits them, and whether active learning is worth it",
		Example: `  nextbatch advise table.csv --target y --id name
  nextbatch advise table.csv --target y --method 'lcmd-tp:ll' --repeats 10 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &advising{adviseFlags: *a, run: newRun(cmd, a.quiet), path: args[0]}
			return r.perform(cmd.Context(), steps{check: r.check, threads: r.net.threads, memory: &r.columns.memory,
				read: r.read, compute: r.compute})
		},
		Long: `Answers two questions. Which model suits the labels? --learner auto cross-fits a
Gaussian process, trees and networks, and blends them by their errors on rows that
they have not seen. And does choosing rows pay for that model?

For the second, it replays active learning with that model on the rows that have a
label: some are held out to measure errors on, some are labelled at the start, and
each method requests the labels of the others, round after round. Random selection
does the same on the same splits with the same seeds of models, so that differences
are paired. In the replay of a blend, networks are candidates if they have a weight
of at least 0.1 in the blend of all labels, and are trained for one of its folds:
training takes most of the time. The replay uses most of the labels; with fewer than
100 there is none, and the answer says how many are missing.

There is one answer for all methods together: that one beats random, that none is
shown to, that random is better, or that there are not enough labels to tell, with
an estimate of how many more are needed. Intervals are of ratios of errors (geometric
means), at 90 % for all methods together, with the correction for splits that
share rows (Nadeau and Bengio, 2003). They hold for tables like this one; the pool
of a replay is smaller than the real one, which leaves methods less choice.

The ratio RMSE/MAE comes with the gain that the paper's data sets suggest for it
(section "When should BMDAL be Applied?").`,
	}
	f := c.Flags()
	a.columns.registerTarget(c)
	a.columns.registerWeights(c)
	registerLearner(f, &a.learner)
	f.StringArrayVar(&a.methods, "method", nil,
		fmt.Sprintf("a method to try; repeatable (default: that of the learner; with --learner network, %s)",
			benchmark.AdviseSpecs(learner.NetworkAlone, 0)))
	f.IntVar(&a.rounds, "rounds", benchmark.AdviseRounds, "batches that each method requests")
	f.IntVar(&a.repeats, "repeats", benchmark.AdviseRepeats, "repetitions on other splits")
	f.StringVar(&a.page, "report", "", "write a page with the learning curves to this .html file")
	f.BoolVar(&a.json, "json", false, "print one JSON object")
	registerDevice(c)
	registerQuiet(c, &a.quiet)
	a.columns.register(c)
	a.columns.registerInputs(c)
	a.net.registerOne(c)
	return c
}

func (a *advising) compute(ctx context.Context) (*answer, error) {
	q, rows := a.question, a.rows
	q.Data = &dataset.Regression{X: rows.Train, Y: rows.Labels.Data, Targets: len(rows.Targets), Names: rows.Targets,
		Rows: rows.TrainRows, Encoder: rows.Encoder}
	q.Unlabelled, q.Fitting = rows.Pool, a.progress.fitting()
	a.progress.sayDevice(ctx, a.learner)
	if err := a.progress.foretell(ctx, "the replay", q.Forecast); err != nil {
		return nil, err
	}
	troubled, first := 0, ""
	q.Progress = func(done, of int, r benchmark.Record) {
		if warnings := benchmark.Troubles(r); len(warnings) > 0 {
			troubled++
			first = cmp.Or(first, fmt.Sprintf("%s with %s: %s", r.Spec, words.Count(r.Labels, "label", "labels"), warnings[0]))
		}
		a.progress.step("replay", done, of,
			a.marked(fmt.Sprintf("%s, split %d, %d labels, RMSE %.3g on held-out rows (labels have deviation 1)", r.Spec,
				r.Split+1, r.Labels, r.Test.RMSE), r.Spec))
	}
	advice, err := q.Advise(ctx)
	a.progress.done()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, dataError{err}
	}
	for _, c := range advice.Chosen {
		for _, note := range c.Notes {
			a.progress.warn(note)
		}
	}
	if troubled > 0 {
		a.progress.warn(fmt.Sprintf("%d of %d rounds of the replay had a warning; the first was that of %s", troubled,
			len(advice.Results), first))
	}
	if pool := rows.Pool.Rows; pool > 0 && advice.Batch > pool {
		advice.Batch, advice.BatchBy = pool, "as many rows as there are candidates"
	}
	result := newAdviseResult(advice, rows, a)
	result.Seconds = a.seconds()
	found := &answer{text: func(out io.Writer) error { return a.print(out, advice, result) }}
	found.savePage(a.page, a.progress, func() (*report.Page, error) { return a.advicePage(advice, result), nil })
	if a.json {
		found.json = result
	}
	return found, nil
}

// check reads the flags.
func (a *advising) check() error {
	q := &a.question
	*q = benchmark.Question{
		Learner: a.learner, Activation: a.net.Activation, Hidden: a.net.Hidden, Epochs: a.net.Epochs,
		Rounds: a.rounds, Repeats: a.repeats, Seed: a.net.seed, Weights: a.columns.Weights,
	}
	if a.columns.target == "" {
		return usagef("name the target column with --target")
	}
	if a.rounds < 1 || a.repeats < 3 {
		return usagef("--rounds must be at least 1 and --repeats at least 3")
	}
	for _, text := range a.methods {
		method, err := spec.Parse(text)
		if err != nil {
			return err
		}
		if method.Method == spec.Random {
			return usagef("the methods are compared with random anyway; name others with --method")
		}
		if slices.Contains(q.Specs, method.String()) {
			return usagef("--method %s is named twice", text)
		}
		q.Specs = append(q.Specs, method.String())
	}
	_, err := a.net.config()
	return errors.Join(err, a.net.checkLearner(a.learner), a.columns.check(), checkOutput("--report", a.page, ".html"))
}

func (a *advising) read(ctx context.Context) (err error) {
	_, a.rows, err = a.columns.rows(ctx, a.path, a.progress, func(table *dataset.Table, z tables.Sizes) error {
		a.decimal = table.Origin().Decimal
		return a.admit(table, forecast.Of(z), a.question.Specs)
	})
	if err != nil {
		return err
	}
	if a.rows.Train.Rows == 0 {
		return dataError{errorf("%s: no row has a label and all inputs", a.path)}
	}
	return nil
}

// admit rejects replays that would need more memory than is available.
func (a *advising) admit(table *dataset.Table, z forecast.Sizes, texts []string) error {
	config, err := a.net.config()
	if err != nil {
		return err
	}
	if len(texts) == 0 {
		texts = benchmark.AdviseSpecs(a.learner, z.Train)
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
	need := replayNeed(table.Bytes()+unlabelled, z, config, specs, 1)
	if a.learner.Blends() {
		fit, _ := learner.Memory(a.learner, config, z.Inputs, z.Train)
		need += footprint.Resident(fit)
	}
	return a.columns.memory.admit("the replay", need, "narrower layers (--hidden)",
		"methods with a smaller sketch", "fewer labelled rows")
}

// adviseResult is what advise prints as JSON.
type adviseResult struct {
	Verdict string `json:"verdict"` // "beats random", "no gain", "random is better" or "not enough labels"
	Answer  string `json:"answer"`  // the verdict in a sentence
	Because string `json:"because"`
	// that would probably settle it; 0 if the verdict stands, or if too many to estimate
	More    int    `json:"more_labels"`
	Repeats int    `json:"more_repeats"` // that would probably settle it without another label; 0 if none would
	Spec    string `json:"spec"`         // the method to use
	Batch   int    `json:"batch"`        // 0: any
	BatchBy string `json:"batch_by"`
	// Learner says which models suit the labels, and why, and Candidates the same as numbers; absent for a network
	// alone. With several targets they are those of the first, and Targets has those of each.
	Learner    string              `json:"learner,omitempty"`
	Candidates []learner.Candidate `json:"candidates,omitempty"`
	Targets    []adviseTarget      `json:"targets,omitempty"`
	Labelled   int                 `json:"labelled"`
	Pool       int                 `json:"pool"`
	Ratio      number              `json:"rmse_mae_ratio"`
	// in sample efficiency, by the paper's data sets
	Expected number             `json:"expected_improvement"`
	Fall     *estimate.Interval `json:"random_log_rmse_reduction,omitempty"` // from the start to the last round
	Methods  []adviseMethod     `json:"methods"`
	Replay   *replayEntry       `json:"replay,omitempty"`
	Seed     uint64             `json:"seed"`
	Warnings []string           `json:"warnings"`
	Seconds  float64            `json:"seconds"`
	Version  string             `json:"version"`
}

// adviseTarget is the model that suits the labels of one of several targets.
type adviseTarget struct {
	Target     string              `json:"target"`
	Learner    string              `json:"learner"`
	Candidates []learner.Candidate `json:"candidates"`
}

// adviseMethod compares a method with random; its intervals hold for all methods together.
type adviseMethod struct {
	Spec       string            `json:"spec"`
	Reduction  estimate.Interval `json:"log_rmse_reduction"` // mean over the rounds after the start
	ErrorRatio estimate.Interval `json:"error_ratio"`        // the same as error of the method / error of random
	// the final error of random; null beyond the range of the replay
	Labels estimate.Interval `json:"labels_to_reach"`
}

// replayEntry holds the division of the labelled rows, and the learning curves.
type replayEntry struct {
	Level   number              `json:"confidence"`
	Test    int                 `json:"test"`
	Valid   int                 `json:"valid"`
	Repeats int                 `json:"repeats"`
	Labels  []int               `json:"labels"`
	LogRMSE map[string][]number `json:"mean_log_rmse"` // by spec, after each round; labels have deviation 1
}

func newAdviseResult(advice *benchmark.Advice, rows *tables.Rows, a *advising) adviseResult {
	r := adviseResult{
		Verdict: advice.Verdict.String(), Answer: advice.Answer(), Because: advice.Because, More: advice.More,
		Repeats: advice.Repeats,
		Spec:    advice.Method, Batch: advice.Batch, BatchBy: advice.BatchBy, Labelled: rows.Train.Rows, Pool: rows.Pool.Rows,
		Ratio: number(advice.Variation.Ratio), Expected: number(advice.Variation.Expected),
		Methods: []adviseMethod{}, Seed: a.net.seed, Warnings: append([]string{}, a.progress.warnings...),
		Version: thisBuild().Version,
	}
	for i, m := range advice.Chosen {
		if i == 0 {
			r.Learner, r.Candidates = m.Learner, m.Candidates
		}
		if len(advice.Chosen) > 1 {
			r.Targets = append(r.Targets, adviseTarget{m.Target, m.Learner, m.Candidates})
		}
	}
	c := advice.Comparison
	if c == nil {
		return r
	}
	fall := estimate.Interval(c.Fall)
	r.Fall = &fall
	for _, g := range c.Methods {
		ratio := estimate.Interval{Value: math.Exp(-g.Reduction.Value), Low: math.Exp(-g.Reduction.High),
			High: math.Exp(-g.Reduction.Low)}
		r.Methods = append(r.Methods, adviseMethod{g.Spec, estimate.Interval(g.Reduction), ratio,
			estimate.Interval(g.Labels)})
	}
	r.Replay = &replayEntry{number(c.Confidence), advice.Sizes.Test, advice.Sizes.Valid, c.Splits,
		c.Labels, map[string][]number{}}
	for _, round := range advice.Results {
		curve := r.Replay.LogRMSE[round.Spec]
		if curve == nil {
			curve = make([]number, len(c.Labels))
			r.Replay.LogRMSE[round.Spec] = curve
		}
		curve[round.Round] += number(math.Log(round.Test.RMSE) / float64(c.Splits))
	}
	return r
}

// marked writes the numbers of a text as the table does. Methods and the names of targets in it stay.
func (a *advising) marked(text string, methods ...string) string {
	return words.MarkedIn(text, a.decimal, slices.Concat(methods, a.rows.Targets)...)
}

func (a *advising) print(out io.Writer, advice *benchmark.Advice, r adviseResult) error {
	for _, text := range a.sentences(advice, r) {
		fmt.Fprintln(out, strings.Join(words.Wrap(shown(text), terminalWidth), "\n"))
	}
	for _, t := range a.tables(advice, r) {
		fmt.Fprintln(out)
		if err := printTable(out, t); err != nil {
			return err
		}
	}
	return nil
}

// sentence begins with a capital letter, unless it begins with a spec.
func sentence(text string) string {
	if word, _, _ := strings.Cut(text, " "); strings.Contains(word, ":") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// sentences are the answer and its reason.
func (a *advising) sentences(advice *benchmark.Advice, r adviseResult) (texts []string) {
	methods := append(adviceSpecs(advice), r.Spec)
	for _, text := range []string{r.Answer, r.Because} {
		texts = append(texts, a.marked(sentence(text)+".", methods...))
	}
	return texts
}

// tables returns the advice, the comparison of each method, and the errors.
func (a *advising) tables(advice *benchmark.Advice, r adviseResult) (list []*report.Table) {
	methods := append(adviceSpecs(advice), r.Spec)
	for _, t := range adviceTables(advice, r) {
		list = append(list, t.Map(func(text string) string { return a.marked(text, methods...) }))
	}
	return list
}

// adviceTables returns the advice, the comparison of each method, and the errors, with decimal points.
func adviceTables(a *benchmark.Advice, r adviseResult) []*report.Table {
	facts := &report.Table{Columns: []report.Column{{Head: "advice"}, {Head: ""}}, Facts: true}
	add := func(name, value string) {
		facts.Rows = append(facts.Rows, report.Row{Cells: []report.Cell{report.Text(name), report.Text(value)}})
	}
	for _, m := range a.Chosen {
		add(strings.TrimSpace("learner "+m.Target), m.Learner)
	}
	add("method", r.Spec)
	add("batch", batchText(r))
	c := a.Comparison
	if c == nil {
		return []*report.Table{facts}
	}
	v, last := a.Variation, len(c.Labels)-1
	add("RMSE/MAE", fmt.Sprintf("%.2f, of random selection with %d labels, on %d held-out rows", v.Ratio,
		v.Labels, a.Sizes.Test))
	add("expected", expectedText(v.Expected))
	add("replay",
		fmt.Sprintf("from %d to %d labels in %d rounds, on %d splits of the %d labelled rows, errors on %d rows each",
			c.Labels[0], c.Labels[last], last, c.Splits, a.Sizes.Rows, a.Sizes.Test))
	add("more labels", c.FallText())
	return []*report.Table{facts, gainsTable(c), errorsTable(a, r)}
}

// expectedText describes what the paper's data sets suggest for such a ratio of RMSE and MAE.
func expectedText(improvement float64) string {
	speed := fmt.Sprintf("%.1f times as fast", 1+improvement)
	if math.Abs(improvement) < 0.05 {
		speed = "as fast"
	}
	return "on data sets of the paper with such a ratio, the logarithm of the error falls " +
		speed + " as with random rows"
}

func batchText(r adviseResult) string {
	if r.Batch == 0 {
		return "any: " + r.BatchBy
	}
	return words.Count(r.Batch, "row", "rows") + ": " + r.BatchBy
}

func gainsTable(c *benchmark.Comparison) *report.Table {
	last := len(c.Labels) - 1
	t := &report.Table{
		Title: "Compared with random",
		Note: fmt.Sprintf("Error: RMSE on held-out rows, the geometric mean over %d splits and the rounds with %d to %d labels. Intervals hold at %.0f %% for all methods together, corrected for splits that share rows.",
			c.Splits, c.Labels[1], c.Labels[last], 100*c.Confidence),
		Columns: []report.Column{{Head: "method"}, {Head: "error"}, {Head: "labels to reach the final error of random"}},
	}
	for _, g := range c.Methods {
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.Text(g.Spec),
			report.Text(benchmark.ReductionText(g.Reduction, c.Confidence)), report.Text(c.LabelsText(g))}})
	}
	return t
}

func errorsTable(a *benchmark.Advice, r adviseResult) *report.Table {
	t := &report.Table{
		Title: "RMSE by labels",
		Note: fmt.Sprintf("On held-out rows, in units of the labels' deviation; geometric means over %d splits.",
			a.Comparison.Splits),
		Columns: []report.Column{{Head: "method"}},
	}
	for _, n := range a.Comparison.Labels {
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

func (a *advising) advicePage(advice *benchmark.Advice, r adviseResult) *report.Page {
	page := &report.Page{Title: "Is active learning worth it for " + a.path + "?",
		Intro: a.sentences(advice, r), Warnings: r.Warnings}
	tables := a.tables(advice, r)
	reasons := report.Section{Title: "Why", Tables: tables[:1]}
	if advice.Comparison != nil {
		reasons.Figures, reasons.Beside = []*report.Figure{a.figure(advice, r)}, true
	}
	page.Sections = []report.Section{{Title: "What to do next", Steps: []report.Step{a.nextStep(r)}}, reasons}
	if advice.Comparison != nil {
		page.Sections = append(page.Sections, report.Section{Title: "The methods, compared", Tables: tables[1:]})
	}
	return page
}

// nextStep follows the advice.
func (a *advising) nextStep(r adviseResult) report.Step {
	if r.Pool == 0 {
		return report.Step{Text: "Every row of the table has a label. Add rows without one, to pick from."}
	}
	args := []string{"nextbatch", "select", a.path, "--target", a.columns.target}
	if a.columns.id != "" {
		args = append(args, "--id", a.columns.id)
	}
	if a.learner != learner.Auto {
		args = append(args, "--learner", string(a.learner))
	}
	args = append(args, "--method", r.Spec, "-n", strconv.Itoa(cmp.Or(r.Batch, usualBatch)), "--out", "batch.csv")
	return report.Step{Text: "Pick the next rows to label:", Command: words.CommandLine(args...)}
}

const usualBatch = 16 // rows, where any number is as good

func (a *advising) figure(advice *benchmark.Advice, r adviseResult) *report.Figure {
	var curves []report.Curve
	for _, spec := range adviceSpecs(advice) {
		c := report.Curve{Name: spec}
		for i, v := range r.Replay.LogRMSE[spec] {
			c.X, c.Y = append(c.X, float64(advice.Comparison.Labels[i])), append(c.Y, math.Exp(float64(v)))
		}
		curves = append(curves, c)
	}
	f := report.LearningCurves("Replay on the labelled rows", "RMSE (labels have deviation 1)", curves)
	f.Decimal = a.decimal
	f.Note = fmt.Sprintf("Errors on held-out rows: geometric means over %d splits. Errors differ more between splits than between methods, which are compared split by split: the table of the methods has the intervals of the differences.", advice.Comparison.Splits)
	return f
}
