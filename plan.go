package nextbatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/forecast"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// Plan is a checked request whose rows have been turned into numbers. Forecast
// estimates its time; Train and Select carry it out. Only one goroutine at a time may
// use a plan.
type Plan struct {
	Spec     string         `json:"spec"`
	Labelled int            `json:"labelled"` // rows
	Pool     int            `json:"pool"`     // candidates
	Pending  int            `json:"pending"`  // candidates that are out being labelled
	Batch    int            `json:"batch"`    // rows to pick
	Networks int            `json:"networks"` // to train
	Inputs   int            `json:"inputs"`   // columns after encoding, or features
	Numeric  []string       `json:"numeric"`  // columns that are inputs as they are
	OneHot   map[string]int `json:"one_hot"`  // levels of each encoded column
	Dates    []string       `json:"dates"`    // columns of dates and times of day, which become numbers and cycles
	Imputed  []string       `json:"imputed"`  // columns with missing values, which an input or a level of its own marks
	Dropped  []string       `json:"dropped"`  // columns that are not used

	Memory    int64    `json:"memory"`            // bytes, forecast
	File      int64    `json:"file,omitempty"`    // bytes of the features, and of the inputs, in files, if they exceed memory
	Folder    string   `json:"folder,omitempty"`  // where the temporary ones of them lie, if there are any
	Available int64    `json:"available"`         // bytes, filled in by the caller; 0 where unknown
	Seconds   *Seconds `json:"seconds,omitempty"` // once forecast
	Limits    []string `json:"limits"`            // what the batch has to keep to
	Warnings  []string `json:"warnings"`          // what a reader should know, so far
	Notes     []string `json:"notes"`             // what else was done to the tables

	Rows *tables.Rows `json:"-"` // the tables as numbers, not yet scaled; nil with the user's own features

	request   Request
	problem   Problem // without models, and not scaled, before Train
	poolRows  []int   // row i of the pool is this row of the input
	openEnded bool    // the batch has as many rows as fit into the budget
	model     *network.Model
	trained   bool
	timings   Timings
	poolRMSE  []*network.RMSEEstimate // of each target; nil where there is no estimate
}

// Plan checks the request and turns its rows into numbers. An error is a *RequestError,
// a *DataError, a *spec.Error, or that of Admit or of the context. With Folder, the caller closes
// the plan.
func (r Request) Plan(ctx context.Context) (_ *Plan, err error) {
	starts := r.Spec.Method == "" && r.starts()
	r = r.WithDefaults()
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := r.checkInput(); err != nil {
		return nil, err
	}
	openEnded := r.Batch == 0
	if openEnded {
		r.Batch = r.mostRows()
	}
	p := &Plan{
		Spec: r.Spec.String(), Batch: r.Batch, Networks: r.networks(),
		Numeric: []string{}, OneHot: map[string]int{}, Dates: []string{}, Imputed: []string{}, Dropped: []string{},
		Limits: []string{}, Warnings: []string{}, Notes: []string{},
		request: r, model: r.Model, openEnded: openEnded,
	}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	p.problem.Batch, p.problem.Seed, p.problem.KernelSeed, p.problem.Ranks = r.Batch, r.Seed, r.KernelSeed, r.Ranks
	read := p.readTables
	if r.OwnFeatures {
		read = p.readFeatures
	}
	if err := read(ctx); err != nil {
		return nil, err
	}
	if starts {
		p.warn("%s a label, too few to train a network: the batch is spread over the inputs, by %s", words.Count(p.problem.Train.Rows, "row has", "rows have"), p.Spec)
	}
	p.Labelled, p.Pool, p.Inputs = p.problem.Train.Rows, p.problem.poolSize(), p.problem.Pool.Cols
	if r.Ranks != nil {
		if err := selection.CheckShares(p.Pool, r.Ranks.Size()); err != nil {
			return p, &DataError{err}
		}
	}
	if err := p.constrain(); err != nil {
		return p, err
	}
	p.Limits = p.limits()
	return p, nil
}

// Close takes rows that are in files (Request.Folder) out of memory. The plan cannot be used
// after that.
func (p *Plan) Close() {
	if p.Rows != nil {
		p.Rows.Close()
	}
}

func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

func (p *Plan) readTables(ctx context.Context) error {
	t, err := p.request.tables()
	if err != nil {
		return err
	}
	var refused error
	t.Admit = func(z tables.Sizes) error {
		refused = p.admit(forecast.Of(z))
		return refused
	}
	t.Folder = func() string { return p.problem.Folder }
	if p.Rows, err = t.Rows(ctx); refused != nil {
		return refused
	} else if err != nil {
		return p.unusable(ctx, err)
	}
	p.Warnings, p.Notes = append(p.Warnings, p.Rows.Warnings...), append(p.Notes, p.Rows.Notes...)
	if p.Rows.Pool.Rows == 0 {
		return p.nothingToPick()
	}
	if p.Rows.Train.Rows < tables.FewestToLearn && p.Networks > 0 {
		return unusableData("%s a label and all inputs, but a network needs at least %d; to start without one, leave out %s", words.Count(p.Rows.Train.Rows, "row has", "rows have"), tables.FewestToLearn, p.request.named("Spec"))
	}
	if p.Networks > 0 {
		for _, wrong := range p.Rows.CheckLabels() {
			p.warn("%s", wrong)
		}
	}
	p.poolRows = p.Rows.PoolRows
	p.problem.Train, p.problem.Pool, p.problem.Aims.Rows = p.Rows.Train, p.Rows.Pool, p.Rows.Aims
	p.listColumns(p.Rows.Encoder)
	return nil
}

// unusable returns the error of rows that cannot be used, of their temporary files, or of the
// context.
func (p *Plan) unusable(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case rowfile.IsOfFolder(err):
		return fmt.Errorf("%w; %s names another folder", err, p.request.named("Folder"))
	}
	return &DataError{err}
}

// nothingToPick says why there are no candidates.
func (p *Plan) nothingToPick() error {
	r := &p.request
	name := r.tableName(r.pool(), "the table")
	if r.Table != nil && p.Rows.Train.Rows == r.Table.Rows() {
		return unusableData("%s: there is nothing to pick from, because all %d rows have a label in %s; add candidates, with %s empty",
			name, r.Table.Rows(), tables.TargetText(r.TargetColumns), map[bool]string{true: "that column", false: "these columns"}[len(r.TargetColumns) == 1])
	}
	return unusableData("%s: there is nothing to pick from: every row without a label was dropped, for the reasons above", name)
}

// listColumns lists what became of the columns.
func (p *Plan) listColumns(e dataset.Encoder) {
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
	case exact.Pool.Rows > 0 || r.InFile && r.Spec.ComputesInDouble():
		p.problem = p.problem.WithFeatures(exact.Train, exact.Pool, exact.Aims)
		if exact.Pool.Rows == 0 {
			p.problem.Pool = r.Features.Pool
		}
	default:
		p.problem.Train, p.problem.Pool, p.problem.Aims.Rows = r.Features.Train, r.Features.Pool, r.Features.Aims
	}
	p.problem.Shared, p.problem.RowName = r.Shared, r.RowName
	if r.InFile {
		p.problem.Folder = r.Folder
	}
	p.poolRows = tables.UpTo(p.problem.poolSize())
	return p.admit(forecast.Sizes{Train: p.problem.Train.Rows, Pool: p.problem.Pool.Rows, Aims: p.problem.Aims.Rows.Rows, Inputs: p.problem.Pool.Cols})
}

// admit asks the caller whether there is memory for so many rows. If there is not, the
// embedded rows of the pool go to a file, if that helps.
func (p *Plan) admit(z forecast.Sizes) error {
	r := &p.request
	z.InFile = r.InFile
	p.Memory = p.need(z)
	err := p.ask(p.Memory)
	if err != nil && r.Kept != nil {
		r.Kept.Clear()
		r.Kept = nil
		p.Memory = p.need(z)
		err = p.ask(p.Memory)
	}
	if err != nil && !z.InFile && p.mayUseFile() {
		inFile := z
		inFile.InFile = true
		need := p.need(inFile)
		if refused := p.ask(need); refused == nil || need < p.Memory {
			z, p.Memory, p.problem.Folder, err = inFile, need, r.Folder, refused
		}
	}
	if err != nil || !z.InFile {
		return err
	}
	return p.reserve(z)
}

// ask asks the caller whether there is so much memory.
func (p *Plan) ask(bytes int64) error {
	if p.request.Admit == nil {
		return nil
	}
	return p.request.Admit(bytes, p.smaller()...)
}

// Admit asks the caller whether there is memory to embed so many rows of the plan, which holds all
// of them as numbers, by a spec other than its own.
func (p *Plan) Admit(s spec.Spec, z forecast.Sizes) error {
	other := *p
	other.request.Spec, other.request.Kept = s, nil
	z.Inputs = p.Inputs
	need := min(footprint.Most, other.need(z)+footprint.Float32(p.Labelled+p.Pool, p.Inputs))
	return other.ask(need)
}

// mayUseFile reports whether embedded rows may go to a file.
func (p *Plan) mayUseFile() bool {
	r := &p.request
	return rowfile.Supported && r.Folder != "" && r.Ranks == nil && !r.OwnFeatures && r.Spec.UsesKernel()
}

// reserve records how large the rows in files will be, and makes sure that there is space
// for the temporary ones.
func (p *Plan) reserve(z forecast.Sizes) error {
	r := &p.request
	if !r.Streams {
		p.File = forecast.FileBytes(r.Spec, p.sizes(z))
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
		return fmt.Errorf("the features of the candidates exceed memory and go to a temporary file: %w; %s names another folder", err, r.named("Folder"))
	}
	return nil
}

// Memory forecasts the bytes that the request needs with so many rows of features.
func (r Request) Memory(z forecast.Sizes) int64 { return (&Plan{request: r.WithDefaults()}).need(z) }

// need forecasts the memory of the plan on so many rows: the tables and their rows as
// numbers, which stay, plus the most that any later stage takes.
func (p *Plan) need(z forecast.Sizes) int64 {
	r := &p.request
	stay, stack := forecast.TableBytes(r.Table, r.Train, r.Pool, r.Aims)
	if r.Model != nil || r.Foreign != nil {
		stack = max(stack, stay) // columns that become of the kind that the network takes
	}
	if !r.OwnFeatures {
		stay += footprint.Float32(z.InMemory(), z.Inputs)
	}
	config, members := r.Network, r.networks()
	config.Architecture.Outputs = max(len(r.TargetColumns), 1)
	if p.model != nil {
		config.Architecture, members = p.model.Ensemble()[0].Architecture(), len(p.model.Ensemble())
	}
	fit, kept := config.Memory(z.Inputs, z.Train, members)
	if p.model != nil || members == 0 {
		fit = 0
	}
	output := int64(0)
	if r.Output != nil {
		output = r.Output(z)
	}
	if r.Kept != nil {
		stay += r.keptMemory(p.sizes(z))
	}
	return footprint.Resident(stay + max(stack, fit, kept+forecast.Memory(r.Spec, p.sizes(z))+output))
}

// FeatureBytes forecasts the size of the features of so many rows: 0 for the user's own, as
// they are.
func (p *Plan) FeatureBytes(rows int) int64 {
	return forecast.FileBytes(p.request.Spec, p.sizes(forecast.Sizes{Train: p.Labelled, Pool: rows, Inputs: p.Inputs}))
}

// sizes completes the sizes of the rows by those of the networks and the batch.
func (p *Plan) sizes(z forecast.Sizes) forecast.Sizes {
	r := &p.request
	architecture := r.Network.WithDefaults().Architecture
	architecture.Outputs = max(len(r.TargetColumns), 1)
	if p.model != nil {
		architecture = network.Config{Architecture: p.model.Ensemble()[0].Architecture()}.WithDefaults().Architecture
	}
	z.Hidden, z.Batch, z.Pending, z.Outputs = architecture.Hidden, r.Batch, len(r.Pending), architecture.Outputs
	if r.Foreign != nil && r.Spec.TrainedNetworks() > 0 {
		z.Hidden = r.Foreign.hidden()
	}
	return z
}

// smaller lists changes to the request that would need less memory.
func (p *Plan) smaller() (list []string) {
	r := &p.request
	sketch := 0 // the smallest sketch of the spec
	for _, t := range r.Spec.Transforms {
		info, width := t.Info(), int(t.Number)
		if info.Projects && !info.DoubleOnly && (sketch == 0 || width < sketch) {
			sketch = width
		}
	}
	switch {
	case !r.Spec.UsesKernel():
	case sketch == 0 && r.OwnFeatures:
		list = append(list, "a sketch, as in lcmd-tp:features>sketch(128)")
	case sketch == 0:
		list = append(list, "a sketch, as in lcmd-tp:grad>sketch(128)")
	case sketch > 32: // with fewer features, a kernel hardly distinguishes rows
		list = append(list, fmt.Sprintf("a smaller sketch, such as sketch(%d)", sketch/2))
	}
	if p.Networks > 1 {
		list = append(list, "fewer networks")
	}
	if p.Networks > 0 {
		list = append(list, "narrower layers ("+r.named("Network.Architecture.Hidden")+")")
	}
	return append(list, "fewer candidates")
}

// Model returns the model that the plan uses: that of the request or, after Train, the
// one that was trained; nil if the spec needs none.
func (p *Plan) Model() *network.Model { return p.model }

// Train trains the networks, unless there is a model or the spec needs none, and scales
// the rows. Select calls it if the caller has not.
func (p *Plan) Train(ctx context.Context) error {
	if p.trained {
		return nil
	}
	begin := time.Now()
	if p.Networks > 0 && p.model == nil {
		var err error
		if p.model, err = p.fit(ctx, network.Options{Config: p.request.Network, Members: p.Networks, Progress: p.request.Epoch}); p.model == nil {
			return err
		}
		p.warnOf(err)
		if note := p.model.TrainingNote(); note != "" {
			p.Warnings = append(p.Warnings, note)
		}
		var warnings []string
		p.poolRMSE, warnings = PoolRMSE(p.Rows, p.model)
		p.Warnings = append(p.Warnings, warnings...)
	} else if p.model != nil {
		p.poolRMSE = make([]*network.RMSEEstimate, p.model.Targets())
	}
	p.timings.Train = Float(time.Since(begin).Seconds())
	if p.Networks == 0 {
		p.timings.Train = 0
	}
	if err := p.scale(ctx); err != nil {
		return err
	}
	p.trained = true
	return nil
}

// fit trains a model. If some members diverged, it returns both a model and an error.
func (p *Plan) fit(ctx context.Context, o network.Options) (*network.Model, error) {
	o.Trainer, o.Columns, o.Targets = p.request.Trainer, &p.Rows.Encoder, p.Rows.Targets
	model, err := network.Fit(ctx, Sample(p.Rows), o)
	switch {
	case model != nil:
		return model, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, new(*network.DeviceError)):
		return nil, err
	}
	return nil, &DataError{err}
}

// warnOf turns joined errors, one per network, into warnings.
func (p *Plan) warnOf(err error) {
	if err != nil {
		p.Warnings = append(p.Warnings, strings.Split(err.Error(), "\n")...)
	}
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
		scaled, err = NewProblem(ctx, p.Rows, p.model, p.request.Network.Architecture)
	}
	if err != nil {
		return p.unusable(ctx, err)
	}
	p.problem.Models, p.problem.Labels, p.problem.Weights = scaled.Models, scaled.Labels, scaled.Weights
	p.problem.Train, p.problem.Pool, p.problem.Aims.Rows = scaled.Train, scaled.Pool, scaled.Aims.Rows
	return nil
}

// Problem returns the problem that Select solves, for Features, Gram and Plane. It is
// complete after Train.
func (p *Plan) Problem() Problem {
	problem := p.problem
	problem.Progress = p.request.Progress
	return problem
}

// Resume has Select go on with the choices of a run that was cut off (selection.Problem).
func (p *Plan) Resume(choices []selection.Choice) { p.problem.Resume = choices }

// Picked has Select call f with each choice, in order.
func (p *Plan) Picked(f func(selection.Choice)) { p.problem.Picked = f }

// Select picks the batch, and trains first if the caller has not. A batch that is
// smaller than requested is not an error: see Result.Missing.
func (p *Plan) Select(ctx context.Context) (*Result, error) {
	if err := p.Train(ctx); err != nil {
		return nil, p.problem.together(ctx, err)
	}
	problem := p.Problem()
	if p.request.Kept != nil && p.model != nil {
		problem.Kept, problem.Networks = p.request.Kept, nameOf(p.model, p.request.Weights)
	}
	batch, err := p.pick(ctx, problem)
	if err != nil {
		return nil, err
	}
	if p.openEnded { // a batch that the budget ends is complete
		batch.Missing, batch.Short = 0, ""
	}
	return p.result(ctx, batch)
}

func (p *Plan) pick(ctx context.Context, problem Problem) (*Batch, error) {
	batch, err := Select(ctx, p.request.Spec, problem)
	wrong := (*selection.ProblemError)(nil)
	switch {
	case err == nil || ctx.Err() != nil:
		return batch, err
	case errors.As(err, new(*selection.DeviceError)):
		return nil, err
	case errors.As(err, &wrong):
		return nil, &RequestError{err.Error()}
	}
	return nil, p.unusable(ctx, err)
}
