package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
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
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
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

	memory   memory
	progress *progress
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
			if err := d.memory.check(); err != nil {
				return err
			}
			defer d.memory.begin()()
			d.progress = newProgress(cmd.ErrOrStderr(), false)
			return d.run(cmd.Context(), cmd.OutOrStdout())
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

// demoResult is what demo prints as JSON.
type demoResult struct {
	Seed    uint64               `json:"seed"`
	Labels  []int                `json:"labels"`    // labelled rows after each round, the start first
	RMSE    map[string][]float64 `json:"rmse"`      // by spec, in units of the labels: the mean over repeats
	Low     map[string][]float64 `json:"rmse_low"`  // the lowest
	High    map[string][]float64 `json:"rmse_high"` // the highest
	Repeats int                  `json:"repeats"`
	Files   []string             `json:"files"` // written files
	Seconds float64              `json:"seconds"`
}

// demoNames are the names of the curves in the picture.
var demoNames = map[string]string{spec.Default: "picked rows", "random": "random rows"}

// demoSpecs are the methods to compare.
func demoSpecs() []string { return []string{spec.Default, "random"} }

func (d *demo) run(ctx context.Context, out io.Writer) error {
	if d.start < 2 || d.rounds < 0 || d.batch < 1 || d.repeats < 1 || d.start+d.rounds*d.batch > demoPool {
		return usagef(
			"--start must be at least 2, --batch and --repeats at least 1, and %d + %d·%d rows are at most the %d available",
			d.start, d.rounds, d.batch, demoPool)
	}
	if d.out != "" {
		if err := checkOutput("--out", filepath.Join(d.out, demoName+".html"), ".html"); err != nil {
			return errorf("%w; name another folder, or none with --out ''", err)
		}
	}
	begin := time.Now()
	data := &dataset.Regression{}
	data.X, data.Y = borehole(d.seed, demoRows)
	result, err := d.compare(ctx, data)
	if err != nil {
		return err
	}
	if d.out != "" {
		if err := d.write(ctx, data, &result); err != nil {
			return err
		}
	}
	result.Seconds = time.Since(begin).Seconds()
	if d.json {
		return printJSON(out, result)
	}
	return printTable(out, demoTable(result))
}

// compare runs the rounds of all methods.
func (d *demo) compare(ctx context.Context, data *dataset.Regression) (demoResult, error) {
	result := newDemoResult(d)
	labels, err := dataset.FitLabelScaler(data.Y)
	if err != nil {
		return result, err
	}
	var runs []benchmark.Run
	for split := range d.repeats {
		for _, spec := range demoSpecs() {
			runs = append(runs, benchmark.Run{DataSet: "demo", Activation: network.DefaultChoice().Activation, Spec: spec,
				BatchSize: d.batch, Rounds: d.rounds, Split: split})
		}
	}
	done, of := 0, len(runs)*(d.rounds+1)
	_, err = benchmark.Replay(ctx, data, benchmark.Settings{Seed: d.seed, Start: d.start, Valid: demoValid}, runs,
		func(r benchmark.Record) {
			rmse := r.Test.RMSE * labels.Deviation
			result.add(r.Spec, r.Round.Round, rmse)
			done++
			d.progress.step("rounds", done, of, fmt.Sprintf("%s: %d labels, RMSE %.3f", r.Spec, r.Labels, rmse))
		})
	d.progress.done()
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	return result, err
}

func newDemoResult(d *demo) demoResult {
	r := demoResult{Seed: d.seed, Repeats: d.repeats, Files: []string{},
		RMSE: map[string][]float64{}, Low: map[string][]float64{}, High: map[string][]float64{}}
	for round := range d.rounds + 1 {
		r.Labels = append(r.Labels, d.start+round*d.batch)
	}
	for _, spec := range demoSpecs() {
		r.RMSE[spec], r.High[spec] = make([]float64, d.rounds+1), make([]float64, d.rounds+1)
		r.Low[spec] = slices.Repeat([]float64{math.MaxFloat64}, d.rounds+1)
	}
	return r
}

func (r *demoResult) add(spec string, round int, rmse float64) {
	r.RMSE[spec][round] += rmse / float64(r.Repeats)
	r.Low[spec][round] = min(r.Low[spec][round], rmse)
	r.High[spec][round] = max(r.High[spec][round], rmse)
}

// headline describes the gain of the method over random selection after the last round.
func (r demoResult) headline() string {
	last := len(r.Labels) - 1
	method, random := r.RMSE[spec.Default][last], r.RMSE["random"][last]
	change := 100 * (method/random - 1)
	text := fmt.Sprintf("With %d labels, the error is %.0f %% lower than with random rows.", r.Labels[last], -change)
	if change > 0 {
		text = fmt.Sprintf("With %d labels, the error is %.0f %% higher than with random rows.", r.Labels[last], change)
	}
	for i, rmse := range r.RMSE[spec.Default] {
		if rmse <= random && i < last {
			return text + fmt.Sprintf(" The error that random rows reach with %d labels takes %d.", r.Labels[last], r.Labels[i])
		}
	}
	return text
}

func demoTable(r demoResult) *report.Table {
	t := &report.Table{
		Title:   fmt.Sprintf("RMSE on %s", words.Count(demoTest, "held-out row", "held-out rows")),
		Columns: []report.Column{{Head: "labels"}},
		Note: fmt.Sprintf("%s Mean of %s, seed %d.", r.headline(),
			words.Count(r.Repeats, "repetition", "repetitions"), r.Seed),
	}
	if r.Seconds > 0 {
		t.Note += fmt.Sprintf(" It took %.0f seconds.", r.Seconds)
	}
	for _, spec := range demoSpecs() {
		t.Columns = append(t.Columns, report.Column{Head: spec})
	}
	for i, n := range r.Labels {
		row := report.Row{Cells: []report.Cell{report.Count(n)}}
		for _, spec := range demoSpecs() {
			row.Cells = append(row.Cells, report.Number(r.RMSE[spec][i], 3))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// demoName is the name of the files, without extensions.
const demoName = "nextbatch-demo"

// write writes the table, the page and the picture.
func (d *demo) write(ctx context.Context, data *dataset.Regression, r *demoResult) error {
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
	curves := demoFigure(*r)
	batch.Title, batch.First = "nextbatch demo", []*report.Figure{curves}
	batch.Intro = []string{r.headline(),
		"The table is generated: the flow of water through a borehole, by simulation, with eight inputs."}
	batch.Next = []report.Step{{Text: "Pick this batch yourself, with the model that select uses by default; then try it on a table of yours:", Command: words.CommandLine("nextbatch", "select", path(".csv"), "--target", "flow", "--id", "site", "-n", strconv.Itoa(d.batch), "--out", "batch.csv", "--report", "batch.html")}}
	page := batch.Page()
	// after the batch
	page.Sections = slices.Insert(page.Sections, 3, report.Section{Title: "What labels buy, in numbers",
		Tables: []*report.Table{demoTable(*r)}})
	png, err := report.Beside("", batch.Map.Figure(batch), curves).PNG()
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
func (d *demo) firstBatch(ctx context.Context, table *dataset.Table, path string) (*report.Batch, error) {
	s := &selecting{selectFlags: selectFlags{table: path, batch: d.batch, net: networkFlags{seed: d.seed}},
		run: run{progress: d.progress}}
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
	return s.describe(ctx, r)
}

func demoFigure(r demoResult) *report.Figure {
	labels := make([]float64, len(r.Labels))
	for i, n := range r.Labels {
		labels[i] = float64(n)
	}
	var curves []report.Curve
	for _, spec := range demoSpecs() {
		curves = append(curves, report.Curve{Name: demoNames[spec], X: labels, Y: r.RMSE[spec],
			Low: r.Low[spec], High: r.High[spec]})
	}
	f := report.LearningCurves("What the same number of labels buys", "RMSE on held-out rows", curves)
	f.Note = fmt.Sprintf("Seed %d, one run.", r.Seed)
	if r.Repeats > 1 {
		f.Note = fmt.Sprintf("Means of %d repetitions on other splits, and the range that they span; seed %d.", r.Repeats,
			r.Seed)
	}
	return f
}
