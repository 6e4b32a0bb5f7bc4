package worker

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/conformal"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// fitBody requests a model of the rows in array 0, whose labels are array 1, with a
// column for each target if it has two dimensions.
type fitBody struct {
	network.Choice
	Learner  learner.Kind `json:"learner"`
	Learners []given      `json:"learners"` // each with an array: predictions for the rows, out of fold
	Folds    *int         `json:"folds"`    // of cross-fitting; null chooses by the number of labels
	Holdout  *float64     `json:"holdout"`  // share of the rows; null for the default
	Seed     uint64       `json:"seed"`
	Threads  int          `json:"threads"`
}

// fitted is the answer; its one array is the model as a safetensors file.
type fitted struct {
	Rows      int                 `json:"rows"`
	ValidRows int                 `json:"valid_rows"`
	ValidRMSE [][]nextbatch.Float `json:"valid_rmse"` // of each network, for each target
	Best      []int               `json:"best_epochs"`
	Intervals string              `json:"intervals"`
	Learner   []string            `json:"learner"` // what was chosen for each target, and why
	// Candidates are what was tried for each target; empty for a network alone.
	Candidates [][]learner.Candidate `json:"candidates"`
	Warnings   []string              `json:"warnings"`
}

func (c *call) fit() (any, error) {
	body := fitBody{Choice: network.DefaultChoice(), Learner: learner.Auto}
	if err := c.read(&body); err != nil {
		return nil, err
	}
	if err := c.checkLearner(body.Learner, body.Choice); err != nil {
		return nil, err
	}
	if err := body.check(); err != nil {
		return nil, err
	}
	config, err := trained(body.Choice, body.Seed)
	if err != nil {
		return nil, err
	}
	if len(c.Data) != 2+len(body.Learners) {
		return nil, refuse("fit takes two arrays, rows and labels, and one for each of the learners; there are %d", len(c.Data))
	}
	x, centres, warnings, err := centred(c.Data[0])
	if err != nil {
		return nil, fmt.Errorf("array X %w", err)
	}
	y, targets, err := c.Data[1].labels()
	if err != nil {
		return nil, fmt.Errorf("array y %w", err)
	}
	if err := c.admitFit(body, config, x, targets); err != nil {
		return nil, err
	}
	options := learner.Options{Kind: body.Learner, Network: body.options(config, x.Rows, centres), Shown: c.fitting()}
	options.Network.Progress = c.training(func(e network.Epoch) int { return options.Network.Members * max(1+options.Network.Folds, e.Folds) })
	if options.Others, err = c.others(body.Learners); err != nil {
		return nil, err
	}
	model, err := learner.Fit(nextbatch.WithThreads(c.ctx, body.Threads), network.Sample{X: x, Y: y, Targets: targets}, options)
	if model == nil {
		if c.ctx.Err() != nil {
			return nil, c.ctx.Err()
		}
		return nil, err
	}
	raw, marshalling := model.MarshalBinary()
	if marshalling != nil {
		return nil, marshalling
	}
	c.data = []Array{{Shape: Shape{"uint8", []int{len(raw)}}, Uint8: raw}}
	about := describe(model, err)
	about.Warnings = append(about.Warnings, warnings...)
	return about, nil
}

// check reports settings that do not go with the learner.
func (b fitBody) check() error {
	switch blends := b.Learner.Blends(); {
	case blends && (b.Folds != nil || b.Holdout != nil):
		return refuse("folds and holdout are of a network alone, while the learner %s holds out rows of its own: leave them out, or choose the learner %s", b.Learner, learner.NetworkAlone)
	case !blends && len(b.Learners) > 0:
		return refuse("learners are candidates beside others: choose the learner %s", learner.Auto)
	}
	return nil
}

// options returns how networks are fitted.
func (b fitBody) options(config network.Config, rows int, centres []float64) network.Options {
	o := network.Options{Config: config, Members: max(1, b.Members), Holdout: b.Holdout, Centres: centres}
	switch {
	case b.Folds != nil:
		o.Folds = *b.Folds
	case !b.Learner.Blends() && (b.Holdout == nil || *b.Holdout != 0):
		o.Folds = network.DefaultFolds(rows)
	}
	return o
}

// others returns the learners that were fitted elsewhere.
func (c *call) others(list []given) (others []learner.Learner, err error) {
	for _, g := range list {
		held, err := c.predicted(g, 0, 1)
		if err != nil {
			return nil, err
		}
		others = append(others, learner.Given{Title: g.Name, Held: held})
	}
	return others, nil
}

// admitFit rejects models that, with their file, would not fit into memory.
func (c *call) admitFit(body fitBody, config network.Config, x matrix.Dense[float32], targets int) error {
	config.Architecture.Outputs = targets
	if err := config.Check(); err != nil {
		return refuse("%v", err)
	}
	members := max(1, body.Members)
	need, file := config.Memory(x.Cols, x.Rows, members)
	if body.Learner.Blends() {
		need, file = learner.Memory(body.Learner, config, x.Cols, x.Rows)
	}
	less := []string{"narrower layers (hidden)"}
	if members > 1 {
		less = append(less, "fewer networks (ensemble)")
	}
	return c.server.admit("the training", need+file, append(less, "fewer rows"))
}

// describe describes a model. Diverged lists those of its networks that diverged.
func describe(model *learner.Model, diverged error) fitted {
	how := model.Provenance()
	f := fitted{Rows: how.Rows, ValidRows: how.ValidRows, Best: how.Best, Intervals: model.Intervals().String(), Warnings: []string{}}
	if note := model.TrainingNote(); note != "" {
		f.Warnings = append(f.Warnings, note)
	}
	for target := range model.Targets() {
		errors := []nextbatch.Float{}
		for _, v := range model.Target(target).Provenance().ValidRMSE {
			errors = append(errors, nextbatch.Float(v))
		}
		f.ValidRMSE = append(f.ValidRMSE, errors)
		f.Learner = append(f.Learner, model.Target(target).Choice())
		f.Candidates = append(f.Candidates, model.Target(target).Candidates())
		f.Warnings = append(append(f.Warnings, model.Target(target).Notes()...), model.Target(target).LeftOutNotes(strconv.Itoa)...)
	}
	if diverged != nil {
		f.Warnings = append(f.Warnings, strings.Split(diverged.Error(), "\n")...)
	}
	return f
}

// predictBody requests predictions by the model in array 0 for the rows in array 1.
type predictBody struct {
	Learners []given  `json:"learners"` // each with an array: predictions for the rows
	Std      bool     `json:"std"`
	Interval bool     `json:"interval"` // add intervals, of the default coverage unless there is one
	Coverage *float64 `json:"coverage"` // of intervals; null for none
	Threads  int      `json:"threads"`
}

// predict returns predictions and, if requested, standard deviations and then
// the two ends of intervals: an array each, with a column for each target if there are several.
func (c *call) predict() (any, error) {
	var body predictBody
	if err := c.read(&body); err != nil {
		return nil, err
	}
	if body.Interval && body.Coverage == nil {
		body.Coverage = new(conformal.DefaultCoverage)
	}
	if len(c.Data) != 2+len(body.Learners) {
		return nil, refuse("predict takes two arrays, a model and rows, and one for each of the learners; there are %d", len(c.Data))
	}
	model := &learner.Model{}
	if err := model.UnmarshalBinary(c.Data[0].Uint8); err != nil {
		return nil, fmt.Errorf("the model cannot be read: %w", err)
	}
	raw, err := matrixOf[float64](c.Data[1])
	if err != nil {
		return nil, fmt.Errorf("array X %w", err)
	}
	x, err := model.Rows(raw)
	if err != nil {
		return nil, err
	}
	if model, err = c.with(model, body.Learners); err != nil {
		return nil, err
	}
	c.ctx = nextbatch.WithThreads(c.ctx, body.Threads)
	byTarget := make([][][]float64, model.Targets())
	for target := range byTarget {
		if byTarget[target], err = predictions(c.ctx, model.Target(target), x, body); err != nil {
			return nil, err
		}
	}
	for i := range byTarget[0] {
		c.data = append(c.data, sideBySide(byTarget, i))
	}
	return struct{}{}, nil
}

// with returns a model with the predictions of learners that were fitted elsewhere.
func (c *call) with(model *learner.Model, list []given) (*learner.Model, error) {
	predictions := map[string]matrix.Dense[float64]{}
	for _, g := range list {
		one, err := c.predicted(g, 0, 1)
		if err != nil {
			return nil, err
		}
		predictions[g.Name] = one
	}
	return model.With(predictions)
}

// predictions returns the predictions for one target.
func predictions(ctx context.Context, model *learner.Model, x matrix.Dense[float32], body predictBody) (list [][]float64, err error) {
	if body.Std {
		u, err := model.PredictStd(ctx, x)
		if err != nil {
			return nil, err
		}
		list = append(list, u.Mean, u.Std)
	} else {
		mean, err := model.Predict(ctx, x)
		if err != nil {
			return nil, err
		}
		list = append(list, mean)
	}
	if body.Coverage == nil {
		return list, nil
	}
	low, high, err := model.PredictInterval(ctx, x, *body.Coverage)
	return append(list, low, high), err
}

// sideBySide returns list i of each target as a column; for one target, as a list.
func sideBySide(byTarget [][][]float64, i int) Array {
	if len(byTarget) == 1 {
		return list(byTarget[0][i])
	}
	rows, targets := len(byTarget[0][i]), len(byTarget)
	a := Array{Shape: Shape{"float64", []int{rows, targets}}, Float64: make([]float64, rows*targets)}
	for target, lists := range byTarget {
		for row, v := range lists[i] {
			a.Float64[row*targets+target] = v
		}
	}
	return a
}
