package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// demo is a comparison on generated data: a pool, few labels to start with, and
// a number of rounds in which a method picks rows and a network is trained anew.
type demo struct {
	start, rounds, batch int
	seed                 uint64
	json                 bool

	log                  io.Writer
	pool, valid, test    matrix.Dense[float32]
	poolY, validY, testY []float64
}

// Sizes of the generated data.
const (
	demoPool, demoValid, demoTest = 20_000, 512, 4000
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
			d.log = cmd.ErrOrStderr()
			return d.run(cmd.Context(), cmd.OutOrStdout())
		},
		Long: `Generates Friedman's test function with ten inputs, where a label costs nothing.
Starting from a few labelled rows, every round trains a network, picks a batch
from the pool, by the default method and at random, and labels it. Prints the
error on fresh rows after each round.`,
	}
	c.Flags().IntVar(&d.start, "start", 128, "labelled rows to start with")
	c.Flags().IntVar(&d.rounds, "rounds", 4, "rounds")
	c.Flags().IntVarP(&d.batch, "batch", "n", 128, "rows to label in a round")
	c.Flags().Uint64Var(&d.seed, "seed", 1, "seed of data, networks and methods")
	c.Flags().BoolVar(&d.json, "json", false, "print one JSON object")
	return c
}

// demoResult is what demo prints as JSON.
type demoResult struct {
	Seed    uint64               `json:"seed"`
	Labels  []int                `json:"labels"` // labelled rows after each round, the start first
	RMSE    map[string][]float64 `json:"rmse"`   // by spec; labels have deviation 4.9 or so
	Seconds float64              `json:"seconds"`
}

func (d *demo) run(ctx context.Context, out io.Writer) error {
	if d.start < 2 || d.rounds < 0 || d.batch < 1 || d.start+d.rounds*d.batch > demoPool {
		return usageError{fmt.Errorf("--start must be at least 2, --batch at least 1, and %d + %d·%d rows at most the %d that there are",
			d.start, d.rounds, d.batch, demoPool)}
	}
	begin := time.Now()
	d.pool, d.poolY = friedman(d.seed, "demo pool", demoPool)
	d.valid, d.validY = friedman(d.seed, "demo valid", demoValid)
	d.test, d.testY = friedman(d.seed, "demo test", demoTest)
	result := demoResult{Seed: d.seed, RMSE: map[string][]float64{}}
	for r := range d.rounds + 1 {
		result.Labels = append(result.Labels, d.start+r*d.batch)
	}
	specs := []string{nextbatch.DefaultSpec, "random"}
	for _, spec := range specs {
		errors, err := d.rmse(ctx, nextbatch.MustParseSpec(spec))
		if err != nil {
			return err
		}
		result.RMSE[spec] = errors
	}
	result.Seconds = time.Since(begin).Seconds()
	if d.json {
		return json.NewEncoder(out).Encode(result)
	}
	printDemo(out, result, specs)
	return nil
}

// rmse runs all rounds of one method and returns the test error after each, the
// start first.
func (d *demo) rmse(ctx context.Context, spec nextbatch.Spec) ([]float64, error) {
	labelled := rng.New(d.seed, "demo start").Perm(demoPool)[:d.start]
	var errors []float64
	for round := 0; ; round++ {
		x, y := d.rows(labelled)
		r := &network.Regressor[float32]{Config: network.Config{Seed: d.seed}}
		if err := r.FitValidated(ctx, x, y, d.valid, d.validY); err != nil {
			return nil, err
		}
		rmse, err := d.testError(r)
		if err != nil {
			return nil, err
		}
		errors = append(errors, rmse)
		fmt.Fprintf(d.log, "%v: %d labels, RMSE %.3f\n", spec, len(labelled), rmse)
		if round == d.rounds {
			return errors, nil
		}
		if labelled, err = d.label(ctx, r, spec, labelled, round); err != nil {
			return nil, err
		}
	}
}

func (d *demo) rows(index []int) (matrix.Dense[float32], []float64) {
	y := make([]float64, len(index))
	for i, row := range index {
		y[i] = d.poolY[row]
	}
	return d.pool.SelectRows(index), y
}

// label returns the labelled rows with a batch more.
func (d *demo) label(ctx context.Context, r *network.Regressor[float32], spec nextbatch.Spec, labelled []int, round int) ([]int, error) {
	x, _ := d.rows(labelled)
	train, err := r.Inputs(x)
	if err != nil {
		return nil, err
	}
	var candidates []int
	taken := map[int]bool{}
	for _, row := range labelled {
		taken[row] = true
	}
	for row := range demoPool {
		if !taken[row] {
			candidates = append(candidates, row)
		}
	}
	pool, err := r.Inputs(d.pool.SelectRows(candidates))
	if err != nil {
		return nil, err
	}
	batch, err := nextbatch.Select(ctx, spec, nextbatch.Problem{
		Networks: r.Ensemble(), Train: train, Pool: pool, Batch: d.batch, Seed: d.seed + uint64(round),
	})
	if err != nil {
		return nil, err
	}
	more := slices.Clone(labelled)
	for _, row := range batch.Rows() {
		more = append(more, candidates[row])
	}
	return more, nil
}

func (d *demo) testError(r *network.Regressor[float32]) (float64, error) {
	predicted, err := r.Predict(d.test)
	if err != nil {
		return 0, err
	}
	return network.Measure(matrix.View(1, len(predicted), predicted), d.testY).RMSE, nil
}

// friedman draws rows in the unit cube with Friedman's labels,
//
//	y = 10·sin(π·x₁·x₂) + 20·(x₃ − ½)² + 10·x₄ + 5·x₅
//
// without noise; the other five inputs do not matter. Most rows crowd in a
// corner, as they do in tables that nobody designed: there a random batch is
// mostly more of the same.
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

func printDemo(out io.Writer, r demoResult, specs []string) {
	fmt.Fprintf(out, "\nRMSE on %d rows that no network has seen\n\n%8s", demoTest, "labels")
	for _, spec := range specs {
		fmt.Fprintf(out, "  %26s", spec)
	}
	fmt.Fprintln(out)
	for i, n := range r.Labels {
		fmt.Fprintf(out, "%8d", n)
		for _, spec := range specs {
			fmt.Fprintf(out, "  %26.3f", r.RMSE[spec][i])
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "\n%.0f seconds\n", r.Seconds)
}
