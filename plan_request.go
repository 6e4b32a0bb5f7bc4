package nextbatch

import (
	"context"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/forecast"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/tables"
)

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
	openEnded, lines := r.Batch == 0, r.Batch
	if openEnded {
		r.Batch = r.mostRows()
	} else {
		r.Batch = r.picks()
	}
	p := &Plan{
		Spec: r.Spec.String(), Batch: r.Batch, Networks: r.networks(),
		Numeric: []string{}, OneHot: map[string]int{}, Dates: []string{}, Imputed: []string{}, Dropped: []string{},
		Limits: []string{}, Warnings: []string{}, Notes: []string{},
		request: r, model: r.Model, openEnded: openEnded,
	}
	if r.fits() && r.Learner.Blends() {
		p.Learner = r.Learner
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
		p.Rows.Labels = matrix.Dense[float64]{} // of no use, and there may be none of a target
		p.warn("%s a label, too few to train %s: the batch is spread over the inputs, by %s", words.Count(p.problem.Train.Rows, "row has", "rows have"), r.neededText(), p.Spec)
	}
	p.Labelled, p.Pool, p.Inputs = p.problem.Train.Rows, p.problem.poolSize(), p.problem.Pool.Cols
	if r.Ranks != nil {
		if err := selection.CheckShares(p.Pool, r.Ranks.Size()); err != nil {
			return p, &DataError{err}
		}
	}
	if r.measuresAgain() && !openEnded {
		p.Lines = lines
	}
	if err := p.constrain(); err != nil {
		return p, err
	}
	p.Limits = p.limits()
	return p, nil
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
	if fewest := p.request.Learner.Fewest(); p.Rows.Train.Rows < fewest && p.request.fits() {
		return unusableData("%s a label and all inputs, but %s needs at least %d; to start without one, leave out %s", words.Count(p.Rows.Train.Rows, "row has", "rows have"), p.request.modelText(), fewest, p.request.named("Spec"))
	}
	if p.request.fits() {
		if err := p.request.Learner.CheckLabels(slices.Max(dataset.CountLabels(p.Rows.Labels))); err != nil && len(p.request.Given) == 0 {
			return &DataError{err}
		}
		for _, wrong := range p.Rows.CheckLabels() {
			p.warn("%s", wrong)
		}
	}
	if err := p.checkGiven(); err != nil {
		return err
	}
	p.poolRows = p.Rows.PoolRows
	p.problem.Train, p.problem.Pool, p.problem.Aims.Rows = p.Rows.Train, p.Rows.Pool, p.Rows.Aims
	p.listColumns(p.Rows.Encoder)
	return nil
}

// nothingToPick explains why there are no candidates.
func (p *Plan) nothingToPick() error {
	r := &p.request
	name := r.tableName(r.pool(), "the table")
	if r.Table != nil && p.Rows.Train.Rows == r.Table.Rows() {
		return unusableData("%s: there is nothing to pick from, because all %d rows have a label in %s; add candidates, with %s empty",
			name, r.Table.Rows(), tables.TargetText(r.TargetColumns), map[bool]string{true: "that column", false: "these columns"}[len(r.TargetColumns) == 1])
	}
	return unusableData("%s: there is nothing to pick from: every row without a label was dropped, for the reasons above", name)
}

// listColumns lists how each column is used.
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
	p.problem.Learnt.Members = predicted(p.problem.Pool.Cols)
	if r.InFile {
		p.problem.Folder = r.Folder
	}
	for row := range p.problem.poolSize() {
		p.poolRows = append(p.poolRows, row)
	}
	return p.admit(forecast.Sizes{Train: p.problem.Train.Rows, Pool: p.problem.Pool.Rows, Aims: p.problem.Aims.Rows.Rows, Inputs: p.problem.Pool.Cols})
}

// predicted is the members of an ensemble whose predictions are the rows.
type predicted int

func (p predicted) Inputs() int  { return int(p) }
func (p predicted) Members() int { return int(p) }
func (p predicted) Predictions(_ context.Context, rows matrix.Dense[float32]) (matrix.Dense[float32], error) {
	return rows, nil
}
