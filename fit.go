package nextbatch

// A request without its batch: the rows that a model is fitted to, and the model. Limits have no part in it, and
// nothing is picked.

import (
	"context"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/earlierdata"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// Fit fits the model of the request, whatever its method, or takes Model. Errors are those of Plan.
func (r Request) Fit(ctx context.Context) (*fitted.Fitted, error) {
	rows, err := r.rowsToFit(ctx, r.Model == nil)
	switch {
	case err != nil:
		return nil, err
	case r.Model != nil:
		return fitted.Of(r.Model, rows, r.trainName), nil
	}
	return fitted.Fit(ctx, rows, r.Options, r.leastNetworks(), r.trainName)
}

// Rows returns the rows of the request as numbers. If its method needs a model, their labels must do for one.
func (r Request) Rows(ctx context.Context) (*tables.Rows, error) {
	r = r.WithDefaults()
	return r.rowsToFit(ctx, r.fits())
}

// rowsToFit returns the rows. Where a model is fitted to them, their warnings include those about labels.
func (r *Request) rowsToFit(ctx context.Context, fits bool) (*tables.Rows, error) {
	if err := r.checkModel(); err != nil {
		return nil, err
	}
	need := 0
	if fits {
		need = r.leastNetworks()
	}
	less := r.smallerModel(r.networksFor(need), fits)
	rows, err := r.read(ctx, func(z forecast.Sizes) error { return r.ask(r.memoryToFit(z, need, fits), less...) }, nil)
	if err == nil && fits {
		err = r.checkLabels(rows, "")
	}
	return rows, err
}

// leastNetworks is how many networks Fit trains at least.
func (r *Request) leastNetworks() int {
	if r.Learner.Blends() {
		return 0
	}
	return 1
}

// read turns the tables into numbers, if there is memory for them. Folder returns where those go that exceed it.
func (r *Request) read(ctx context.Context, admit func(forecast.Sizes) error,
	folder func() string) (*tables.Rows, error) {
	t, err := r.tables(ctx)
	if err != nil {
		return nil, err
	}
	var refused error
	t.Admit = func(z tables.Sizes) error {
		refused = admit(forecast.Of(z))
		return refused
	}
	t.Folder = folder
	rows, err := earlierdata.Rows(ctx, t, &r.Options)
	switch {
	case refused != nil:
		return nil, refused
	case err != nil:
		return nil, r.unusable(ctx, err)
	case rows.Pool.Rows == 0:
		return rows, r.nothingToPick(rows)
	}
	return rows, nil
}

// nothingToPick explains why there are no candidates.
func (r *Request) nothingToPick(rows *tables.Rows) error {
	name := r.tableName(r.pool(), "the table")
	if r.Table != nil && rows.Train.Rows == r.Table.Rows() {
		return tables.Unusable(
			"%s: there is nothing to pick from, because all %d rows have a label in %s; add candidates, with %s empty",
			name, r.Table.Rows(), tables.TargetText(r.TargetColumns),
			map[bool]string{true: "that column", false: "these columns"}[len(r.TargetColumns) == 1])
	}
	return tables.Unusable(
		"%s: there is nothing to pick from: every row without a label was dropped, for the reasons above", name)
}

// checkLabels reports labels that no model can be fitted to, with a way out, and adds warnings about others.
func (r *Request) checkLabels(rows *tables.Rows, way string) error {
	if fewest := r.Learner.Fewest(); rows.Train.Rows < fewest {
		text := fmt.Sprintf("%s a label and all inputs, but %s needs at least %d",
			words.Count(rows.Train.Rows, "row has", "rows have"), r.modelText(), fewest)
		if r.Missing == tables.DropMissing {
			text += fmt.Sprintf("; fill in the others, or use %s", r.named("Missing", "impute"))
		}
		return &DataError{Cause: &needs.FewRowsError{Rows: rows.Train.Rows, Text: text + way}}
	}
	err := r.Learner.CheckLabels(slices.Max(encode.CountLabels(rows.Labels)))
	if err != nil && len(r.Given) == 0 {
		return &DataError{Cause: err}
	}
	for _, wrong := range rows.CheckLabels() {
		rows.Warnings = append(rows.Warnings, wrong.Error())
	}
	return nil
}

// checkGiven reports predictions for other rows than those of the tables.
func (r *Request) checkGiven() error {
	targets := len(r.TargetColumns)
	for _, g := range r.Given {
		for _, of := range []struct {
			rows  matrix.Dense[float64]
			table *dataset.Table
			name  string
		}{{g.Held, r.train(), r.named("Train")}, {g.Pool, r.pool(), r.named("Pool")}} {
			if of.table == nil || of.rows.Rows != of.table.Rows() || of.rows.Cols != targets {
				return tables.Refuse("%s: there are %d×%d predictions for the rows of %s and %s", g.Name,
					of.rows.Rows, of.rows.Cols,
					r.tableName(of.table, of.name), words.Count(targets, "target", "targets"))
			}
		}
	}
	return nil
}

// trainName is the user's name of a row of the table of labelled rows.
func (r *Request) trainName(row int) string { return r.ids(r.train()).Name(row) }

// ids names the rows of a table.
func (r *Request) ids(t *dataset.Table) tables.IDs { return tables.IDs{Table: t, Column: r.IDColumn} }

// The memory of a request is forecast from the numbers of its rows; package forecast has the formulas.

// ask asks the caller whether this many bytes of memory are available. Less lists changes that would need less.
func (r *Request) ask(bytes int64, less ...string) error {
	if r.Admit == nil {
		return nil
	}
	return r.Admit(bytes, less...)
}

// Memory forecasts the bytes that the request needs with features of these sizes.
func (r Request) Memory(z forecast.Sizes) int64 {
	r = r.WithDefaults()
	return r.need(z, r.Model)
}

// need forecasts the memory of a plan for these sizes, with its model if it has one: the tables and their rows as
// numbers, which stay, plus the most that any later stage takes.
func (r *Request) need(z forecast.Sizes, m *learner.Model) int64 {
	stay, stack := r.tableMemory(z)
	fit, kept := r.fitMemory(z, m, r.Spec.TrainedNetworks(), r.fits())
	sizes := r.sizes(z, m)
	if r.Kept != nil {
		stay += r.Kept.Memory(r.Spec, sizes)
	}
	return footprint.Resident(stay + max(stack, fit, kept+forecast.Memory(r.Spec, sizes)+r.outputMemory(z)))
}

// tableMemory is that of the tables and their rows as numbers, and what it takes to make one of several tables.
func (r *Request) tableMemory(z forecast.Sizes) (stay, stack int64) {
	stay, stack = forecast.TableBytes(r.Table, r.Train, r.Pool, r.Aims)
	if r.Model != nil || r.Foreign != nil {
		stack = max(stack, stay) // columns that become of the kind that the network takes
	}
	if !r.OwnFeatures {
		stay += footprint.Float32(z.InMemory(), z.Inputs)
	}
	return stay, stack
}

// fitMemory is what it takes to fit the model, if it has not been fitted, and at least the needed networks for a
// kernel; and what they keep.
func (r *Request) fitMemory(z forecast.Sizes, m *learner.Model, need int, fits bool) (fit, kept int64) {
	config, members := r.Network, r.networksFor(need)
	config.Architecture.Outputs = max(len(r.TargetColumns), 1)
	if own := ensemble(m); own != nil {
		config.Architecture, members = own[0].Architecture(), len(own)
	}
	fit, kept = config.Memory(z.Inputs, z.Train, members)
	if m != nil || members == 0 {
		fit = 0
	}
	if !r.Learner.Blends() || !fits {
		return fit, kept
	}
	choices := r.Choices
	choices.Network = config
	return choices.Memory(z.Train, z.Inputs, len(r.TargetColumns), need)
}

// outputMemory is what the caller holds beside a selection.
func (r *Request) outputMemory(z forecast.Sizes) int64 {
	if r.Output == nil {
		return 0
	}
	return r.Output(z)
}

// sizes completes the sizes of the rows by those of the networks and the batch.
func (r *Request) sizes(z forecast.Sizes, m *learner.Model) forecast.Sizes {
	architecture := r.Network.WithDefaults().Architecture
	architecture.Outputs = max(len(r.TargetColumns), 1)
	if own := ensemble(m); own != nil {
		architecture = network.Config{Architecture: own[0].Architecture()}.WithDefaults().Architecture
	}
	z.Hidden, z.Batch, z.Pending, z.Outputs = architecture.Hidden, r.Batch, len(r.Pending), architecture.Outputs
	if r.Foreign != nil && r.Spec.TrainedNetworks() > 0 {
		z.Hidden = r.Foreign.hidden()
	}
	return z
}

// ensemble returns the networks of a model; nil if there is none yet, or it has none.
func ensemble(m *learner.Model) network.Ensemble {
	if m == nil {
		return nil
	}
	return m.Ensemble()
}

// smaller lists changes to the request that would need less memory.
func (r *Request) smaller() []string {
	list := forecast.SmallerKernel(r.Spec, r.OwnFeatures)
	return append(list, r.smallerModel(r.networks(), r.fits())...)
}

// smallerModel lists those changes to a model, of which so many networks are trained, and to the tables.
func (r *Request) smallerModel(networks int, fits bool) (list []string) {
	if networks > 1 {
		list = append(list, "fewer networks")
	}
	if networks > 0 || r.Learner == learner.Auto && fits {
		list = append(list, "narrower layers ("+r.named("Network.Architecture.Hidden")+")")
	}
	return append(list, "fewer candidates")
}

// memoryToFit forecasts the bytes of Fit, and of what the caller holds beside its model.
func (r *Request) memoryToFit(z forecast.Sizes, need int, fits bool) int64 {
	stay, stack := r.tableMemory(z)
	fit, kept := r.fitMemory(z, r.Model, need, fits)
	return footprint.Resident(stay + max(stack, fit, kept+r.outputMemory(z)))
}

// AdmitKernel asks the caller whether there is memory to embed more rows, of these sizes, by a spec, beside the rows
// that a model was fitted to. The model may be missing.
func (r Request) AdmitKernel(s spec.Spec, m *learner.Model, rows *tables.Rows, z forecast.Sizes) error {
	r.Spec, r.Kept = s, nil
	z.Inputs = rows.Pool.Cols
	held := footprint.Float32(rows.Train.Rows+rows.Pool.Rows, z.Inputs)
	return r.ask(min(footprint.Most, r.need(z, m)+held), r.smaller()...)
}
