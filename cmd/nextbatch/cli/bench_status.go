package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/benchmark"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/words"
)

func newBenchStatus() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "status RESULTS",
		Short: "Show the progress of the runs, the workers and a forecast",
		Example: `  nextbatch bench status results.db --json
  nextbatch bench status postgres://user@host/database`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := benchStatusOf(cmd.Context(), args[0])
			if err != nil {
				return dataError{err}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), list)
			}
			return printBenchStatus(cmd.OutOrStdout(), list)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// benchStatus is what bench status prints as JSON.
type benchStatus struct {
	Settings benchmark.Settings `json:"settings"`
	Runs     int                `json:"runs"`
	Done     int                `json:"done"`
	Working  int                `json:"working"` // runs that a process is working on
	Rounds   roundStatus        `json:"rounds"`
	Workers  []workerStatus     `json:"workers"`
	Methods  []methodStatus     `json:"methods"`
	Failures []runFailure       `json:"failures"`
}

// methodStatus counts the runs of a method on a data set, one per split.
type methodStatus struct {
	DataSet    string `json:"dataset"`
	Activation string `json:"activation"`
	Spec       string `json:"spec"`
	Compat     bool   `json:"compat"`
	Batch      int    `json:"batch"`
	Rounds     int    `json:"rounds"`
	Runs       int    `json:"runs"`
	Done       int    `json:"done"`
	Working    int    `json:"working"`
	Failed     int    `json:"failed"`
	Seconds    number `json:"seconds"` // mean of the finished runs; 0 if there are none
}

// roundStatus counts rounds, and forecasts the time of those that are left.
type roundStatus struct {
	Done  int     `json:"done"`
	Total int     `json:"total"`
	Left  *number `json:"seconds_left"` // with as many runs at the same time as now; null if unknown
}

// workerStatus is a process that is at work.
type workerStatus struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Runs    int       `json:"runs"` // under way
	Version string    `json:"version"`
	CPU     string    `json:"cpu"`
	SIMD    string    `json:"simd"`
}

type runFailure struct {
	Run   string `json:"run"`
	Error string `json:"error"`
}

func benchStatusOf(ctx context.Context, path string) (benchStatus, error) {
	s, err := openResults(ctx, path)
	if err != nil {
		return benchStatus{}, err
	}
	runs, err := s.Status(ctx)
	settings, errSettings := s.Settings(ctx)
	workers, errWorkers := s.Workers(ctx)
	outlook, errOutlook := benchmark.OutlookOf(ctx, s, settings, runs)
	all := benchStatus{Settings: settings, Runs: len(runs), Rounds: roundsOf(outlook), Workers: []workerStatus{}, Methods: []methodStatus{}, Failures: []runFailure{}}
	for _, w := range workers {
		all.Workers = append(all.Workers, workerStatus{w.Host, w.PID, w.Started.UTC(), w.Runs, w.Version, w.CPU, w.SIMD})
	}
	for _, r := range runs {
		all.add(r)
	}
	for i := range all.Methods {
		all.Methods[i].Seconds /= number(max(1, all.Methods[i].Done))
	}
	return all, errors.Join(err, errSettings, errWorkers, errOutlook, s.Close())
}

func roundsOf(o benchmark.Outlook) roundStatus {
	r := roundStatus{Done: o.Done, Total: o.Total}
	if o.Known {
		seconds := number(o.Left.Seconds())
		r.Left = &seconds
	}
	return r
}

// add counts a run. The runs of a method are consecutive.
func (a *benchStatus) add(r benchmark.RunStatus) {
	m := methodStatus{
		DataSet: r.Run.DataSet, Activation: r.Run.Activation, Spec: r.Run.Spec, Compat: r.Run.Compat,
		Batch: r.Run.BatchSize, Rounds: r.Run.Rounds,
	}
	if n := len(a.Methods); n == 0 || !a.Methods[n-1].same(m) {
		a.Methods = append(a.Methods, m)
	}
	to := &a.Methods[len(a.Methods)-1]
	to.Runs++
	switch {
	case r.Finished():
		to.Done++
		a.Done++
		to.Seconds += number(r.Seconds)
	case r.Working:
		to.Working++
		a.Working++
	case r.Failure != "":
		to.Failed++
		a.Failures = append(a.Failures, runFailure{r.Run.String(), r.Failure})
	}
}

// same reports whether two have the same method and data set.
func (m methodStatus) same(other methodStatus) bool {
	m.Runs, m.Done, m.Working, m.Failed, m.Seconds = 0, 0, 0, 0, 0
	return m == other
}

func printBenchStatus(out io.Writer, s benchStatus) error {
	fmt.Fprintf(out, "%d of %d runs are done, %d under way\n", s.Done, s.Runs, s.Working)
	s.Rounds.print(out)
	if err := printWorkers(out, s.Workers); err != nil {
		return err
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "data set\tactivation\tmethod\trounds\tdone\tunder way\tfailed\tseconds per run")
	for _, m := range s.Methods {
		compat := ""
		if m.Compat {
			compat = "@compat"
		}
		fmt.Fprintf(w, "%s\t%s\t%s%s\t%d x %d\t%d of %d\t%d\t%d\t%.1f\n",
			shown(m.DataSet), shown(m.Activation), shown(m.Spec), compat, m.Rounds, m.Batch, m.Done, m.Runs, m.Working, m.Failed, float64(m.Seconds))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	printFailures(out, s.Failures)
	return nil
}

// print prints how many rounds are done, and how long the others may take.
func (r roundStatus) print(out io.Writer) {
	left := ""
	if r.Left != nil && r.Done < r.Total {
		left = "about " + roughly(time.Duration(float64(*r.Left)*float64(time.Second))) + " left"
	}
	fmt.Fprintf(out, "%d of %d rounds are done%s\n", r.Done, r.Total, after(left))
}

func printWorkers(out io.Writer, workers []workerStatus) error {
	if len(workers) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\n%s:\n", words.Count(len(workers), "worker", "workers"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "host\tprocess\truns\tsince\tprocessor")
	for _, one := range workers {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s, %s\n", shown(one.Host), one.PID, one.Runs, one.Started.Format("2006-01-02 15:04"), shown(one.CPU), shown(one.SIMD))
	}
	return w.Flush()
}

// printFailures prints each reason once.
func printFailures(out io.Writer, failures []runFailure) {
	count := map[string]int{}
	for _, f := range failures {
		count[f.Error]++
	}
	if len(failures) > 0 {
		fmt.Fprintf(out, "\n%s:\n", words.Count(len(failures), "run failed", "runs failed"))
	}
	for _, f := range failures {
		switch n := count[f.Error]; {
		case n > 1:
			fmt.Fprintf(out, "%s and %s: %s\n", shown(f.Run), words.Count(n-1, "other", "others"), shown(f.Error))
		case n == 1:
			fmt.Fprintf(out, "%s: %s\n", shown(f.Run), shown(f.Error))
		}
		count[f.Error] = 0
	}
}

func newBenchExport() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "export RESULTS --out FILE",
		Short: "Write results as a table with one row per round",
		Example: `  nextbatch bench export results.db --out results.parquet
  nextbatch bench export postgres://user@host/database --out results.parquet`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usagef("--out must name the file to write")
			}
			if err := checkOutput("--out", out, tableExtensions()...); err != nil {
				return err
			}
			return benchExport(cmd.Context(), args[0], out)
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write: .csv, .tsv, .jsonl or .parquet; .gz may follow")
	return c
}

func benchExport(ctx context.Context, results, out string) error {
	s, err := openResults(ctx, results)
	if err != nil {
		return dataError{err}
	}
	records, err := s.Records(ctx)
	settings, errSettings := s.Settings(ctx)
	if err := errors.Join(err, errSettings, s.Close()); err != nil {
		return dataError{err}
	}
	t, err := benchmark.Table(records, settings.Seed)
	if err != nil {
		return err
	}
	return source.WriteFile(out, t)
}
