package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/sets"
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
	q.Data = &sets.Regression{X: rows.Train, Y: rows.Labels.Data, Targets: len(rows.Targets), Names: rows.Targets,
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
		a.progress.step("replay", done, of, words.Textf(
			"%s, split %d, %d labels, RMSE %.3g on held-out rows (labels have deviation 1)", r.Spec, r.Split+1, r.Labels,
			r.Test.RMSE).In(a.decimal))
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
		a.progress.warn(c.Notes...)
	}
	if troubled > 0 {
		//warning:replay
		a.progress.warn(fmt.Sprintf("%d of %d rounds of the replay had a warning; the first was that of %s", troubled,
			len(advice.Results), first))
	}
	if pool := rows.Pool.Rows; pool > 0 && advice.Batch > pool {
		advice.Batch, advice.BatchBy = pool, "as many rows as there are candidates"
	}
	result := report.AdviceOf(advice, rows, report.Advice{Name: a.path, Target: a.columns.target, ID: a.columns.id,
		Learner: a.learner, Decimal: a.decimal, About: a.about(a.net.seed)})
	found := printed(a.json, result.Result, func(out io.Writer) error { return a.print(out, result) })
	found.savePage(a.page, a.progress, func() (*report.Page, error) { return result.Page(), nil })
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
		if method.Method == "random" {
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
	_, a.rows, err = a.columns.rows(ctx, a.path, a.progress, new(fitted.Options), func(table *dataset.Table,
		z tables.Sizes) error {
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

func (a *advising) print(out io.Writer, advice *report.Advice) error {
	for _, text := range advice.Sentences() {
		fmt.Fprintln(out, strings.Join(words.Wrap(shown(text), terminalWidth), "\n"))
	}
	for _, t := range advice.Tables() {
		fmt.Fprintln(out)
		if err := printTable(out, t); err != nil {
			return err
		}
	}
	return nil
}
