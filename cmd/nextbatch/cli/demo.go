package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/benchmark"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/report"
	"github.com/nextbatch/nextbatch/spec"
)

// demo is a comparison on generated data: a pool, a few initial labels, and a
// number of rounds in each of which a method picks rows and a network is
// trained from scratch.
type demo struct {
	start, rounds, batch, repeats int
	seed                          uint64
	json                          bool
	out                           string

	progress *progress
}

// Sizes of the generated data: a fifth is for testing.
const (
	demoRows, demoTest, demoValid = 25_640, demoRows / 5, 512
	demoPool                      = demoRows - demoTest - demoValid
	demoInputs                    = 10
)

func newDemo() *cobra.Command {
	d := &demo{}
	c := &cobra.Command{
		Use:     "demo",
		Short:   "Compare the default method with random rows on generated data",
		Example: "  nextbatch demo --rounds 3 --seed 7",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.progress = newProgress(cmd.ErrOrStderr(), false)
			return d.run(cmd.Context(), cmd.OutOrStdout())
		},
		Long: `Generates Friedman's test function with ten inputs, where a label costs nothing.
Starting from a few labelled rows, every round trains a network, picks a batch
from the pool, by the default method and at random, and labels it. Prints the
error on held-out rows after each round, and draws it: nextbatch-demo.png and
nextbatch-demo.html in the folder --out.`,
	}
	c.Flags().IntVar(&d.start, "start", 128, "labelled rows to start with")
	c.Flags().IntVar(&d.rounds, "rounds", 4, "rounds")
	c.Flags().IntVarP(&d.batch, "batch", "n", 128, "rows to label per round")
	c.Flags().IntVar(&d.repeats, "repeats", 3, "repetitions on other splits; errors are averaged over them")
	c.Flags().Uint64Var(&d.seed, "seed", 1, "seed of data, networks and methods")
	c.Flags().StringVarP(&d.out, "out", "o", ".", "folder for the picture; empty for none")
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

// demoSpecs are the methods to compare.
func demoSpecs() []string { return []string{spec.Default, "random"} }

func (d *demo) run(ctx context.Context, out io.Writer) error {
	if d.start < 2 || d.rounds < 0 || d.batch < 1 || d.repeats < 1 || d.start+d.rounds*d.batch > demoPool {
		return usagef("--start must be at least 2, --batch and --repeats at least 1, and %d + %d·%d rows are at most the %d available",
			d.start, d.rounds, d.batch, demoPool)
	}
	if d.out != "" {
		if err := checkOutput("--out", filepath.Join(d.out, demoName+".html"), ".html"); err != nil {
			return errorf("%w; name another folder, or none with --out ''", err)
		}
	}
	begin := time.Now()
	result, err := d.compare(ctx)
	if err != nil {
		return err
	}
	result.Seconds = time.Since(begin).Seconds()
	if d.out != "" {
		if err := d.draw(&result); err != nil {
			return err
		}
	}
	if d.json {
		return printJSON(out, result)
	}
	return printTable(out, demoTable(result))
}

// compare runs the rounds of all methods.
func (d *demo) compare(ctx context.Context) (demoResult, error) {
	result := newDemoResult(d)
	data := &dataset.Regression{}
	data.X, data.Y = friedman(d.seed, "demo pool", demoRows)
	labels, err := dataset.FitLabelScaler(data.Y)
	if err != nil {
		return result, err
	}
	var runs []benchmark.Run
	for split := range d.repeats {
		for _, spec := range demoSpecs() {
			runs = append(runs, benchmark.Run{DataSet: "demo", Activation: "relu", Spec: spec, BatchSize: d.batch, Rounds: d.rounds, Split: split})
		}
	}
	done, of := 0, len(runs)*(d.rounds+1)
	_, err = benchmark.Replay(ctx, data, benchmark.Settings{Seed: d.seed, Start: d.start, Valid: demoValid}, runs, func(r benchmark.Record) {
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

// friedman draws rows in the unit cube with Friedman's labels,
//
//	y = 10·sin(π·x₁·x₂) + 20·(x₃ − ½)² + 10·x₄ + 5·x₅
//
// without noise; the other five inputs do not matter. Most rows crowd into a
// corner, as in tables that nobody designed: there a random batch mostly
// repeats what is known.
func friedman(seed uint64, purpose string, rows int) (matrix.Dense[float32], []float64) {
	stream := rng.New(seed, purpose)
	x, y := matrix.New[float32](rows, demoInputs), make([]float64, rows)
	for i := range rows {
		row := x.Row(i)
		for j := range row {
			u := stream.Float64()
			row[j] = float32(u * u)
		}
		a, b, c := float64(row[0]), float64(row[1]), float64(row[2])
		y[i] = 10*math.Sin(math.Pi*a*b) + 20*(c-0.5)*(c-0.5) + 10*float64(row[3]) + 5*float64(row[4])
	}
	return x, y
}

func demoTable(r demoResult) *report.Table {
	t := &report.Table{
		Title:   fmt.Sprintf("RMSE on %d held-out rows, mean of %d", demoTest, r.Repeats),
		Columns: []report.Column{{Head: "labels"}},
		Note:    fmt.Sprintf("Seed %d, %.0f seconds.", r.Seed, r.Seconds),
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

// draw writes the learning curves as a picture and as a page.
func (d *demo) draw(r *demoResult) error {
	figure := demoFigure(*r)
	png, err := figure.PNG()
	if err != nil {
		return err
	}
	page := &report.Page{
		Title: "nextbatch demo",
		Intro: []string{"Friedman's test function of ten inputs, generated. Both methods start from the same labelled rows; in each round " +
			"a network is trained from scratch and a batch of rows is labelled, picked by the method or at random."},
		Sections: []report.Section{{Title: "Learning curves", Tables: []*report.Table{demoTable(*r)}, Figures: []*report.Figure{figure}}},
	}
	for _, file := range []struct {
		extension string
		write     func(io.Writer) error
	}{
		{".png", func(w io.Writer) error { _, err := w.Write(png); return err }},
		{".html", page.Write},
	} {
		path := filepath.Join(d.out, demoName+file.extension)
		if err := atomicfile.Write(path, file.write); err != nil {
			return err
		}
		r.Files = append(r.Files, path)
		d.progress.say("picture written to %s", path)
	}
	return nil
}

func demoFigure(r demoResult) *report.Figure {
	labels := make([]float64, len(r.Labels))
	for i, n := range r.Labels {
		labels[i] = float64(n)
	}
	var curves []report.Curve
	for _, spec := range demoSpecs() {
		curves = append(curves, report.Curve{Name: spec, X: labels, Y: r.RMSE[spec], Low: r.Low[spec], High: r.High[spec]})
	}
	f := report.LearningCurves("What the same number of labels buys", "RMSE on held-out rows", curves)
	f.Note = fmt.Sprintf("Means of %d repetitions on other splits, and the range that they span; seed %d.", r.Repeats, r.Seed)
	return f
}
