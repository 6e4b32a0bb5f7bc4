package worker

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/choice"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/earlierdata"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// fitBody requests a model of the rows of a table, or of those in array 0, whose labels are array 1, with a
// column for each target if it has two dimensions.
type fitBody struct {
	choice.Choice
	inputTable
	Y        []string       `json:"y"`        // the columns of the table with the labels
	LabelSD  []string       `json:"label_sd"` // those with the standard deviations of their noise
	Earlier  []table        `json:"earlier"`  // beside a table
	Learner  learner.Kind   `json:"learner"`
	Ranges   dataset.Ranges `json:"range"`    // of the targets
	Learners []given        `json:"learners"` // each with an array: predictions for the rows, out of fold
	Folds    *int           `json:"folds"`    // of cross-fitting; null chooses by the number of labels
	Holdout  *float64       `json:"holdout"`  // share of the rows; null for the default
	Seed     uint64         `json:"seed"`
	Threads  int            `json:"threads"`
}

// fitAnswer is the answer; its one array is the model as a safetensors file.
type fitAnswer struct {
	Rows      int              `json:"rows"`
	ValidRows int              `json:"valid_rows"`
	ValidRMSE [][]fitted.Float `json:"valid_rmse"` // of each network, for each target
	Best      []int            `json:"best_epochs"`
	Intervals string           `json:"intervals"`
	// that intervals would need; 0 if they have them
	Advised int      `json:"advised_folds"`
	Learner []string `json:"learner"` // what was chosen for each target, and why
	// Candidates are what was tried for each target; empty for a network alone.
	Candidates [][]learner.Candidate `json:"candidates"`
	Warnings   []string              `json:"warnings"`
}

func (c *call) fit() (any, error) {
	body := fitBody{Choice: choice.DefaultChoice(), Learner: learner.Auto,
		inputTable: inputTable{Missing: tables.ImputeMissing.String()}}
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
	s, err := c.labelledRows(body, config)
	if err != nil {
		return nil, err
	}
	options := learner.Options{Kind: body.Learner, Network: body.options(config, s.X.Rows), Shown: c.fitting()}
	options.Network.Centres, options.Network.Columns = s.centres, s.columns
	options.Network.Progress = c.training(func(e network.Epoch) int {
		return options.Network.Members * max(1+options.Network.Folds, e.Folds)
	})
	if options.Others, err = c.others(body.Learners, s.rows); err != nil {
		return nil, err
	}
	model, failed, err := fitted.Learn(nextbatch.WithThreads(c.ctx, body.Threads), s.Sample, options)
	if err != nil {
		return nil, err
	}
	model = model.Within(body.Ranges)
	model.Earlier = s.earlier
	raw, marshalling := model.MarshalBinary()
	if marshalling != nil {
		return nil, marshalling
	}
	c.data = []Array{{Shape: Shape{"uint8", []int{len(raw)}}, Uint8: raw}}
	about := describe(model)
	about.Warnings = append([]string{}, slices.Concat(about.Warnings, failed, s.warnings)...) // [] where there are none
	if !body.Learner.Blends() && options.Network.Folds == 0 {
		about.Advised = network.DefaultFolds(s.X.Rows)
	}
	return about, nil
}

// fitInput is what a model is fitted to.
type fitInput struct {
	network.Sample
	centres  []float64        // of arrays
	columns  *encode.Encoder  // of a table
	earlier  []*learner.Model // whose predictions are among the columns
	rows     []int            // of the table; nil means all
	warnings []string
}

// labelledRows returns the rows of a request with their labels.
func (c *call) labelledRows(body fitBody, config network.Config) (s fitInput, err error) {
	if body.Table != nil {
		return c.labelledTable(body, config)
	}
	if len(body.Earlier) > 0 {
		return s, refuse("earlier data go with a table, not with arrays")
	}
	if len(c.Data) != 2+len(body.Learners) {
		return s,
			refuse("fit takes a table, or two arrays, rows and labels, and one for each of the learners; there are %d",
				len(c.Data))
	}
	if s.X, s.centres, s.warnings, err = centred(c.Data[0]); err != nil {
		return s, fmt.Errorf("array X %w", err)
	}
	if s.Y, s.Targets, err = c.Data[1].labels(); err != nil {
		return s, fmt.Errorf("array y %w", err)
	}
	if err := checkRanges(body.Ranges, s.Y, s.Targets); err != nil {
		return s, err
	}
	s.Ranges = body.Ranges
	return s, c.admitFit(body, config, s.X.Rows, s.X.Cols, s.Targets)
}

// checkRanges reports ranges that do not fit the targets of an array of labels, and a label outside them.
func checkRanges(ranges dataset.Ranges, labels []float64, targets int) error {
	if err := ranges.Check(targets); err != nil {
		return refuse("range: %v", err)
	}
	for i, y := range labels {
		if fault := ranges.Of(i % targets).Fault(y); fault != "" {
			return refuse("array y, row %d: %s", i/targets, fault)
		}
	}
	return nil
}

// labelledTable returns the labelled rows of a table.
func (c *call) labelledTable(body fitBody, config network.Config) (s fitInput, err error) {
	t, err := c.inputs(body.inputTable, slices.Concat(body.Y, body.LabelSD))
	if err != nil {
		return s, err
	}
	t.Train, t.TargetColumns, t.Ranges, t.LabelSD = t.Pool, body.Y, body.Ranges, body.LabelSD
	t.Pool = nil
	t.Admit = func(z tables.Sizes) error { return c.admitFit(body, config, z.Train, z.Inputs, z.Outputs) }
	opts, err := reading(body.Categorical, body.Y, body.Censored, body.Lod)
	if err != nil {
		return s, err
	}
	if t.Earlier, err = c.earlier(body.Earlier, opts, t.Names); err != nil {
		return s, err
	}
	how := fitted.Options{Choices: fitted.Choices{Learner: body.Learner, Network: config}, Fitting: c.fitting()}
	rows, err := earlierdata.Rows(nextbatch.WithThreads(c.ctx, body.Threads), t, &how)
	if err != nil {
		return s, err
	}
	return fitInput{Sample: fitted.Sample(rows), columns: &rows.Encoder, earlier: how.EarlierModels, rows: rows.TrainRows,
		warnings: rows.Warnings}, nil
}

// inputTable is a table with what its sender says about the columns.
type inputTable struct {
	Table       *table              `json:"table"`
	Categorical []string            `json:"categorical"`
	Keep        []string            `json:"keep"`
	Ordered     map[string][]string `json:"ordered"`
	Missing     string              `json:"missing"`
	Censored    string              `json:"censored"`
	Lod         lod                 `json:"lod"`
}

// inputs returns a table, which may have labels, as a pool that is still to be encoded.
func (c *call) inputs(from inputTable, labels []string) (t tables.Tables, err error) {
	if t.Missing, err = tables.ParseMissing(from.Missing); err != nil {
		return t, refuse("missing %v", err)
	}
	opts, err := reading(from.Categorical, labels, from.Censored, from.Lod)
	if err != nil {
		return t, err
	}
	if t.Pool, err = c.build(*from.Table, opts, 0); err != nil {
		return t, err
	}
	t.Columns = tables.Columns{Categorical: from.Categorical, Keep: from.Keep, Ordered: from.Ordered}
	t.Names, t.FieldName = tables.Names{t.Pool: from.Table.Name}, options.Argument
	return t, nil
}

// check reports settings that do not go with the learner.
func (b fitBody) check() error {
	switch blends := b.Learner.Blends(); {
	case blends && (b.Folds != nil && *b.Folds != 0 || b.Holdout != nil):
		return refuse("folds and holdout are of a network alone, while the learner %s holds out rows of its own: leave "+
			"them out, or choose the learner %s", b.Learner, learner.NetworkAlone)
	case !blends && len(b.Learners) > 0:
		return refuse("learners are candidates beside others: choose the learner %s", learner.Auto)
	}
	return nil
}

// options returns how networks are fitted.
func (b fitBody) options(config network.Config, rows int) network.Options {
	o := network.Options{Config: config, Members: max(1, b.Members), Holdout: b.Holdout, Targets: b.Y}
	switch {
	case b.Folds != nil:
		o.Folds = *b.Folds
	case !b.Learner.Blends() && (b.Holdout == nil || *b.Holdout != 0):
		o.Folds = network.DefaultFolds(rows)
	}
	return o
}

// others returns the learners that were fitted elsewhere, with their predictions for some rows of a table, or for all.
func (c *call) others(list []given, rows []int) (others []learner.Learner, err error) {
	for _, g := range list {
		held, err := c.predictedFor(g, rows)
		if err != nil {
			return nil, err
		}
		others = append(others, learner.Given(g.Name, held))
	}
	return others, nil
}

// admitFit rejects models that, with their file, would not fit into memory.
func (c *call) admitFit(body fitBody, config network.Config, rows, inputs, targets int) error {
	config.Architecture.Outputs = targets
	if err := config.Check(); err != nil {
		return refuse("%v", err)
	}
	choices := fitted.Choices{Learner: body.Learner, Network: config, Members: body.Members}
	need, file := choices.Memory(rows, inputs, targets, 0)
	less := []string{"narrower layers (hidden)"}
	if body.Members > 1 {
		less = append(less, "fewer networks (ensemble)")
	}
	return c.server.admit("the training", need+file, append(less, "fewer rows"))
}

// describe describes a model.
func describe(model *learner.Model) fitAnswer {
	how := model.Provenance()
	f := fitAnswer{Rows: how.Rows, ValidRows: how.ValidRows, Best: how.Best,
		Intervals: model.Intervals().String(), Warnings: []string{}}
	if note := model.TrainingNote(); note != "" {
		f.Warnings = append(f.Warnings, note)
	}
	for target := range model.Targets() {
		errors := []fitted.Float{}
		for _, v := range model.Target(target).Provenance().ValidRMSE {
			errors = append(errors, fitted.Float(v))
		}
		f.ValidRMSE = append(f.ValidRMSE, errors)
		f.Learner = append(f.Learner, model.Target(target).Choice())
		f.Candidates = append(f.Candidates, model.Target(target).Candidates())
		f.Warnings = append(append(f.Warnings, model.Target(target).Notes()...),
			model.Target(target).LeftOutNotes(strconv.Itoa, nil)...)
	}
	return f
}

// predictBody requests predictions by the model in array 0 for the rows of a table, or for those in array 1.
type predictBody struct {
	inputTable
	Learners []given  `json:"learners"` // each with an array: predictions for the rows
	Std      bool     `json:"std"`
	Interval bool     `json:"interval"` // add intervals, of the default coverage unless there is one
	Coverage *float64 `json:"coverage"` // of intervals; null for none
	Threads  int      `json:"threads"`
}

// predict returns predictions and, if requested, standard deviations and then the two ends of intervals: an
// array each, with a column for each target if there are several.
func (c *call) predict() (any, error) {
	body := predictBody{inputTable: inputTable{Missing: tables.ImputeMissing.String()}}
	if err := c.read(&body); err != nil {
		return nil, err
	}
	if body.Interval && body.Coverage == nil {
		body.Coverage = new(conformal.DefaultCoverage)
	}
	if len(c.Data) < 1 || body.Table == nil && len(c.Data) != 2+len(body.Learners) {
		return nil,
			refuse("predict takes a model and a table, or two arrays, a model and rows, and one for each of the learners; "+
				"there are %d", len(c.Data))
	}
	model := &learner.Model{}
	if err := model.UnmarshalBinary(c.Data[0].Uint8); err != nil {
		return nil, fmt.Errorf("the model cannot be read: %w", err)
	}
	q, err := c.toPredict(model, body)
	if err != nil {
		return nil, err
	}
	if model, err = c.with(model, body.Learners, q.rows); err != nil {
		return nil, err
	}
	c.ctx = nextbatch.WithThreads(c.ctx, body.Threads)
	byTarget := make([][][]float64, model.Targets())
	for target := range byTarget {
		if byTarget[target], err = predictions(c.ctx, model.Target(target), q.x, body); err != nil {
			return nil, err
		}
		for i, list := range byTarget[target] {
			byTarget[target][i] = q.all(list)
		}
	}
	for i := range byTarget[0] {
		c.data = append(c.data, sideBySide(byTarget, i))
	}
	return map[string]any{"warnings": append([]string{}, q.warnings...)}, nil
}

// wanted are rows whose labels are wanted.
type wanted struct {
	x        matrix.Dense[float32]
	rows     []int // of a table, which has the number of them; nil means all
	of       int
	warnings []string
}

// toPredict returns the rows of a request as a model takes them. A model that was fitted to arrays takes an array.
func (c *call) toPredict(model *learner.Model, body predictBody) (q wanted, err error) {
	if body.Table == nil {
		raw, err := matrixOf[float64](c.Data[1])
		if err != nil {
			return q, fmt.Errorf("array X %w", err)
		}
		q.x, err = model.Rows(raw)
		return q, err
	}
	t, err := c.inputs(body.inputTable, nil)
	if err != nil {
		return q, err
	}
	if model.Columns() == nil {
		return q, refuse("the model was fitted to arrays: give it an array, not a table")
	}
	if t, err = earlierdata.Tables(c.ctx, t, model); err != nil {
		return q, err
	}
	rows, err := t.Rows(c.ctx)
	if err != nil {
		return q, err
	}
	return wanted{x: rows.Pool, rows: rows.PoolRows, of: t.Pool.Rows(), warnings: rows.Warnings}, nil
}

// all returns a number for each row of the table: NaN for those that were dropped.
func (q wanted) all(values []float64) []float64 {
	if q.rows == nil || len(values) == q.of {
		return values
	}
	all := slices.Repeat([]float64{math.NaN()}, q.of)
	for i, row := range q.rows {
		all[row] = values[i]
	}
	return all
}

// with returns a model with the predictions of learners that were fitted elsewhere, for some rows of a table, or for
// all.
func (c *call) with(model *learner.Model, list []given, rows []int) (*learner.Model, error) {
	predictions := map[string]matrix.Dense[float64]{}
	for _, g := range list {
		one, err := c.predictedFor(g, rows)
		if err != nil {
			return nil, err
		}
		predictions[g.Name] = one
	}
	return model.With(predictions)
}

// predictions returns the predictions for one target.
func predictions(ctx context.Context, model *learner.Model, x matrix.Dense[float32],
	body predictBody) (list [][]float64, err error) {
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
