package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// evaluateFlags are the flags of evaluate.
type evaluateFlags struct {
	columns  columnFlags
	file     string // of the network
	foreign  foreignFlags
	coverage float64
	json     bool
	threads  int
	quiet    bool
}

// evaluating is a run of evaluate.
type evaluating struct {
	evaluateFlags
	run
	path  string
	model predictor
	rows  *tables.Rows
	need  int64 // of memory
}

// evaluateResult is what evaluate prints as JSON; errors are in units of the
// labels.
type evaluateResult struct {
	targetErrors                // of the first of several targets
	Targets      []targetErrors `json:"targets,omitempty"` // each of several targets
	Wanted       number         `json:"wanted_coverage"`
	Memory       int64          `json:"memory_forecast"`
	Warnings     []string       `json:"warnings"`
}

// targetErrors are the errors of the predictions of one target.
type targetErrors struct {
	Target string `json:"target,omitempty"` // of several
	Rows   int    `json:"rows"`             // that have a label
	MAE    number `json:"mae"`
	RMSE   number `json:"rmse"`
	MaxE   number `json:"maxe"`
	Q95    number `json:"q95"`
	Q99    number `json:"q99"`
	// share of labels in their intervals; null without intervals
	Coverage   *number             `json:"coverage"`
	Learner    string              `json:"learner,omitempty"`    // what was chosen for a blend, and why
	Candidates []learner.Candidate `json:"candidates,omitempty"` // of a blend
}

func newEvaluate() *cobra.Command {
	e := &evaluateFlags{}
	c := &cobra.Command{
		Use:        "evaluate TABLE",
		SuggestFor: []string{"test", "score"},
		Short:      "Measure the errors of a saved model on labelled rows",
		Example:    "  nextbatch evaluate test.csv --model model.nextbatch --target y --json",
		Args:       cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &evaluating{evaluateFlags: *e, run: newRun(cmd, e.quiet), path: args[0]}
			return r.perform(cmd.Context(), steps{check: r.check, threads: r.threads, memory: &r.columns.memory,
				read: r.read, compute: r.compute})
		},
		Long: `Prints the errors that the paper reports, over all rows of the table that have a
label: mean absolute error, root mean squared error, the largest error, and the
95 % and 99 % quantiles. On rows that it was fitted to, a model looks better than it is.`,
	}
	e.columns.registerTarget(c)
	c.Flags().StringVar(&e.file, "model", "",
		"model that 'nextbatch fit' saved, or a network from elsewhere: .onnx, or .json with a description")
	e.foreign.register(c)
	c.Flags().Float64Var(&e.coverage, "coverage", conformal.DefaultCoverage,
		"probability that an interval should contain the label")
	c.Flags().BoolVar(&e.json, "json", false, "print one JSON object")
	registerQuiet(c, &e.quiet)
	registerThreads(c, &e.threads)
	registerDevice(c)
	e.columns.register(c)
	e.columns.registerMissing(c)
	return c
}

func (e *evaluating) check() error {
	switch {
	case e.file == "":
		return usagef("name the model with --model")
	case e.columns.target == "":
		return usagef("name the target column with --target")
	case !(e.coverage > 0 && e.coverage < 1):
		return usagef("--coverage must be between 0 and 1, not %v", e.coverage)
	}
	return errors.Join(e.columns.check(), e.foreign.check(e.file))
}

// read reads the model and the rows.
func (e *evaluating) read(ctx context.Context) (err error) {
	if e.model, err = e.foreign.load(ctx, e.file, e.path, "", e.progress); err != nil {
		return err
	}
	table, err := e.columns.read(ctx, e.path, false)
	if err != nil {
		return err
	}
	t := e.columns.tables(e.path, table)
	t.NotInputs, t.IDColumn = []string{t.IDColumn}, "" // an error for each label, also of replicates
	e.rows, e.need, err = e.columns.rowsFor(ctx, e.model, t, e.progress, "evaluating", "fewer rows")
	if err != nil {
		return err
	}
	if e.rows.Train.Rows == 0 {
		return dataError{errorf("%s: no row has a label", e.path)}
	}
	return nil
}

func (e *evaluating) compute(ctx context.Context) (*answer, error) {
	outputs, err := e.model.outputsOf(e.rows.Targets)
	if err != nil {
		return nil, err
	}
	x, _, err := e.model.inputs(e.rows)
	if err != nil {
		return nil, dataError{err}
	}
	predicted, err := e.model.predict(ctx, x, outputs, false)
	if err != nil {
		return nil, dataError{err}
	}
	var found []targetErrors
	for k, u := range predicted {
		one, err := e.target(ctx, x, k, outputs[k], u)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return e.answer(found), nil
}

// target measures the errors of one target, which is the given output of the model.
func (e *evaluating) target(ctx context.Context, x matrix.Dense[float32], k, output int,
	u network.Uncertain) (found targetErrors, err error) {
	at, labels := e.rows.Labelled(k)
	if len(labels) == 0 {
		return found, dataError{errorf("%s: no row has a label in column %q", e.path, e.rows.Targets[k])}
	}
	var low, high []float64
	if e.model.noIntervals() == "" {
		low, high, _, err = e.model.interval(ctx, x, output, u, e.coverage)
		if few := (*conformal.CoverageError)(nil); errors.As(err, &few) {
			e.progress.warn(err.Error())
		} else if err != nil {
			return found, dataError{err}
		}
	}
	found = measured(e.rows.Targets[k], chosen(u.Mean, at), labels, chosen(low, at), chosen(high, at))
	if own, is := e.model.(ownModel); is {
		found.Learner, found.Candidates = fitted.Choice(own.Target(output)), own.Target(output).Candidates()
	}
	return found, nil
}

// chosen returns the numbers at some places; nil stays nil.
func chosen(v []float64, at []int) (some []float64) {
	if v == nil {
		return nil
	}
	for _, i := range at {
		some = append(some, v[i])
	}
	return some
}

// measured compares predictions of a target with labels; low and high are nil without
// intervals.
func measured(target string, predicted, labels, low, high []float64) targetErrors {
	m := stats.Measure(matrix.View(1, len(predicted), predicted), labels)
	t := targetErrors{Target: target, Rows: len(labels), MAE: number(m.MAE), RMSE: number(m.RMSE), MaxE: number(m.MaxE),
		Q95: number(m.Q95), Q99: number(m.Q99)}
	if low == nil {
		return t
	}
	held := 0
	for i, y := range labels {
		if low[i] <= y && y <= high[i] {
			held++
		}
	}
	t.Coverage = new(number(float64(held) / float64(len(labels))))
	return t
}

// answer describes the errors of the targets.
func (e *evaluating) answer(targets []targetErrors) *answer {
	if e.json {
		result := evaluateResult{targetErrors: targets[0], Wanted: number(e.coverage), Memory: e.need,
			Warnings: append([]string{}, e.progress.warnings...)}
		if result.Target = ""; len(targets) > 1 {
			result.Targets = targets
		}
		return &answer{json: result}
	}
	return &answer{text: func(out io.Writer) error {
		for _, t := range targets {
			if len(targets) > 1 {
				fmt.Fprintf(out, "target %s\n", shown(t.Target))
			}
			if t.Learner != "" {
				fmt.Fprintf(out, "learner %s\n", t.Learner)
			}
			fmt.Fprintf(out, "rows   %s\nMAE    %s\nRMSE   %s\nmax    %s\n95 %%   %s\n99 %%   %s\n", words.Whole(t.Rows),
				words.Number(float64(t.MAE)), words.Number(float64(t.RMSE)), words.Number(float64(t.MaxE)),
				words.Number(float64(t.Q95)), words.Number(float64(t.Q99)))
			if t.Coverage != nil {
				fmt.Fprintf(out, "held   %.1f %% of the labels are in their %.0f %% intervals\n",
					100*float64(*t.Coverage), 100*e.coverage)
			}
		}
		return nil
	}}
}
