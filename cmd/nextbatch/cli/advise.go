package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/benchmark"
	"github.com/nextbatch/nextbatch/dataset"
)

// advising is a run of advise.
type advising struct {
	columns         columnFlags
	net             networkFlags
	methods         []string
	rounds, repeats int
	json, quiet     bool

	progress *progress
}

func newAdvise() *cobra.Command {
	a := &advising{}
	c := &cobra.Command{
		Use:   "advise TABLE",
		Short: "Tell from the labels at hand whether active learning is worth it",
		Example: `  nextbatch advise table.csv --target y --id name
  nextbatch advise table.csv --target y --method 'lcmd-tp:ll' --repeats 10 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.progress = newProgress(cmd.ErrOrStderr(), a.quiet)
			return a.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
		Long: `Replays active learning on the rows that have a label: some are kept apart to
measure errors on, a few are labelled at the start, and the methods ask for the
labels of the others, round after round, against random rows. Prints what part of
the labels each method saves, with an interval, the ratio RMSE/MAE with what the
paper's data sets let expect from it (section "When should BMDAL be Applied?"),
and then a method and a batch size, or that random is as good, or that there are
too few labels to tell.

The intervals hold at 95 %, all together: a jackknife over the repeats, Student's
t. They cover the luck of splits and networks, not that of another table; and a
replay has a smaller pool than the real thing, which leaves methods less choice.`,
	}
	f := c.Flags()
	f.StringVar(&a.columns.target, "target", "", "column of the labels")
	f.StringArrayVar(&a.methods, "method", nil, "a method to try; may be given again (default "+fmt.Sprint(benchmark.AdviseSpecs())+")")
	f.IntVar(&a.rounds, "rounds", 3, "batches that a method asks for")
	f.IntVar(&a.repeats, "repeats", 6, "repetitions on other splits")
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
	restore, err := useThreads(a.net.threads)
	if err != nil {
		return err
	}
	defer restore()
	rows, err := a.read(path)
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
		return q, usagef("name the column of the labels with --target")
	}
	if a.rounds < 1 || a.repeats < 2 {
		return q, usagef("--rounds must be at least 1 and --repeats at least 2")
	}
	for _, text := range a.methods {
		spec, err := nextbatch.ParseSpec(text)
		if err != nil {
			return q, err
		}
		if spec.Method == nextbatch.Random {
			return q, usagef("--method random is what the others are compared with; name others")
		}
		q.Specs = append(q.Specs, spec.String())
	}
	_, err := a.net.config()
	return q, errors.Join(err, a.columns.check())
}

func (a *advising) read(path string) (*nextbatch.Rows, error) {
	table, err := a.columns.read(path, false)
	if err != nil {
		return nil, err
	}
	t := nextbatch.Tables{One: table, Target: a.columns.target, Strict: a.columns.missing == "refuse"}
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
	Saved   intervalEntry `json:"labels_saved"`  // part of the labels that random rows take to their last error
	Gain    intervalEntry `json:"log_rmse_gain"` // mean over rounds
	Reached bool          `json:"reached"`       // that error, within the rounds
}

// replayEntry is how the labelled rows were divided, and the learning curves.
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
	fmt.Fprintf(out, "%s: %s.\n\n", r.Verdict, r.Because)
	if a.Savings != nil {
		v := a.Variation
		fmt.Fprintf(out, "RMSE/MAE    %.2f, of a network with %d labels on %d rows that it has not seen\n", v.Ratio, v.Labels, a.Sizes.Test)
		fmt.Fprintf(out, "expected    the log of the error falls by %.2f times what random rows give, by the paper's data sets (correlation 0.88)\n", 1+v.Expected)
		fmt.Fprintf(out, "replay      from %d to %d labels in %d rounds, %d times, errors on %d rows\n",
			a.Savings.Labels[0], a.Savings.Labels[len(a.Savings.Labels)-1], a.Sizes.Rounds, a.Savings.Splits, a.Sizes.Test)
		if err := printSavings(out, a, r); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "method      %s\n", r.Spec)
	if r.Batch == 0 {
		fmt.Fprintf(out, "batch       any; %s\n", r.BatchBy)
	} else {
		fmt.Fprintf(out, "batch       %d; %s\n", r.Batch, r.BatchBy)
	}
	return nil
}

func printSavings(out io.Writer, a *benchmark.Advice, r adviseResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nmethod\tlabels saved\t95 % interval\tlabels for the last error of random\t\n")
	last := a.Savings.Labels[len(a.Savings.Labels)-1]
	for _, m := range a.Savings.Methods {
		needed := "not reached"
		if m.Reached {
			needed = fmt.Sprintf("%.0f of %d", (1-m.Share.Value)*float64(last), last)
		}
		fmt.Fprintf(w, "%s\t%s\t%s to %s\t%s\t\n", m.Spec, percent(m.Share.Value), percent(m.Share.Low), percent(m.Share.High), needed)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nRMSE\t")
	for _, n := range a.Savings.Labels {
		fmt.Fprintf(w, "%d labels\t", n)
	}
	fmt.Fprintln(w)
	seen := map[string]bool{}
	for _, round := range a.Results {
		if !seen[round.Spec] {
			seen[round.Spec] = true
			fmt.Fprintf(w, "%s\t", round.Spec)
			for _, v := range r.Replay.LogRMSE[round.Spec] {
				fmt.Fprintf(w, "%.4g\t", math.Exp(float64(v)))
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprint(w, "\t(geometric means; labels have deviation 1)\n\n")
	return w.Flush()
}

func percent(share float64) string {
	if math.IsNaN(share) {
		return "unknown"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
