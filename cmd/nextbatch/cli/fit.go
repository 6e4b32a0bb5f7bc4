package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/network"
)

// fitting is a run of fit.
type fitting struct {
	columns columnFlags
	net     networkFlags
	out     string
	json    bool
	quiet   bool
}

// fitResult is what fit prints as JSON.
type fitResult struct {
	Model     string   `json:"model"`
	Rows      int      `json:"rows"`       // trained on
	ValidRows int      `json:"valid_rows"` // held out
	Inputs    []string `json:"inputs"`
	Best      []int    `json:"best_epochs"`
	ValidRMSE []number `json:"valid_rmse"` // in units of the labels
	Warnings  []string `json:"warnings"`
	Seconds   float64  `json:"seconds"`
	Version   string   `json:"version"`
}

func newFit() *cobra.Command {
	f := &fitting{}
	c := &cobra.Command{
		Use:        "fit TABLE",
		SuggestFor: []string{"train", "learn"},
		Short:      "Train a network on the labelled rows and save it",
		Example:    "  nextbatch fit table.csv --target y --id name --out net.safetensors",
		Args:       cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), newProgress(cmd.ErrOrStderr(), f.quiet))
		},
		Long: `Trains a network, or an ensemble, on the rows that have a label and saves it as
a safetensors file, together with its columns and how they are encoded and scaled.
A fifth of the rows is held out, to choose the epoch and to calibrate the intervals
of 'nextbatch predict'.`,
	}
	c.Flags().StringVar(&f.columns.target, "target", "", "target column: the labels, empty where a row has none")
	c.Flags().StringVarP(&f.out, "out", "o", "", "file to save the network to (.safetensors)")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "no progress, only warnings and errors")
	f.columns.register(c)
	f.net.register(c)
	return c
}

func (f *fitting) run(ctx context.Context, path string, out io.Writer, p *progress) error {
	begin := time.Now()
	switch {
	case f.columns.target == "":
		return usagef("name the target column with --target")
	case f.out == "":
		return usagef("say where to save the network with --out")
	}
	config, err := f.net.config()
	if err != nil {
		return err
	}
	if err := f.columns.check(); err != nil {
		return err
	}
	if err := checkDistinct([]flagged{{"TABLE", path}}, []flagged{{"--out", f.out}}); err != nil {
		return err
	}
	if err := checkOutput("--out", f.out, ".safetensors"); err != nil {
		return err
	}
	ctx, err = withThreads(ctx, f.net.threads)
	if err != nil {
		return err
	}
	defer f.columns.memory.begin()()
	table, err := f.columns.read(ctx, path, false)
	if err != nil {
		return err
	}
	t := nextbatch.Tables{One: table, Names: map[*dataset.Table]string{table: nameOf(path)}, TargetColumn: f.columns.target, Strict: f.columns.missing == "refuse", Categorical: f.columns.categorical}
	members := max(1, f.net.ensemble)
	t.Admit = func(z nextbatch.Sizes) error {
		return f.columns.memory.admit("training "+plural(members, "network", "networks"), trainingNeed(table, z, config, members), "fewer networks", "narrower layers (--hidden)", "fewer rows")
	}
	if f.columns.id != "" {
		t.NotInputs = []string{f.columns.id}
	}
	rows, err := t.Rows()
	if err != nil {
		return dataError{err}
	}
	for _, w := range rows.Warnings {
		p.warn(w)
	}
	p.say("%d labelled rows, %d inputs", rows.Train.Rows, rows.Train.Cols)
	model, err := train(ctx, network.Options[float32]{Config: config, Members: members, Columns: &rows.Encoder}, rows, p)
	if err != nil {
		return err
	}
	if err := model.Save(f.out); err != nil {
		return err
	}
	how := model.Provenance()
	result := fitResult{Model: f.out, Rows: how.Rows, ValidRows: how.ValidRows, Inputs: rows.Encoder.Features(), Best: how.Best,
		ValidRMSE: []number{}, Warnings: append([]string{}, p.warnings...), Seconds: time.Since(begin).Seconds(), Version: thisBuild().Version}
	for _, v := range how.ValidRMSE {
		result.ValidRMSE = append(result.ValidRMSE, number(v))
	}
	if f.json {
		return printJSON(out, result)
	}
	fmt.Fprintf(out, "%s: %d rows, %d inputs, RMSE on %d held-out rows %.4g\n", shown(filepath.Base(f.out)), how.Rows, len(result.Inputs), how.ValidRows, how.ValidRMSE)
	if info, err := os.Stat(f.out); err == nil {
		p.say("%s, %.1f s", bytesText(info.Size()), result.Seconds)
	}
	return nil
}
