// Package earlierdata makes use of labelled rows of an earlier campaign, another instrument or a simulation. A model
// g_e of each table of them, fitted to the inputs that it shares with the present tables, predicts all rows, and
//
//	x' = (x, g_1(x), g_2(x), …)
//
// replaces the inputs x of the present model as far as that lowers its error on held-out labels. So the earlier labels
// may be on another scale, and the present ones decide whether the earlier ones say anything about them.
package earlierdata

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

const (
	// leastGain is by which share what an earlier model predicts must lower the error on held-out labels: a smaller gain
	// may be chance, and an input that says nothing costs something.
	leastGain = 0.03
	// leastLearnt is which share of the deviation of earlier labels the error on held-out ones must lack, or there is
	// nothing to learn from them.
	leastLearnt = 0.05
	// mostForProcess is how many labels Gaussian processes are fitted to here. With more, trees do.
	mostForProcess = 2048
	// rowsAtOnce is how many rows an earlier model predicts at a time, and the most that its encoder learns from.
	rowsAtOnce = 1 << 15
)

// Rows turns tables into rows for fitted.Fit. Models of earlier data are fitted first, and what they predict is an
// input as far as that helps. As long as there are too few present labels to tell, it is one, so that the first batch
// is spread over it, too.
func Rows(ctx context.Context, t tables.Tables, o *fitted.Options) (*tables.Rows, error) {
	o.EarlierModels = nil
	rows, err := t.Rows(ctx)
	if err != nil || len(t.Earlier) == 0 || t.Encoder != nil {
		return rows, err
	}
	g := &gathering{Options: o, inputs: rows.Encoder.Columns(), tables: t, rows: rows}
	if g.tells = fewestLabels(rows) >= learner.FewestLabels; g.tells {
		if g.least, err = g.heldOutError(ctx, rows); err != nil {
			return nil, err
		}
	}
	for _, table := range t.Earlier {
		if err := g.add(ctx, table); err != nil {
			g.rows.Close()
			return nil, err
		}
	}
	g.rows.Notes, g.rows.Warnings = append(g.rows.Notes, g.notes...), append(g.rows.Warnings, g.warnings...)
	return g.rows, nil
}

// gathering is rows to which tables of earlier data are added.
type gathering struct {
	*fitted.Options
	inputs []string // of the present model without earlier data
	tables tables.Tables
	rows   *tables.Rows
	tells  bool    // there are enough labels to tell what helps
	least  float64 // error on held-out labels so far (heldOutError)

	notes, warnings []string
}

// add makes what a model of a table of earlier data predicts an input, unless it does not help.
func (g *gathering) add(ctx context.Context, table *dataset.Table) error {
	name := g.tables.Names.Of(table, "earlier data")
	m, err := g.learn(ctx, table)
	if err != nil {
		return err
	}
	if m == nil {
		//warning:earlier-unlearnt
		g.warnings = append(g.warnings,
			name+" is not used: a model of its labels predicts held-out ones hardly better than their mean does")
		return nil
	}
	more, err := withPredictions(ctx, g.tables, m)
	if err != nil {
		return err
	}
	rows, err := more.Rows(ctx)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("what a model of %s of %s predicts", words.Count(m.Provenance().Rows, "labelled row",
		"labelled rows"), name)
	least, gain := 0.0, ""
	if g.tells {
		if least, err = g.heldOutError(ctx, rows); err != nil {
			return err
		}
		lowered := 1 - math.Exp(least-g.least)
		if !(lowered >= leastGain) {
			rows.Close()
			//warning:earlier-unused
			g.warnings = append(g.warnings,
				fmt.Sprintf("%s is not an input: it does not lower the error on held-out labels by %.0f %%",
					said, 100*leastGain))
			return nil
		}
		//warning:earlier-input what a model of … predicts is an input: it lowers the error on held-out labels by … %
		gain = fmt.Sprintf(": it lowers the error on held-out labels by %.0f %%", 100*lowered)
	}
	g.rows.Close()
	g.rows, g.tables, g.least, g.EarlierModels = rows, more, least, append(g.EarlierModels, m)
	//warning:earlier-input what a model of … labelled rows of … predicts is an input
	g.notes = append(g.notes, said+" is an input"+gain)
	return nil
}

// fewestLabels is how many labels the target has that has the fewest.
func fewestLabels(r *tables.Rows) int {
	return slices.Min(append(encode.CountLabels(r.Labels), r.Labels.Rows))
}

// heldOutError returns the logarithm of the error of a Gaussian process and extra trees on held-out labels, its mean
// over the targets.
func (g *gathering) heldOutError(ctx context.Context, rows *tables.Rows) (sum float64, err error) {
	how := learner.Options{Kind: learner.Auto, Only: []string{learner.ProcessName, learner.ExtraTreesName},
		Shown: g.Fitting, Network: network.Options{Config: g.Network, Columns: &rows.Encoder, Targets: rows.Targets}}
	if rows.Train.Rows > mostForProcess {
		how.Only = how.Only[1:]
	}
	m, _, err := fitted.Learn(ctx, fitted.Sample(rows), how)
	if err != nil {
		return 0, err
	}
	for k := range m.Targets() {
		sum += math.Log(m.Target(k).Provenance().ValidRMSE[0]) / float64(m.Targets())
	}
	return sum, nil
}

// learn fits a model to a table of earlier data, on those of the inputs that it has. Its targets are named like
// the columns of its predictions. It is nil if there is nothing to learn.
func (g *gathering) learn(ctx context.Context, table *dataset.Table) (*learner.Model, error) {
	t := g.tables
	e, err := besides(t, g.inputs, table)
	if err == nil {
		err = g.convert(&e, t.Names.Of(table, "earlier data"))
	}
	if err != nil {
		return nil, t.Names.At(table, err)
	}
	rows, err := e.Rows(ctx)
	if err != nil {
		return nil, err
	}
	how := learner.Options{Kind: learner.Auto, Shown: g.Fitting,
		Only:    []string{learner.ProcessName, learner.ExtraTreesName, "boosting"},
		Network: network.Options{Config: g.Network, Columns: &rows.Encoder}}
	if rows.Train.Rows > mostForProcess {
		how.Kind, how.Only = learner.TreesOnly, nil
	}
	var taken []string
	for _, own := range present(t) {
		taken = append(taken, own.Names()...)
	}
	for _, target := range rows.Targets {
		name := words.FreeName(target+" by "+t.Names.Of(table, "earlier data"), taken...)
		how.Network.Targets = append(how.Network.Targets, name)
	}
	m, _, err := fitted.Learn(ctx, fitted.Sample(rows), how)
	if err != nil {
		return nil, t.Names.At(table, err)
	}
	for k := range m.Targets() {
		_, labels := rows.Labelled(k)
		spread, err := encode.FitLabelScaler(labels)
		if err != nil {
			return nil, t.Names.At(table, err)
		}
		if m.Target(k).Provenance().ValidRMSE[0] < (1-leastLearnt)*spread.Deviation {
			return m, nil
		}
	}
	return nil, nil
}

// besides returns a table of earlier data beside the candidates, both with the inputs that the table has.
func besides(t tables.Tables, inputs []string, table *dataset.Table) (e tables.Tables, err error) {
	for _, target := range t.TargetColumns {
		if table.Has(target) {
			e.TargetColumns = append(e.TargetColumns, target)
		}
	}
	if len(e.TargetColumns) == 0 {
		_, err := table.Column(t.TargetColumns[0])
		return e, err
	}
	for _, name := range inputs {
		if table.Marked(name).Has(name) {
			e.Keep = append(e.Keep, name)
		}
	}
	if len(e.Keep) == 0 {
		return e, fmt.Errorf("it has none of the inputs: %s", words.Some(words.Quoted(inputs)))
	}
	for _, name := range t.Categorical {
		if slices.Contains(e.Keep, name) {
			e.Categorical = append(e.Categorical, name)
		}
	}
	e.Ordered, e.FieldName = maps.Clone(t.Ordered), t.FieldName
	maps.DeleteFunc(e.Ordered, func(name string, _ []string) bool { return !slices.Contains(e.Keep, name) })
	candidates := cmp.Or(t.Table, t.Pool, t.Train)
	e.Train, e.Pool = only(table, append(e.Keep[:len(e.Keep):len(e.Keep)], e.TargetColumns...)), only(candidates, e.Keep)
	if step := candidates.Rows()/rowsAtOnce + 1; step > 1 {
		e.Pool = e.Pool.Select(span(0, candidates.Rows(), step))
	}
	e.Names = tables.Names{e.Train: t.Names[table], e.Pool: t.Names[candidates]}
	return e, nil
}

// convert puts the inputs of earlier data into the units of the present ones.
func (g *gathering) convert(e *tables.Tables, name string) error {
	columns := slices.Clone(e.Train.Columns())
	for i, c := range columns {
		if !slices.Contains(e.Keep, c.Name()) {
			continue
		}
		in, text, err := dataset.InUnit(c, g.rows.Encoder.Unit(c.Name()))
		if err != nil {
			return e.Train.Placed(err, "")
		}
		if columns[i] = in; text != "" {
			g.warnings = append(g.warnings, name+": "+text)
		}
	}
	converted := e.Train.With(columns, e.Train.Rows())
	converted.SetOrigin(e.Train.Origin())
	e.Names[converted], e.Train = name, converted
	return nil
}

// only returns a table with some of its columns, and the marks of their limits.
func only(t *dataset.Table, names []string) *dataset.Table {
	keep := map[string]bool{}
	for _, name := range names {
		keep[name], keep[dataset.CensoredColumn(name)] = true, true
	}
	drop := slices.DeleteFunc(t.Names(), func(name string) bool { return keep[name] })
	some, _ := t.Without(drop...) // which are there
	return some
}

// span returns the rows from one on and before another one, step by step.
func span(from, to, step int) (rows []int) {
	for row := from; row < to; row += step {
		rows = append(rows, row)
	}
	return rows
}

// present lists the tables whose rows a model predicts, each once.
func present(t tables.Tables) (list []*dataset.Table) {
	for _, one := range []*dataset.Table{t.Table, t.Train, t.Pool, t.Aims} {
		if one != nil && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

// Tables returns tables as a fitted model takes them: with its encoder, and with what its earlier models predict.
func Tables(ctx context.Context, t tables.Tables, m *learner.Model) (_ tables.Tables, err error) {
	for _, earlier := range m.Earlier {
		if t, err = withPredictions(ctx, t, earlier); err != nil {
			return t, err
		}
	}
	t.Encoder = m.Columns()
	return t, nil
}

// withPredictions adds to each table what an earlier model predicts for its rows.
func withPredictions(ctx context.Context, t tables.Tables, m *learner.Model) (tables.Tables, error) {
	names, with := maps.Clone(t.Names), map[*dataset.Table]*dataset.Table{}
	for _, table := range present(t) {
		columns, err := predictedColumns(ctx, t, table, m)
		if err != nil {
			return t, err
		}
		more, err := dataset.NewTable(slices.Concat(without(table, columns), columns)...)
		if err != nil {
			return t, err
		}
		more.SetOrigin(table.Origin())
		if with[table] = more; names[table] != "" {
			names[more] = names[table]
		}
	}
	t.Names = names
	t.Table, t.Train, t.Pool, t.Aims = with[t.Table], with[t.Train], with[t.Pool], with[t.Aims]
	for k := range m.Targets() {
		t.Keep = append(t.Keep[:len(t.Keep):len(t.Keep)], m.TargetName(k))
	}
	return t, nil
}

// without returns the columns of a table that have other names than the given ones.
func without(t *dataset.Table, columns []dataset.Column) []dataset.Column {
	return slices.DeleteFunc(slices.Clone(t.Columns()), func(c dataset.Column) bool {
		return slices.ContainsFunc(columns, func(other dataset.Column) bool { return other.Name() == c.Name() })
	})
}

// predictedColumns returns what an earlier model predicts for the rows of a table, one column for each of its targets.
// What it cannot predict is missing.
func predictedColumns(ctx context.Context, t tables.Tables, table *dataset.Table,
	m *learner.Model) (columns []dataset.Column, err error) {
	predictions := matrix.New[float64](table.Rows(), m.Targets())
	inputs := only(table, m.Columns().Columns())
	for from := 0; from < table.Rows(); from += rowsAtOnce {
		block, to := inputs, min(from+rowsAtOnce, table.Rows())
		if to-from < table.Rows() {
			block = inputs.Select(span(from, to, 1))
		}
		in := tables.Tables{Input: tables.Input{Pool: block, Names: tables.Names{block: t.Names[table]}},
			Encoder: m.Columns(), FieldName: t.FieldName}
		rows, err := in.Rows(ctx)
		if err != nil {
			return nil, err
		}
		for k := range m.Targets() {
			values, err := m.Target(k).Predict(ctx, rows.Pool)
			if err != nil {
				return nil, err
			}
			for row := from; row < to; row++ {
				predictions.Set(row, k, math.NaN())
			}
			for i, row := range rows.PoolRows {
				predictions.Set(from+row, k, values[i])
			}
		}
	}
	for k := range m.Targets() {
		column := dataset.NewNumeric(m.TargetName(k))
		for row := range table.Rows() {
			column.Append(predictions.At(row, k))
		}
		columns = append(columns, column)
	}
	return columns, nil
}
