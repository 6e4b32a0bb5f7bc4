package nextbatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/bound"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/tables"
)

// Plan is a checked request whose rows have been turned into numbers. Forecast estimates its time; Train and Select
// carry it out. Only one goroutine at a time may use a plan.
type Plan struct {
	Spec     string `json:"spec"`
	Labelled int    `json:"labelled"` // rows
	Pool     int    `json:"pool"`     // candidates
	Pending  int    `json:"pending"`  // candidates that are out being labelled
	Batch    int    `json:"batch"`    // rows to pick
	// lines of the batch, with replicates and repeats; 0 if they are the rows
	Lines    int `json:"measurements,omitempty"`
	Networks int `json:"networks"` // to train
	// of the blend to fit; empty if networks alone are trained, or nothing
	Learner learner.Kind   `json:"learner,omitempty"`
	Inputs  int            `json:"inputs"`  // columns after encoding, or features
	Numeric []string       `json:"numeric"` // columns that are inputs as they are
	OneHot  map[string]int `json:"one_hot"` // levels of each encoded column
	// columns of dates and times of day, which become numbers and cycles
	Dates []string `json:"dates"`
	// columns with missing values, which an input or a level of its own marks
	Imputed []string `json:"imputed"`
	Dropped []string `json:"dropped"` // columns that are not used

	Memory int64 `json:"memory"` // bytes, forecast
	// bytes of the features, and of the inputs, in files, if they exceed memory
	File      int64    `json:"file,omitempty"`
	Folder    string   `json:"folder,omitempty"`  // the folder of the temporary files, if there are any
	Available int64    `json:"available"`         // bytes, filled in by the caller; 0 where unknown
	Seconds   *Seconds `json:"seconds,omitempty"` // once forecast
	Limits    []string `json:"limits"`            // the constraints on the batch
	Warnings  []string `json:"warnings"`          // what a reader should know, so far
	Notes     []string `json:"notes"`             // what else was done to the tables

	Rows *tables.Rows `json:"-"` // the tables as numbers, not yet scaled; nil with the user's own features

	request  Request
	problem  Problem        // without models, and not scaled, before Train
	poolRows []int          // row i of the pool is this row of the input
	bound    *bound.Bound   // the limits, on the rows of the pool
	fit      *fitted.Fitted // nil if the spec needs no model, and before Train
	trained  bool
	timings  Seconds
}

// Seconds are what a plan takes: the forecast, or what was measured, whose Read and Total the caller fills in, who has
// read the tables.
type Seconds struct {
	Read   fitted.Float `json:"read"`
	Train  fitted.Float `json:"train"`
	Kernel fitted.Float `json:"kernel"`
	Select fitted.Float `json:"select"`
	Total  fitted.Float `json:"total"`
}

// Plan checks the request and turns its rows into numbers. An error is a *RequestError, a *DataError, a *spec.Error, or
// that of Admit or of the context. With Folder, the caller closes the plan.
func (r Request) Plan(ctx context.Context) (*Plan, error) {
	p, err := r.plan(ctx, r.Spec.Method == "" && r.starts())
	var few *needs.FewRowsError
	if r.Spec.Method == "" && errors.As(err, &few) { // some labelled rows lack inputs
		r.Spec = needs.Start(few.Rows, r.pool().Rows())
		return r.plan(ctx, true)
	}
	return p, err
}

// plan is Plan. The batch starts without a model if the tables have too few labels for one.
func (r Request) plan(ctx context.Context, starts bool) (_ *Plan, err error) {
	r = r.WithDefaults()
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := r.checkInput(); err != nil {
		return nil, err
	}
	p := &Plan{
		Spec: r.Spec.String(), Batch: bound.Expect(&r.Ask, r.given()), Networks: r.networks(),
		Numeric: []string{}, OneHot: map[string]int{}, Dates: []string{}, Imputed: []string{}, Dropped: []string{},
		Limits: []string{}, Warnings: []string{}, Notes: []string{},
		request: r,
	}
	if r.fits() && r.Learner.Blends() {
		p.Learner = r.Learner
	}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	p.problem.Batch, p.problem.Seed, p.problem.KernelSeed, p.problem.Ranks = p.Batch, r.Seed, r.KernelSeed, r.Ranks
	read := p.readTables
	if r.OwnFeatures {
		read = p.readFeatures
	}
	if err := read(ctx); err != nil {
		return nil, err
	}
	if starts {
		p.Rows.Labels = matrix.Dense[float64]{} // of no use, and there may be none of a target
		//warning:spread-batch
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s a label, too few to train %s: the batch is spread over the "+
			"inputs, by %s", words.Count(p.problem.Train.Rows, "row has", "rows have"), r.neededText(), p.Spec))
	}
	p.Labelled, p.Pool, p.Inputs = p.problem.Train.Rows, p.problem.poolSize(), p.problem.Pool.Cols
	if r.Ranks != nil {
		if err := place.CheckShares(p.Pool, r.Ranks.Size()); err != nil {
			return p, &DataError{Cause: err}
		}
	}
	return p, p.bind()
}

// bind turns the limits of the request into constraints of the problem.
func (p *Plan) bind() (err error) {
	rows := bound.Rows{Tables: p.request.given(), PoolRows: p.poolRows}
	if p.Rows != nil {
		rows.TrainRows = p.Rows.TrainRows
	}
	p.bound, err = bound.Bind(p.request.Ask, rows, p.request.Seed)
	p.Warnings = append(p.Warnings, p.bound.Warnings...)
	if err != nil {
		return err
	}
	p.problem.Constraints, p.problem.Pending, p.problem.Batch = p.bound.Constraints, p.bound.Pending, p.bound.Batch
	p.Batch, p.Lines, p.Pending, p.Limits = p.bound.Batch, p.bound.Lines, len(p.bound.Pending), p.bound.Describe()
	return nil
}

func (p *Plan) readTables(ctx context.Context) (err error) {
	r := &p.request
	p.Rows, err = r.read(ctx, func(z forecast.Sizes) error { return p.admit(z) },
		func() string { return p.problem.Folder })
	if err != nil {
		return err
	}
	if r.fits() {
		if err := r.checkLabels(p.Rows, fmt.Sprintf("; to start without one, leave out %s", r.named("Spec"))); err != nil {
			return err
		}
	}
	p.Warnings, p.Notes = append(p.Warnings, p.Rows.Warnings...), append(p.Notes, p.Rows.Notes...)
	if err := r.checkGiven(); err != nil {
		return err
	}
	p.poolRows = p.Rows.PoolRows
	p.problem.Train, p.problem.Pool, p.problem.Aims.Rows = p.Rows.Train, p.Rows.Pool, p.Rows.Aims
	p.listColumns(p.Rows.Encoder)
	return nil
}

// listColumns lists how each column is used.
func (p *Plan) listColumns(e encode.Encoder) {
	p.Numeric = append(p.Numeric, e.Numeric...)
	p.Imputed = append(p.Imputed, e.Indicators...)
	for _, c := range e.Categories {
		p.OneHot[c.Column] = len(c.Levels)
		if c.Missing {
			p.Imputed = append(p.Imputed, c.Column)
		}
	}
	for _, f := range e.Times {
		p.Dates = append(p.Dates, f.Column)
	}
	for _, d := range e.Dropped {
		p.Dropped = append(p.Dropped, d.Column)
	}
}

func (p *Plan) readFeatures(context.Context) error {
	r := &p.request
	switch exact := r.Exact; {
	case exact.Pool.Rows > 0 && r.InFile: // where a copy in float32 is not needed, and would not fit
		p.problem = p.problem.WithFeatures(exact.Train, matrix.Dense[float64]{}, exact.Aims)
		p.problem.Exact.Pool = exact.Pool
		p.problem.Pool = matrix.Dense[float32]{Rows: exact.Pool.Rows, Cols: exact.Pool.Cols, Stride: exact.Pool.Cols}
	case exact.Pool.Rows > 0 || r.InFile && needs.ComputesInDouble(r.Spec):
		p.problem = p.problem.WithFeatures(exact.Train, exact.Pool, exact.Aims)
		if exact.Pool.Rows == 0 {
			p.problem.Pool = r.Features.Pool
		}
	default:
		p.problem.Train, p.problem.Pool, p.problem.Aims.Rows = r.Features.Train, r.Features.Pool, r.Features.Aims
	}
	p.problem.Shared, p.problem.RowName = r.Shared, r.RowName
	p.problem.Learnt.Members = predictions(p.problem.Pool.Cols)
	if r.InFile {
		p.problem.Folder = r.Folder
	}
	for row := range p.problem.poolSize() {
		p.poolRows = append(p.poolRows, row)
	}
	return p.admit(forecast.Sizes{Train: p.problem.Train.Rows, Pool: p.problem.Pool.Rows, Aims: p.problem.Aims.Rows.Rows,
		Inputs: p.problem.Pool.Cols})
}

// predictions is the members of an ensemble whose predictions are the rows.
type predictions int

func (p predictions) Inputs() int  { return int(p) }
func (p predictions) Members() int { return int(p) }
func (p predictions) Predictions(_ context.Context, rows matrix.Dense[float32]) (matrix.Dense[float32], error) {
	return rows, nil
}

// Leaks returns the columns that are not inputs because they are measured together with the label, and warnings that
// name them.
func (r Request) Leaks(ctx context.Context) ([]tables.Judged, []string, error) {
	t, err := r.tables(ctx)
	if err != nil {
		return nil, nil, err
	}
	return t.Leaks(ctx)
}

// admit asks the caller whether there is memory for these sizes. If there is not, the
// embedded rows of the pool go to a file, if that helps.
func (p *Plan) admit(z forecast.Sizes) error {
	r := &p.request
	z.InFile = r.InFile
	p.Memory = r.need(z, p.Model())
	err := r.ask(p.Memory, r.smaller()...)
	if err != nil && r.Kept != nil {
		r.Kept.Clear()
		r.Kept = nil
		p.Memory = r.need(z, p.Model())
		err = r.ask(p.Memory, r.smaller()...)
	}
	if err != nil && !z.InFile && r.mayUseFile() {
		inFile := z
		inFile.InFile = true
		need := r.need(inFile, p.Model())
		if refused := r.ask(need, r.smaller()...); refused == nil || need < p.Memory {
			z, p.Memory, p.problem.Folder, err = inFile, need, r.Folder, refused
		}
	}
	if err != nil || !z.InFile {
		return err
	}
	return p.reserve(z)
}

// mayUseFile reports whether embedded rows may go to a file.
func (r *Request) mayUseFile() bool {
	return rowfile.Supported && r.Folder != "" && r.Ranks == nil && !r.OwnFeatures && r.Spec.UsesKernel()
}

// reserve records how large the rows in files will be, and makes sure that there is space for the temporary ones.
func (p *Plan) reserve(z forecast.Sizes) error {
	r := &p.request
	if !r.Streams {
		p.File = forecast.FileBytes(r.Spec, r.sizes(z, p.Model()))
	}
	if !r.OwnFeatures {
		p.File += forecast.InputFileBytes(z)
	}
	if p.File == 0 {
		p.File = r.fileBytes()
		return nil
	}
	p.Folder = r.Folder
	if err := rowfile.CheckSpace(r.Folder, p.File); err != nil {
		return fmt.Errorf(
			"the features of the candidates exceed memory and go to a temporary file: %w; %s names another folder",
			err, r.named("Folder"))
	}
	return nil
}

// FeatureBytes forecasts the size of the features of the given number of rows: 0 for the user's
// own, which are used as they are.
func (p *Plan) FeatureBytes(rows int) int64 {
	return forecast.FileBytes(p.request.Spec, p.request.sizes(forecast.Sizes{Train: p.Labelled, Pool: rows,
		Inputs: p.Inputs}, p.Model()))
}

// Close unmaps rows that are in files (Request.Folder). The plan cannot be used after that.
func (p *Plan) Close() {
	if p.Rows != nil {
		p.Rows.Close()
	}
}

// Name returns the user's name of a row of the pool or of the labelled rows: its id, or
// its number in the input, from 0.
func (p *Plan) Name(set selection.Set, at int) string {
	table, row := p.request.pool(), at
	if set == selection.TrainSet {
		table = p.request.train()
		if p.Rows != nil {
			row = p.Rows.TrainRows[at]
		}
	} else {
		row = p.poolRows[at]
	}
	return p.request.ids(table).Name(row)
}

// Model returns the model that the plan uses: that of the request or, after Train, the
// one that was trained; nil if the spec needs none.
func (p *Plan) Model() *learner.Model {
	if p.fit == nil {
		return p.request.Model
	}
	return p.fit.Model
}

// Fitted returns the fitted model that the plan uses; nil if the spec needs none, and before Train.
func (p *Plan) Fitted() *fitted.Fitted { return p.fit }

// Doubtful returns labels of the tables that should get a second look. Call it after Train: models that have been
// fitted expect more of a label than that it is like the others.
func (p *Plan) Doubtful() []fitted.DoubtfulLabel {
	switch {
	case p.fit != nil:
		return p.fit.Doubtful
	case p.Rows == nil:
		return nil
	}
	return fitted.DoubtfulLabels(p.Rows, nil, p.request.trainName)
}

// Problem returns the problem that Select solves, for Features, Gram and Plane. It is complete after Train.
func (p *Plan) Problem() Problem {
	problem := p.problem
	problem.Progress = p.request.Progress
	return problem
}

// Resume makes Select resume with the choices of an interrupted run (selection.Problem).
func (p *Plan) Resume(choices []selection.Choice) { p.problem.Resume = choices }

// Picked makes Select call f with each choice, in order.
func (p *Plan) Picked(f func(selection.Choice)) { p.problem.Picked = f }

// Train trains the networks, unless there is a model or the spec needs none, and scales
// the rows. Select calls it if the caller has not.
func (p *Plan) Train(ctx context.Context) error {
	if p.trained {
		return nil
	}
	begin := time.Now()
	if err := p.learn(ctx); err != nil {
		return err
	}
	p.timings.Train = fitted.Float(time.Since(begin).Seconds())
	if !p.request.fits() && !p.fit.Trained() {
		p.timings.Train = 0
	}
	if err := p.scale(ctx); err != nil {
		return err
	}
	p.trained = true
	return nil
}

// learn fits the model, or takes that of the request, and trains networks for the kernel if it has too few.
func (p *Plan) learn(ctx context.Context) (err error) {
	r, need := &p.request, p.request.Spec.TrainedNetworks()
	switch {
	case p.fit != nil, r.Model == nil && !r.fits():
		return nil
	case r.Model == nil:
		p.fit, err = fitted.Fit(ctx, p.Rows, r.Options, need, p.request.trainName)
	default:
		if p.fit = fitted.Of(r.Model, p.Rows, p.request.trainName); len(p.fit.Networks) < need && p.Rows.Train.Rows == 0 &&
			r.Model.Kind().Blends() {
			return tables.Refuse("%v uses %d networks, but %s holds %d", r.Spec, need, r.modelName(), len(p.fit.Networks))
		}
		err = p.fit.Train(ctx, r.Options, need)
	}
	if err == nil {
		p.Warnings = append(p.Warnings, p.fit.Warnings...)
	}
	return err
}

// inputRows converts rows of the pool to rows of the input.
func (p *Plan) inputRows(rows []int) []int {
	list := make([]int, len(rows))
	for i, row := range rows {
		list[i] = p.poolRows[row]
	}
	return list
}

// scale puts the scaled rows and the models into the problem.
func (p *Plan) scale(ctx context.Context) error {
	if p.Rows == nil {
		return nil
	}
	var scaled Problem
	var err error
	if p.request.Foreign != nil {
		scaled, err = foreignProblem(ctx, p.Rows, p.request.Foreign)
	} else {
		scaled, err = NewProblem(ctx, p.Rows, p.fit, p.request.Network.Architecture)
	}
	if err != nil {
		return p.request.unusable(ctx, err)
	}
	p.problem.Models, p.problem.Labels, p.problem.Weights, p.problem.Learnt = scaled.Models, scaled.Labels,
		scaled.Weights, scaled.Learnt
	p.problem.Train, p.problem.Pool, p.problem.Aims.Rows = scaled.Train, scaled.Pool, scaled.Aims.Rows
	p.problem.Noise = scaled.Noise
	return nil
}

func (p *Plan) pick(ctx context.Context, problem Problem) (*Batch, error) {
	batch, err := Select(ctx, p.request.Spec, problem)
	conflict := (*selection.ConflictError)(nil)
	wrong := (*selection.ProblemError)(nil)
	switch {
	case err == nil || ctx.Err() != nil:
		return batch, err
	case errors.As(err, new(*place.DeviceError)):
		return nil, err
	case errors.As(err, &conflict):
		return nil, p.bound.Explain(conflict)
	case errors.As(err, &wrong):
		return nil, &RequestError{Reason: err.Error()}
	}
	return nil, p.request.unusable(ctx, err)
}
