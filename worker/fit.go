package worker

import (
	"context"
	"fmt"
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
	Folds   *int     `json:"folds"`   // of cross-fitting; null chooses by the number of labels
	Holdout *float64 `json:"holdout"` // share of the rows; null for the default
	Seed    uint64   `json:"seed"`
	Threads int      `json:"threads"`
}

// fitted is the answer; its one array is the model as a safetensors file.
type fitted struct {
	Rows      int                 `json:"rows"`
	ValidRows int                 `json:"valid_rows"`
	ValidRMSE [][]nextbatch.Float `json:"valid_rmse"` // of each network, for each target
	Best      []int               `json:"best_epochs"`
	Intervals string              `json:"intervals"`
	Warnings  []string            `json:"warnings"`
}

func (c *call) fit() (any, error) {
	body := fitBody{Choice: network.DefaultChoice()}
	if err := c.read(&body); err != nil {
		return nil, err
	}
	config, err := trained(body.Choice, body.Seed)
	if err != nil {
		return nil, err
	}
	if len(c.Data) != 2 {
		return nil, refuse("fit takes two arrays, rows and labels, not %d", len(c.Data))
	}
	x, centres, warnings, err := centred(c.Data[0])
	if err != nil {
		return nil, fmt.Errorf("array X %w", err)
	}
	y, targets, err := c.Data[1].labels()
	if err != nil {
		return nil, fmt.Errorf("array y %w", err)
	}
	if err := c.admitFit(config, x, targets, max(1, body.Members)); err != nil {
		return nil, err
	}
	options := network.Options{Config: config, Members: max(1, body.Members), Folds: network.DefaultFolds(x.Rows), Holdout: body.Holdout, Centres: centres}
	if body.Folds != nil {
		options.Folds = *body.Folds
	} else if body.Holdout != nil && *body.Holdout == 0 {
		options.Folds = 0
	}
	options.Progress = c.training(func() int { return options.Members * (1 + options.Folds) })
	model, err := learner.Fit(nextbatch.WithThreads(c.ctx, body.Threads), network.Sample{X: x, Y: y, Targets: targets}, learner.Options{Network: options})
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

// admitFit rejects networks that, with their file, would not fit into memory.
func (c *call) admitFit(config network.Config, x matrix.Dense[float32], targets, members int) error {
	config.Architecture.Outputs = targets
	if err := config.Check(); err != nil {
		return refuse("%v", err)
	}
	need, file := config.Memory(x.Cols, x.Rows, members)
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
	}
	if diverged != nil {
		f.Warnings = append(f.Warnings, strings.Split(diverged.Error(), "\n")...)
	}
	return f
}

// predictBody requests predictions by the model in array 0 for the rows in array 1.
type predictBody struct {
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
	if len(c.Data) != 2 {
		return nil, refuse("predict takes two arrays, a model and rows, not %d", len(c.Data))
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
