package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/wire"
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
		RunE: performs(func(ctx context.Context, args []string) (*answer, error) {
			list, err := benchStatusOf(ctx, args[0])
			if err != nil {
				return nil, dataError{err}
			}
			return printed(asJSON, list, func(out io.Writer) error { return printBenchStatus(out, list) }), nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func benchStatusOf(ctx context.Context, path string) (all wire.BenchmarkStatus, err error) {
	s, err := openResults(ctx, path)
	if err != nil {
		return all, err
	}
	runs, err := s.Status(ctx)
	settings, errSettings := s.Settings(ctx)
	workers, errWorkers := s.Workers(ctx)
	outlook, errOutlook := benchmark.OutlookOf(ctx, s, settings, runs)
	all = wire.BenchmarkStatus{Settings: settings, Rounds: roundsOf(outlook), Workers: []wire.WorkerStatus{},
		Methods: []wire.MethodStatus{}, Failures: []wire.RunFailure{}}
	for _, w := range workers {
		all.Workers = append(all.Workers, wire.WorkerStatus{Host: w.Host, PID: w.PID, Started: w.Started.UTC(), Runs: w.Runs,
			Version: w.Version, CPU: w.CPU, SIMD: w.SIMD})
	}
	for _, r := range runs {
		countRun(&all, r)
	}
	for i := range all.Methods {
		all.Methods[i].Seconds /= number(max(1, all.Methods[i].Done))
	}
	return all, errors.Join(err, errSettings, errWorkers, errOutlook, s.Close())
}

func roundsOf(o benchmark.Outlook) wire.RoundStatus {
	r := wire.RoundStatus{Done: o.Done, Total: o.Total}
	if o.Known {
		seconds := number(o.Left.Seconds())
		r.Left = &seconds
	}
	return r
}

// countRun counts a run. The runs of a method are consecutive.
func countRun(a *wire.BenchmarkStatus, r benchmark.RunStatus) {
	m := wire.MethodStatus{
		DataSet: r.Run.DataSet, Activation: r.Run.Activation, Spec: r.Run.Spec, Compat: r.Run.Compat,
		Batch: r.Run.BatchSize, Rounds: r.Run.Rounds,
	}
	if n := len(a.Methods); n == 0 || !sameMethod(a.Methods[n-1], m) {
		a.Methods = append(a.Methods, m)
	}
	to := &a.Methods[len(a.Methods)-1]
	to.Add(r)
	a.Add(r)
	switch {
	case r.Finished():
		to.Seconds += number(r.Seconds)
	case r.Failed():
		to.Failed++
		a.Failures = append(a.Failures, wire.RunFailure{Run: r.Run.String(), Error: r.Failure})
	}
}

// sameMethod reports whether two have the same method and data set. The second has no runs yet.
func sameMethod(m, other wire.MethodStatus) bool {
	m.RunCounts, m.Failed, m.Seconds = wire.RunCounts{}, 0, 0
	return m == other
}

func printBenchStatus(out io.Writer, s wire.BenchmarkStatus) error {
	fmt.Fprintf(out, "%d of %d runs are done, %d under way\n", s.Done, s.Runs, s.Working)
	printRounds(out, s.Rounds)
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
			shown(m.DataSet), shown(m.Activation), shown(m.Spec), compat, m.Rounds, m.Batch, m.Done, m.Runs, m.Working,
			m.Failed, float64(m.Seconds))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	printFailures(out, s.Failures)
	return nil
}

// printRounds prints how many rounds are done, and how long the others may take.
func printRounds(out io.Writer, r wire.RoundStatus) {
	left := ""
	if r.Left != nil && r.Done < r.Total {
		left = "about " + roughly(time.Duration(float64(*r.Left)*float64(time.Second))) + " left"
	}
	fmt.Fprintf(out, "%d of %d rounds are done%s\n", r.Done, r.Total, after(left))
}

func printWorkers(out io.Writer, workers []wire.WorkerStatus) error {
	if len(workers) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\n%s:\n", words.Count(len(workers), "worker", "workers"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "host\tprocess\truns\tsince\tprocessor")
	for _, one := range workers {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s, %s\n", shown(one.Host), one.PID, one.Runs, one.Started.Format("2006-01-02 15:04"),
			shown(one.CPU), shown(one.SIMD))
	}
	return w.Flush()
}

// printFailures prints each reason once.
func printFailures(out io.Writer, failures []wire.RunFailure) {
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
		RunE: performs(func(ctx context.Context, args []string) (*answer, error) {
			if out == "" {
				return nil, usagef("--out must name the file to write")
			}
			if err := checkOutput("--out", out, tableExtensions()...); err != nil {
				return nil, err
			}
			return benchExport(ctx, args[0], out)
		}),
	}
	c.Flags().StringVar(&out, "out", "", "file to write: "+strings.Join(tableExtensions(), ", ")+"; .gz may follow")
	return c
}

func benchExport(ctx context.Context, results, out string) (*answer, error) {
	s, err := openResults(ctx, results)
	if err != nil {
		return nil, dataError{err}
	}
	records, err := s.Records(ctx)
	settings, errSettings := s.Settings(ctx)
	if err := errors.Join(err, errSettings, s.Close()); err != nil {
		return nil, dataError{err}
	}
	t, err := benchmark.Table(records, settings.Seed)
	if err != nil {
		return nil, err
	}
	return tableAnswer(out, t), nil
}
