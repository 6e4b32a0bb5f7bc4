package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/network/onnx"
	"github.com/nextbatch/nextbatch/tables"
)

// fitFlags are the flags of fit.
type fitFlags struct {
	columns columnFlags
	net     networkFlags
	learner learner.Kind
	folds   int // negative: chosen by the number of labels
	out     string
	onnx    string
	json    bool
	quiet   bool
}

// fitting is a run of fit.
type fitting struct {
	fitFlags
	run
	path   string
	config network.Config
	how    fitted.Options
	rows   *tables.Rows
	ids    tables.IDs
	need   int64 // of memory
}

// fitResult is what fit prints as JSON.
type fitResult struct {
	Model     string   `json:"model"`
	Rows      int      `json:"rows"`       // trained on
	ValidRows int      `json:"valid_rows"` // held out
	Inputs    []string `json:"inputs"`
	Best      []int    `json:"best_epochs"`
	Device    string   `json:"device,omitempty"` // that trained; absent: the CPU
	ValidRMSE []number `json:"valid_rmse"`       // in units of the labels

	ValidRMSEOf string                  `json:"valid_rmse_of"` // what the above is of
	PoolRMSE    *conformal.RMSEEstimate `json:"pool_rmse,omitempty"`
	Intervals   fitted.Intervals        `json:"intervals"`
	Learner     string                  `json:"learner,omitempty"`    // what was chosen for a blend, and why
	Candidates  []learner.Candidate     `json:"candidates,omitempty"` // of a blend
	Targets     []fitted.Target         `json:"targets,omitempty"`    // each of several; the above is about the first
	Memory      int64                   `json:"memory_forecast"`

	Doubtful []fitted.DoubtfulLabel `json:"doubtful,omitempty"` // labels that should get a second look
	Warnings []string               `json:"warnings"`
	Seconds  float64                `json:"seconds"`
	Version  string                 `json:"version"`
}

func newFit() *cobra.Command {
	f := &fitFlags{}
	c := &cobra.Command{
		Use:        "fit TABLE",
		SuggestFor: []string{"train", "learn"},
		Short:      "Fit a model to the labelled rows and save it",
		Example: `  nextbatch fit table.csv --target y --id name --out model.nextbatch
  nextbatch fit table.csv --target y --learner network --out net.safetensors --onnx net.onnx`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &fitting{fitFlags: *f, run: newRun(cmd, f.quiet), path: args[0]}
			return r.perform(cmd.Context(), steps{check: r.check, threads: r.net.threads, memory: &r.columns.memory,
				read: r.read, compute: r.compute})
		},
		Long: `Fits a model to the rows that have a label and saves it, together with its columns
and how they are encoded and scaled. --learner auto cross-fits a Gaussian process,
extra trees, gradient boosting and networks, and blends them by the weights that
predict held-out rows best; gp and trees leave out the others.

--learner network trains the paper's network alone, or an ensemble, and saves it as a
safetensors file. A fifth of the rows is held out to choose the epoch. --folds more
trainings, each of which predicts a part of the rows that it has not seen, calibrate
its intervals; with many labels the rows that are held out anyway suffice.

The intervals of 'nextbatch predict' are calibrated on rows that the model had not
learnt from when it predicted them. Their length follows the predicted deviation where
that is better on these rows, and is constant otherwise.

A method picks hard rows, so that the error on held-out rows it picked overstates
the error on the pool. A blend therefore counts each labelled row for as many rows of
the pool as it stands for, where the two are unlike; a network does not. --random-column names a column that is true ` +
			`(or 1) for labels
that were drawn at random; the pool's error is estimated from these.`,
	}
	f.columns.registerTarget(c)
	registerRange(c.Flags(), &f.columns.Ranges)
	f.columns.registerLabelSD(c.Flags())
	f.columns.registerEarlier(c.Flags())
	c.Flags().StringVarP(&f.out, "out", "o", "",
		"file to save the model to (.nextbatch; .safetensors for a network alone)")
	registerLearner(c.Flags(), &f.learner)
	c.Flags().StringVar(&f.onnx, "onnx", "",
		"with --learner network, also write the network to this file for other programs (.onnx): it takes raw rows and "+
			"returns labels")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	registerQuiet(c, &f.quiet)
	c.Flags().IntVar(&f.folds, "folds", -1,
		"with --learner network, folds of cross-fitting for the intervals; 0 for none (default "+
			defaultFolds+")")
	f.columns.registerRandom(c)
	f.columns.register(c)
	f.columns.registerInputs(c)
	f.net.register(c)
	registerDevice(c)
	return c
}

// defaultFolds puts network.DefaultFolds into words.
const defaultFolds = "5 with 20 to 3000 labels, otherwise 0"

// foldsFor returns the number of folds for a number of labels.
func (f *fitFlags) foldsFor(labels int) int {
	if f.folds >= 0 {
		return f.folds
	}
	return network.DefaultFolds(labels)
}

func (f *fitting) check() (err error) {
	switch {
	case f.columns.target == "":
		return usagef("name the target column with --target")
	case f.out == "":
		return usagef("say where to save the model with --out")
	case f.folds == 1 || f.folds < -1:
		return usagef("--folds must be 0 or at least 2, not %d", f.folds)
	}
	if err := f.checkLearner(); err != nil {
		return err
	}
	if f.config, err = f.net.config(); err != nil {
		return err
	}
	if err := f.columns.check(); err != nil {
		return err
	}
	if err := checkDistinct(append(f.columns.earlierFiles(), flagged{"TABLE", f.path}),
		[]flagged{{"--out", f.out}, {"--onnx", f.onnx}}); err != nil {
		return err
	}
	if err := errors.Join(checkOutput("--out", f.out, modelExtensions...),
		checkOutput("--onnx", f.onnx, ".onnx")); err != nil {
		return err
	}
	switch {
	case f.onnx != "" && f.net.Members > 1:
		return usagef("--onnx writes one network: leave out --ensemble")
	case f.onnx != "" && len(f.columns.earlier) > 0:
		return usagef("--onnx writes a network for other programs, which lack what a model of --earlier predicts: " +
			"leave one of them out")
	}
	return nil
}

// modelExtensions are those of the files of models. A file is read by what it holds, whatever its name.
var modelExtensions = []string{".nextbatch", ".safetensors"}

// checkLearner reports flags that do not go with the learner.
func (f *fitting) checkLearner() error {
	switch blends := f.learner.Blends(); {
	case blends && f.onnx != "":
		return usagef(
			"--onnx writes a network, and --learner %s fits other models, too: add --learner %s, or leave out --onnx",
			f.learner, learner.NetworkAlone)
	case blends && f.folds >= 0:
		return usagef("--folds is for --learner %s: with --learner %s, models are cross-fitted anyway; leave out --folds",
			learner.NetworkAlone, f.learner)
	}
	return f.net.checkLearner(f.learner)
}

// members is how many networks are trained.
func (f *fitFlags) members() int { return max(1, f.net.Members) }

func (f *fitting) choices() fitted.Choices {
	return fitted.Choices{Learner: f.learner, Network: f.config, Members: f.members()}
}

func (f *fitting) read(ctx context.Context) (err error) {
	f.ids.Column = f.columns.id
	f.how = fitted.Options{Choices: f.choices(), Epoch: f.progress.epoch(f.members()), Fitting: f.progress.fitting()}
	f.ids.Table, f.rows, err = f.columns.rows(ctx, f.path, f.progress, &f.how, func(table *dataset.Table,
		z tables.Sizes) error {
		f.need = fitNeed(table, z, f.choices(), f.foldsFor(z.Train))
		if f.learner.Blends() {
			return f.columns.memory.admit("fitting a model", f.need, "--learner trees", "fewer rows")
		}
		return f.columns.memory.admit("training "+words.Count(f.members(), "network", "networks"), f.need, "fewer networks",
			"narrower layers (--hidden)", "fewer rows")
	})
	return err
}

func (f *fitting) compute(ctx context.Context) (*answer, error) {
	if err := f.checkLabels(); err != nil {
		return nil, err
	}
	f.progress.sayDevice(ctx, f.learner)
	f.how.Folds = f.foldsFor(slices.Min(encode.CountLabels(f.rows.Labels)))
	fit, err := fitted.Fit(ctx, f.rows, f.how, 0, f.ids.Name)
	f.progress.done()
	if err != nil {
		return nil, requestError(err)
	}
	if err := fit.Model.Save(f.out); err != nil {
		return nil, err
	}
	if f.onnx != "" {
		if err := onnx.Save(f.onnx, fit.Model.Network()); err != nil {
			return nil, err
		}
	}
	result := f.result(fit)
	return printed(f.json, result, func(out io.Writer) error {
		f.print(out, result)
		if info, err := os.Stat(f.out); err == nil {
			f.progress.say("%s, %.1f s", words.Memory(info.Size()), result.Seconds)
		}
		if f.learner.Blends() && strings.EqualFold(filepath.Ext(f.out), ".safetensors") {
			f.progress.say(
				"%s holds a blend, which only nextbatch reads; --learner network saves a network that other programs read, too",
				shown(filepath.Base(f.out)))
		}
		return nil
	}), nil
}

// checkLabels reports labels that no model can be fitted to, and warns of others.
func (f *fitting) checkLabels() error {
	if n, fewest := f.rows.Train.Rows, f.learner.Fewest(); n < fewest {
		return dataError{errorf("%s a label; training needs at least %s", words.Count(n, "row has", "rows have"),
			words.Count(fewest, "label", "labels"))}
	}
	for _, wrong := range f.rows.CheckLabels() {
		if wrong.Constant {
			return dataError{wrong}
		}
		f.progress.warn(wrong.Error())
	}
	return nil
}

// result describes the model.
func (f *fitting) result(fit *fitted.Fitted) *fitResult {
	f.progress.warn(fit.Warnings...)
	if text := fitted.DoubtfulWarning(fit.Doubtful, "'nextbatch audit'"); text != "" {
		f.progress.warn(text)
	}
	targets := make([]fitted.Target, fit.Model.Targets())
	for k := range targets {
		targets[k] = fit.Describe(k)
	}
	how, first := fit.Model.Provenance(), targets[0]
	r := &fitResult{Model: f.out, Rows: how.Rows, ValidRows: how.ValidRows, Inputs: f.rows.Encoder.Features(),
		Best: how.Best, Device: how.Device,
		ValidRMSE: first.ValidRMSE, ValidRMSEOf: first.ValidRMSEOf, PoolRMSE: first.PoolRMSE,
		Intervals: first.Intervals, Learner: first.Learner, Candidates: first.Candidates, Memory: f.need,
		Seconds: f.seconds(), Doubtful: fit.Doubtful, Warnings: append([]string{}, f.progress.warnings...),
		Version: thisBuild().Version}
	if len(targets) > 1 {
		r.Targets = targets
	}
	return r
}

func (f *fitting) print(out io.Writer, r *fitResult) {
	fmt.Fprintf(out, "%s: %s, %s\n", shown(filepath.Base(r.Model)), words.Count(r.Rows, "row", "rows"),
		words.Count(len(r.Inputs), "input", "inputs"))
	targets := r.Targets
	if targets == nil {
		targets = []fitted.Target{{ValidRMSE: r.ValidRMSE, ValidRMSEOf: r.ValidRMSEOf, PoolRMSE: r.PoolRMSE,
			Intervals: r.Intervals, Learner: r.Learner}}
	}
	for _, t := range targets {
		if t.Target != "" {
			fmt.Fprintf(out, "target %s, %s\n", shown(t.Target), words.Count(t.Labels, "label", "labels"))
		}
		if t.Learner != "" {
			fmt.Fprintf(out, "learner     %s\n", t.Learner)
		}
		fmt.Fprintf(out, "validation  %s: %s\n", t.ValidRMSEOf, numbersText(t.ValidRMSE))
		if t.PoolRMSE != nil {
			fmt.Fprintf(out, "pool        RMSE %v, from %s that column %q marks as drawn at random\n", t.PoolRMSE,
				words.Count(t.PoolRMSE.Rows, "labelled row", "labelled rows"), shown(f.columns.random))
		}
		fmt.Fprintf(out, "intervals   %s\n", t.Intervals.Why)
	}
}

// numbersText lists numbers, one per network.
func numbersText[T ~float64](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = words.Number(float64(v))
	}
	return strings.Join(texts, ", ")
}
