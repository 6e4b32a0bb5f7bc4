package worker

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// fitBody asks for a model of the rows in array 0, whose labels are array 1.
type fitBody struct {
	networks
	Folds   *int     `json:"folds"`   // of cross-fitting; null chooses by the number of labels
	Holdout *float64 `json:"holdout"` // share of the rows; null for the default
	Seed    uint64   `json:"seed"`
	Threads int      `json:"threads"`
}

// fitted is the answer; its one array is the model as a safetensors file.
type fitted struct {
	Rows      int               `json:"rows"`
	ValidRows int               `json:"valid_rows"`
	ValidRMSE []nextbatch.Float `json:"valid_rmse"`
	Best      []int             `json:"best_epochs"`
	Intervals string            `json:"intervals"`
	Warnings  []string          `json:"warnings"`
}

func (c *call) fit() (any, error) {
	var body fitBody
	if err := c.read(&body); err != nil {
		return nil, err
	}
	config, err := body.config(body.Seed)
	if err != nil {
		return nil, err
	}
	if len(c.Data) != 2 {
		return nil, refuse("fit takes two arrays, rows and labels, not %d", len(c.Data))
	}
	x, err := matrixOf[float32](c.Data[0])
	if err != nil {
		return nil, fmt.Errorf("array X %w", err)
	}
	y, err := c.Data[1].numbers()
	if err != nil {
		return nil, fmt.Errorf("array y %w", err)
	}
	options := network.Options[float32]{Config: config, Members: max(1, body.Ensemble), Folds: network.DefaultFolds(x.Rows), Holdout: body.Holdout}
	if body.Folds != nil {
		options.Folds = *body.Folds
	} else if body.Holdout != nil && *body.Holdout == 0 {
		options.Folds = 0
	}
	options.Progress = c.training(func() int { return options.Members * (1 + options.Folds) })
	model, err := network.Fit(nextbatch.WithThreads(c.ctx, body.Threads), network.Sample[float32]{X: x, Y: y}, options)
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
	return describe(model, err), nil
}

// describe describes a model. Diverged says which of its networks diverged.
func describe(model *network.Model[float32], diverged error) fitted {
	how := model.Provenance()
	f := fitted{Rows: how.Rows, ValidRows: how.ValidRows, Best: how.Best, Intervals: model.Intervals().String(), ValidRMSE: []nextbatch.Float{}, Warnings: []string{}}
	for _, v := range how.ValidRMSE {
		f.ValidRMSE = append(f.ValidRMSE, nextbatch.Float(v))
	}
	if diverged != nil {
		f.Warnings = strings.Split(diverged.Error(), "\n")
	}
	return f
}

// predictBody asks for predictions by the model in array 0 for the rows in array 1.
type predictBody struct {
	Std      bool     `json:"std"`
	Coverage *float64 `json:"coverage"` // of intervals; null for none
	Threads  int      `json:"threads"`
}

// predict returns predictions and, if they are asked for, standard deviations and then
// the two ends of intervals, an array each.
func (c *call) predict() (any, error) {
	var body predictBody
	if err := c.read(&body); err != nil {
		return nil, err
	}
	if len(c.Data) != 2 {
		return nil, refuse("predict takes two arrays, a model and rows, not %d", len(c.Data))
	}
	model := &network.Model[float32]{}
	if err := model.UnmarshalBinary(c.Data[0].Uint8); err != nil {
		return nil, fmt.Errorf("the model cannot be read: %w", err)
	}
	x, err := matrixOf[float32](c.Data[1])
	if err != nil {
		return nil, fmt.Errorf("array X %w", err)
	}
	c.ctx = nextbatch.WithThreads(c.ctx, body.Threads)
	return struct{}{}, errors.Join(c.predictMean(model, x, body.Std), c.predictIntervals(model, x, body.Coverage))
}

func (c *call) predictMean(model *network.Model[float32], x matrix.Dense[float32], std bool) error {
	if !std {
		mean, err := model.Predict(c.ctx, x)
		c.data = append(c.data, list(mean))
		return err
	}
	u, err := model.PredictStd(c.ctx, x)
	c.data = append(c.data, list(u.Mean), list(u.Std))
	return err
}

func (c *call) predictIntervals(model *network.Model[float32], x matrix.Dense[float32], coverage *float64) error {
	if coverage == nil {
		return nil
	}
	low, high, err := model.PredictInterval(c.ctx, x, *coverage)
	c.data = append(c.data, list(low), list(high))
	return err
}
