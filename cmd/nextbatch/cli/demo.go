package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/choice"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// demo picks a batch from a generated table, and compares what labels buy there: in
// each of a number of rounds a method picks rows and a network is trained from
// scratch.
type demo struct {
	start, rounds, batch, repeats int
	seed                          uint64
	json                          bool
	out                           string

	memory memory
	run
}

// Sizes of the generated data: a fifth is for testing.
const (
	demoRows, demoTest, demoValid = 6000, demoRows / 5, 128
	demoPool                      = demoRows - demoTest - demoValid
)

func newDemo() *cobra.Command {
	d := &demo{}
	c := &cobra.Command{
		Use:     "demo",
		Short:   "Pick a batch from a generated table, and compare it with random selection",
		Example: "  nextbatch demo --rounds 3 --seed 7",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.run = newRun(cmd, false)
			return d.perform(cmd.Context(), steps{check: d.check, memory: &d.memory, compute: d.compute})
		},
		Long: `Generates a table of simulations: the flow of water through a borehole, with eight
inputs. A few rows have a label. In each round the paper's network (--learner network of
other commands) is trained on the labelled rows and the next batch is picked, by its
default method and at random. Prints the error on held-out rows after each round.

Writes to the folder --out: nextbatch-demo.csv, the table, for trying other commands
on; nextbatch-demo.html, the first batch and the learning curves; and a picture of
both, nextbatch-demo.png.`,
	}
	registerDevice(c)
	d.memory.register(c)
	c.Flags().IntVar(&d.start, "start", 32, "labelled rows to start with")
	c.Flags().IntVar(&d.rounds, "rounds", 4, "rounds")
	c.Flags().IntVarP(&d.batch, "batch", "n", 32, "rows to label per round")
	c.Flags().IntVar(&d.repeats, "repeats", 2, "repetitions on other splits; errors are averaged over them")
	c.Flags().Uint64Var(&d.seed, "seed", 1, "seed of data, networks and methods")
	c.Flags().StringVarP(&d.out, "out", "o", ".", "folder for the table, the page and the picture; empty for none")
	c.Flags().BoolVar(&d.json, "json", false, "print one JSON object")
	return c
}

func (d *demo) check() error {
	if err := d.memory.check(); err != nil {
		return err
	}
	if d.start < 2 || d.rounds < 0 || d.batch < 1 || d.repeats < 1 || d.start+d.rounds*d.batch > demoPool {
		return usagef(
			"--start must be at least 2, --batch and --repeats at least 1, and %d + %d·%d rows are at most the %d available",
			d.start, d.rounds, d.batch, demoPool)
	}
	if d.out == "" {
		return nil
	}
	if err := checkOutput("--out", filepath.Join(d.out, demoName+".html"), ".html"); err != nil {
		return errorf("%w; name another folder, or none with --out ''", err)
	}
	return nil
}

func (d *demo) compute(ctx context.Context) (*answer, error) {
	data := &sets.Regression{}
	data.X, data.Y = borehole(d.seed, demoRows)
	result, err := d.compare(ctx, data)
	if err != nil {
		return nil, err
	}
	if d.out != "" {
		if err := d.write(ctx, data, &result); err != nil {
			return nil, err
		}
	}
	result.Seconds = d.seconds()
	return printed(d.json, result, func(out io.Writer) error { return printTable(out, result.Table(demoTest)) }), nil
}

// compare runs the rounds of all methods.
func (d *demo) compare(ctx context.Context, data *sets.Regression) (report.DemoResult, error) {
	result := report.NewDemoResult(d.seed, d.repeats, d.start, d.batch, d.rounds)
	labels, err := encode.FitLabelScaler(data.Y)
	if err != nil {
		return result, err
	}
	var runs []benchmark.Run
	for split := range d.repeats {
		for _, spec := range report.DemoSpecs() {
			runs = append(runs, benchmark.Run{DataSet: "demo", Activation: choice.DefaultChoice().Activation, Spec: spec,
				BatchSize: d.batch, Rounds: d.rounds, Split: split})
		}
	}
	done, of := 0, len(runs)*(d.rounds+1)
	_, err = benchmark.Replay(ctx, data, benchmark.Settings{Seed: d.seed, Start: d.start, Valid: demoValid}, runs,
		func(r benchmark.Record) {
			rmse := r.Test.RMSE * labels.Deviation
			result.Add(r.Spec, r.Round.Round, rmse)
			done++
			d.progress.step("rounds", done, of, fmt.Sprintf("%s: %d labels, RMSE %.3f", r.Spec, r.Labels, rmse))
		})
	d.progress.done()
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	return result, err
}

// demoName is the name of the files, without extensions.
const demoName = "nextbatch-demo"

// write writes the table, the page and the picture.
func (d *demo) write(ctx context.Context, data *sets.Regression, r *report.DemoResult) error {
	table, err := boreholeTable(data.X, data.Y, d.start)
	if err != nil {
		return err
	}
	path := func(extension string) string { return filepath.Join(d.out, demoName+extension) }
	if err := source.WriteFile(path(".csv"), table); err != nil {
		return err
	}
	batch, err := d.firstBatch(ctx, table, path(".csv"))
	if err != nil {
		return err
	}
	page, picture := r.Page(batch, demoTest, report.Step{
		Text: "Pick this batch yourself, with the model that select uses by default; then try it on a table of yours:",
		Command: words.CommandLine("nextbatch", "select", path(".csv"), "--target", "flow", "--id", "site",
			"-n", strconv.Itoa(d.batch), "--out", "batch.csv", "--report", "batch.html")})
	png, err := picture.PNG()
	if err != nil {
		return err
	}
	err = errors.Join(atomicfile.Write(path(".html"), page.Write), atomicfile.WriteBytes(path(".png"), png))
	if err != nil {
		return err
	}
	for _, extension := range []string{".csv", ".html", ".png"} {
		r.Files = append(r.Files, path(extension))
	}
	d.progress.say("written: %s", strings.Join(r.Files, ", "))
	return nil
}

// firstBatch picks the first batch, as the command select does.
func (d *demo) firstBatch(ctx context.Context, table *dataset.Table, path string) (*report.BatchPage, error) {
	s := &selecting{selectFlags: selectFlags{table: path, batch: d.batch, net: networkFlags{seed: d.seed}},
		run: d.run}
	s.request = nextbatch.Request{Input: tables.Input{Table: table, TargetColumns: []string{"flow"}, IDColumn: "site"},
		Ask: limits.Ask{Batch: d.batch},
		Options: fitted.Options{Choices: fitted.Choices{Learner: learner.NetworkAlone,
			Network: network.Config{Seed: d.seed}, Seed: d.seed}},
		Resources: nextbatch.Resources{Admit: func(bytes int64, less ...string) error {
			return d.memory.admit("the demo",
				bytes, less...)
		}}}.WithDefaults()
	begin := time.Now()
	var err error
	if s.plan, err = s.request.Plan(ctx); err != nil {
		return nil, err
	}
	r, err := s.plan.Select(ctx)
	if err != nil {
		return nil, err
	}
	r.Version, r.Timings.Total = thisBuild().Version, number(time.Since(begin).Seconds())
	return s.reported(r, nil).Batch(ctx)
}
