// Package tables turns tables as people have them, with names, words, dates, gaps and
// replicates, into rows of numbers that a network learns from.
package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
)

// Input holds labelled rows and candidates as a user has them: one table where a missing label means unlabelled, or two
// tables.
type Input struct {
	// Table holds labelled rows and candidates; or Train the former, Pool the latter. Without Train, Pool alone is
	// encoded, which needs a model that has been fitted.
	Table, Train, Pool *dataset.Table
	// Aims are rows of the target distribution, which a batch should represent, if it is not that of the pool.
	Aims *dataset.Table
	// Earlier are tables of labelled rows of an earlier campaign, another instrument or a simulation, with some of the
	// same columns and with labels that may be on another scale (package fitted).
	Earlier []*dataset.Table
	// Names are the names of the tables in messages, such as their files.
	Names Names

	// TargetColumns hold the labels, one column per target. A row with a label in any of
	// them is a labelled row, and one without any is a candidate.
	TargetColumns []string
	// LabelSD are columns with the standard deviations of the labels' noise, one for each target. They are not inputs.
	LabelSD []string
	Columns
	// IDColumn, unless empty, names the rows; without it they are numbered from 0. Labelled rows with the same id are
	// replicates: they become one row, whose label is their mean.
	IDColumn string
	// RandomColumn, unless empty, marks the labelled rows that were drawn from the pool at
	// random: true or false, 1 or 0. It is not an input.
	RandomColumn string
	Missing      Missing // how missing inputs are handled
}

// Tables are tables and how they become rows.
type Tables struct {
	Input
	NotInputs []string // further columns that the network does not see: costs, groups

	// Encoder is that of an existing network. Nil fits one to all rows.
	Encoder *encode.Encoder
	// Admit, unless nil, is called before the tables are encoded, which may take
	// much memory; its error ends Rows.
	Admit func(Sizes) error
	// Folder, unless nil, is called after Admit and returns where the inputs of the pool
	// go, into a temporary file that is mapped into memory; empty means memory. The caller
	// closes the rows.
	Folder func() string
	// FieldName returns what messages call a field, such as the flag of a program, with a value if one is given.
	// Nil means its Go name.
	FieldName func(field string, value ...string) string

	// Centre means that the given encoder subtracts centres, which it learns from the tables.
	Centre bool
}

// Columns are what users choose about the columns of their tables. Tables, requests and the settings of a campaign
// have them.
type Columns struct {
	// Weights are those of the target columns in the kernel of a network, which is the sum
	// of the kernels of its outputs, each times its weight. Nil means 1 for each.
	Weights []float64 `json:"weights,omitempty"`
	// Ranges are what the labels of the targets can be: one for all, or one for each. Predictions and intervals keep to
	// them.
	Ranges dataset.Ranges `json:"range,omitempty"`
	// Categorical are columns of categories, even if nearly every row has its own,
	// or if they look like dates.
	Categorical []string `json:"categorical,omitempty"`
	// Keep are columns that are inputs even if they look like row numbers, or as if they were measured together with
	// the label.
	Keep []string `json:"keep,omitempty"`
	// Ordered are columns of categories that have an order, each with all its categories, the lowest first. Their place in
	// it is one more input.
	Ordered map[string][]string `json:"ordered,omitempty"`
}

// Candidates is the table that holds the candidates; nil if there is none.
func (t Tables) Candidates() *dataset.Table {
	if t.Table != nil {
		return t.Table
	}
	return t.Pool
}

// Labelled is the table that holds the labelled rows; nil if there is none.
func (t Tables) Labelled() *dataset.Table {
	if t.Table != nil {
		return t.Table
	}
	return t.Train
}

// Named returns what messages call a field, with a value if one is given.
func (t Tables) Named(field string, value ...string) string {
	if t.FieldName != nil {
		if name := t.FieldName(field, value...); name != "" {
			return name
		}
	}
	if len(value) > 0 {
		return fmt.Sprintf("%s=%q", field, value[0])
	}
	return field
}

// IDs names the rows of one of the tables.
func (t Tables) IDs(of *dataset.Table) IDs { return IDs{of, t.IDColumn} }

// Names are what messages call tables, such as their files.
type Names map[*dataset.Table]string

// Of returns the name of a table, or another one if it has none.
func (n Names) Of(table *dataset.Table, otherwise string) string {
	if name := n[table]; name != "" {
		return name
	}
	return otherwise
}

// At adds the name of the table, and the place of the row in it, to an error.
func (n Names) At(table *dataset.Table, err error) error {
	err = table.Placed(err, "")
	if name := n[table]; name != "" && err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// Sizes are the numbers that the memory of encoded tables depends on.
type Sizes struct {
	Train, Pool, Aims int // rows
	Inputs            int // columns after encoding
	Outputs           int // targets
}

// Rows is the result of Tables.Rows: the tables as numbers, minus the centres of the encoder, not
// yet scaled.
type Rows struct {
	Train, Pool, Aims matrix.Dense[float32]
	Targets           []string              // the target columns
	Weights           []float64             // of the targets; nil means 1 for each
	Ranges            dataset.Ranges        // of the targets, as declared
	Labels            matrix.Dense[float64] // of Train, a column for each target; NaN where a label is missing
	Sides             []int8                // of the labels, as those of a network.Sample; nil if none is a limit
	Noise             []float64             // known variances of the labels, likewise; nil if none are known
	Random            []bool                // whether row i of Train was drawn at random; nil where unknown
	TrainRows         []int                 // row i of Train is this row of its table
	PoolRows          []int                 // likewise
	Encoder           encode.Encoder
	Warnings          []string // what was dropped or replaced, and why
	Notes             []string // what else was done, such as how dates became numbers

	Named func(field string, value ...string) string // what messages call a field (Tables.Named)

	merged map[int][]int          // rows of the table that count as one, by the one that is kept
	folder string                 // of the files of Pool, and of the scaled pool; empty means memory
	files  []interface{ Close() } // that are mapped
}

// Close unmaps the rows that are in files (Tables.Folder). Neither they nor a problem with them
// may be used after that.
func (r *Rows) Close() {
	for _, file := range r.files {
		file.Close()
	}
	r.files = nil
}

// part is a set of rows of one of the tables.
type part struct {
	name  string
	table *dataset.Table
	rows  []int
}

// Rows turns the tables into numbers. The context is checked once per column in each pass over
// the columns, and once per block of rows that are encoded. The passes are linear in the number
// of columns.
func (t Tables) Rows(ctx context.Context) (_ *Rows, err error) {
	parts, labels, err := t.parts()
	if err != nil {
		return nil, err
	}
	if err := t.checkRows(parts); err != nil {
		return nil, err
	}
	r := &Rows{Targets: t.TargetColumns, Weights: t.Weights, Ranges: t.Ranges,
		Named: Tables{FieldName: t.FieldName}.Named}
	t.remarks(parts, r)
	t.warnOfLimits(parts[0], r)
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if t.Table == nil && t.Train != nil && len(parts[0].rows) < t.Train.Rows() {
		//warning:unlabelled-rows
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %s", parts[0].name,
			words.Count(t.Train.Rows()-len(parts[0].rows), "row has no label and is dropped",
				"rows have no label and are dropped")))
	}
	all, err := t.inputs(ctx, parts, labels, r)
	if err != nil {
		return nil, err
	}
	offsets := t.offsets(parts)
	if err := t.complete(ctx, parts, offsets, all, r); err != nil {
		return nil, err
	}
	if err := t.fitMissing(ctx, parts, offsets, all, r); err != nil {
		return nil, err
	}
	t.warnOfDigits(parts[0].table, all, r)
	if err := t.average(parts, offsets, all, labels, r); err != nil {
		return nil, err
	}
	if t.Admit != nil {
		err := t.Admit(Sizes{Train: len(parts[0].rows), Pool: len(parts[1].rows), Aims: len(parts[2].rows),
			Inputs: len(r.Encoder.Features()), Outputs: len(t.TargetColumns)})
		if err != nil {
			return nil, err
		}
	}
	if all, err = dataset.Concat(r.Encoder.Columns(), all); err != nil {
		return nil, err
	}
	encoder := r.Encoder
	encoder.Impute = t.imputes()
	matrices := make([]matrix.Dense[float32], len(parts))
	if t.Folder != nil {
		r.folder = t.Folder()
	}
	for i, p := range parts {
		encode := encodePart
		if r.folder != "" && i == 1 { // the pool
			encode = r.encodeInFile
		}
		if matrices[i], err = encode(ctx, p, offsets[i], all, encoder); err != nil {
			return nil, err
		}
	}
	r.Train, r.TrainRows = matrices[0], parts[0].rows
	r.Pool, r.PoolRows = matrices[1], parts[1].rows
	r.Aims = matrices[2]
	if labels.Cols > 0 {
		r.Labels = labels.SelectRows(r.TrainRows)
		r.Sides = t.sides(parts[0].table, r)
		if r.Noise, err = t.noise(parts[0].table, r); err != nil {
			return nil, t.at(parts[0].table, err)
		}
		t.suggestRanges(r)
	}
	if t.RandomColumn != "" && parts[0].table != nil {
		if r.Random, err = randomFlags(parts[0].table, t.RandomColumn, r.TrainRows); err != nil {
			return nil, t.at(parts[0].table, err)
		}
	}
	return r, nil
}

// remarks adds the warnings and notes from reading the tables.
func (t Tables) remarks(parts []part, r *Rows) {
	for _, s := range sources(parts) {
		name := ""
		if t.Names[s] != "" {
			name = t.Names[s] + ": "
		}
		for _, text := range s.Origin().Warnings {
			r.Warnings = append(r.Warnings, name+text)
		}
		for _, text := range s.Origin().Notes {
			r.Notes = append(r.Notes, name+text)
		}
	}
}

// warnOfLimits says that most learners take labels which a column marks as limits as the labels themselves. What the
// reader of a file has found to be limits, remarks say.
func (t Tables) warnOfLimits(labelled part, r *Rows) {
	for _, target := range t.TargetColumns {
		if labelled.table == nil || !labelled.table.Has(dataset.CensoredColumn(target)) {
			continue
		}
		limits := 0
		for _, row := range labelled.rows {
			if labelled.table.Side(target, row) != 0 {
				limits++
			}
		}
		if limits > 0 {
			//warning:limits-as-labels
			r.Warnings = append(r.Warnings, fmt.Sprintf("column %q: %s, which only a Gaussian process takes as such", target,
				words.Count(limits, "label is a limit", "labels are limits")))
		}
	}
}

// checkRows reports tables that have no rows at all.
func (t Tables) checkRows(parts []part) error {
	tables := sources(parts)
	if len(tables) == 0 || slices.ContainsFunc(tables, func(s *dataset.Table) bool { return s.Rows() > 0 }) {
		return nil
	}
	return t.at(tables[0], errors.New("the table has no rows"))
}

// parts returns the labelled rows, the pool and the aims, with the labels of the
// table that holds the first.
func (t Tables) parts() (parts []part, labels matrix.Dense[float64], err error) {
	parts = []part{{name: "labelled rows", table: t.Train}, {name: "pool", table: t.Pool},
		{name: "targets", table: t.Aims}}
	if t.Table != nil {
		parts[0].table, parts[1].table = t.Table, t.Table
	}
	for i := range parts {
		parts[i].name = t.name(parts[i])
		if parts[i].table != nil && (i > 0 || len(t.TargetColumns) == 0) {
			parts[i].rows = upTo(parts[i].table.Rows())
		}
	}
	if parts[0].table == nil {
		return parts, labels, nil
	}
	if len(t.TargetColumns) == 0 {
		if t.Encoder == nil || t.Table != nil {
			return nil, labels, errors.New("name the target column")
		}
		return parts, labels, nil // rows that count as labelled, for a network that needs no labels
	}
	if labels, err = t.labels(parts[0].table); err != nil {
		return nil, labels, t.at(parts[0].table, err)
	}
	var labelled, unlabelled []int
	for row := range labels.Rows {
		if !slices.ContainsFunc(labels.Row(row), present) {
			unlabelled = append(unlabelled, row)
		} else {
			labelled = append(labelled, row)
		}
	}
	parts[0].rows = labelled
	if t.Table != nil {
		parts[1].rows = unlabelled
	}
	return parts, labels, nil
}

// name is how messages refer to a part: by its table, and by its role if the table
// has other parts.
func (t Tables) name(p part) string {
	switch named := t.Names[p.table]; {
	case named == "":
		return p.name
	case p.table == t.Table:
		return named + ", " + p.name
	default:
		return named
	}
}

// at adds the name of the table, and the place of the row in it, to an error.
func (t Tables) at(table *dataset.Table, err error) error {
	return t.Names.At(table, table.Placed(err, t.IDColumn))
}

// concat returns columns of all tables, in the unit of the first one or of the fitted encoder; its error names a table
// that lacks one.
func (t Tables) concat(ctx context.Context, names []string, parts []part, r *Rows) (*dataset.Table, error) {
	tables := sources(parts)
	for i, s := range tables {
		for _, name := range names {
			tables[i] = tables[i].Marked(name)
			if _, err := tables[i].Column(name); err != nil {
				return nil, t.at(s, err)
			}
		}
	}
	var columns []dataset.Column
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		same, err := t.inOneUnit(name, tables, parts, r)
		if err != nil {
			return nil, err
		}
		one, err := dataset.Concat([]string{name}, same...)
		if err != nil {
			return nil, err
		}
		columns = append(columns, one.Columns()...)
	}
	return dataset.NewTable(columns...)
}

// inOneUnit returns a column of each table, as tables. The first one with numbers says the unit, unless the encoder
// does.
func (t Tables) inOneUnit(name string, list []*dataset.Table, parts []part,
	r *Rows) (same []*dataset.Table, err error) {
	originals := sources(parts)
	known, said := "", t.Encoder != nil
	if said {
		known = t.Encoder.Unit(name)
	}
	for i, s := range list {
		c, err := s.Column(name)
		if err != nil {
			return nil, t.at(originals[i], err)
		}
		if said {
			in, text, err := dataset.InUnit(c, known)
			if err != nil {
				return nil, t.at(originals[i], err)
			}
			if c = in; text != "" {
				r.Warnings = append(r.Warnings, t.tableName(originals[i], parts)+": "+text)
			}
		} else if numbers, ok := c.(*dataset.Numeric); ok && numbers.HasValues() {
			known, said = numbers.Unit().Name, true
		}
		one, err := dataset.NewTable(c)
		if err != nil {
			return nil, err
		}
		same = append(same, one)
	}
	return same, nil
}

func upTo(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// sources lists each table once.
func sources(parts []part) (list []*dataset.Table) {
	for _, p := range parts {
		if p.table != nil && !slices.Contains(list, p.table) {
			list = append(list, p.table)
		}
	}
	return list
}

// offsets returns where the table of each part starts in the concatenated rows.
func (t Tables) offsets(parts []part) []int {
	start := map[*dataset.Table]int{}
	at := 0
	for _, s := range sources(parts) {
		start[s] = at
		at += s.Rows()
	}
	offsets := make([]int, len(parts))
	for i, p := range parts {
		offsets[i] = start[p.table]
	}
	return offsets
}

func encodePart(ctx context.Context, p part, offset int, all *dataset.Table,
	e encode.Encoder) (matrix.Dense[float32], error) {
	x := matrix.New[float32](len(p.rows), len(e.Features()))
	if len(p.rows) == 0 {
		return x, nil
	}
	if len(p.rows) == all.Rows() {
		return x, encodeRows(x, p, p.rows, all, e)
	}
	for from := 0; from < len(p.rows); from += encodedAtOnce {
		if err := ctx.Err(); err != nil {
			return x, err
		}
		to := min(from+encodedAtOnce, len(p.rows))
		if err := encodeSome(x.Slice(from, to), p, p.rows[from:to], offset, all, e); err != nil {
			return x, err
		}
	}
	return x, nil
}

// encodedAtOnce is the number of rows that are copied out of a table at a time.
const encodedAtOnce = 1 << 13

// encodeInFile is encodePart into a temporary file.
func (r *Rows) encodeInFile(ctx context.Context, p part, offset int, all *dataset.Table,
	e encode.Encoder) (matrix.Dense[float32], error) {
	return r.writePool(ctx, len(p.rows), len(e.Features()), func(dst matrix.Dense[float32], from, to int) error {
		return encodeSome(dst, p, p.rows[from:to], offset, all, e)
	})
}

// writtenAtOnce is the number of rows that are written to a file at a time.
const writtenAtOnce = 1 << 10

// writePool computes rows of the pool into a temporary file.
func (r *Rows) writePool(ctx context.Context, rows, cols int,
	compute func(dst matrix.Dense[float32], from, to int) error) (matrix.Dense[float32], error) {
	if rows == 0 {
		return matrix.New[float32](0, cols), nil
	}
	file, err := rowfile.Compute(ctx, r.folder, rows, cols, writtenAtOnce, compute)
	if err != nil {
		return matrix.Dense[float32]{}, err
	}
	r.files = append(r.files, file)
	return file.Rows, nil
}

// encodeSome encodes some rows of a part.
func encodeSome(dst matrix.Dense[float32], p part, rows []int, offset int, all *dataset.Table,
	e encode.Encoder) error {
	at := make([]int, len(rows))
	for i, row := range rows {
		at[i] = offset + row
	}
	return encodeRows(dst, p, rows, all.Select(at), e)
}

// encodeRows encodes a table whose rows are the given ones of a part.
func encodeRows(dst matrix.Dense[float32], p part, rows []int, t *dataset.Table, e encode.Encoder) error {
	err := encode.Encode(dst, e, t)
	if at := (*dataset.ColumnError)(nil); errors.As(err, &at) && at.Row >= 0 {
		at.Row = rows[at.Row] // as the user counts
		at.Place = p.table.Place(at.Row, "")
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return err
}

// Scaled returns the rows as a function scales them. The pool goes to a file where the rows have
// theirs in one.
func (r *Rows) Scaled(ctx context.Context, scale func(matrix.Dense[float32]) (matrix.Dense[float32],
	error)) (train, pool, aims matrix.Dense[float32], err error) {
	train, pool, aims = r.Train, r.Pool, r.Aims
	for _, set := range []*matrix.Dense[float32]{&train, &pool, &aims} {
		if set.Rows == 0 {
			continue
		}
		in := scale
		if r.folder != "" && set == &pool {
			in = r.scaleInFile(ctx, scale)
		}
		if *set, err = in(*set); err != nil {
			return train, pool, aims, err
		}
	}
	return train, pool, aims, nil
}

// scaleInFile returns scale into a temporary file.
func (r *Rows) scaleInFile(ctx context.Context, scale func(matrix.Dense[float32]) (matrix.Dense[float32],
	error)) func(matrix.Dense[float32]) (matrix.Dense[float32], error) {
	return func(x matrix.Dense[float32]) (matrix.Dense[float32], error) {
		return r.writePool(ctx, x.Rows, x.Cols, func(dst matrix.Dense[float32], from, to int) error {
			scaled, err := scale(x.Slice(from, to))
			if err == nil {
				matrix.Copy(dst, scaled)
			}
			return err
		})
	}
}

// SomeTrain returns n labelled rows, spread over all, beside the same candidates.
func (r *Rows) SomeTrain(n int) *Rows {
	if n >= r.Train.Rows {
		return r
	}
	part, chosen := *r, make([]int, n)
	part.TrainRows = make([]int, n)
	for i := range chosen {
		chosen[i] = i * r.Train.Rows / n
		part.TrainRows[i] = r.TrainRows[chosen[i]]
	}
	part.Train, part.Labels, part.Sides, part.Noise = r.Train.SelectRows(chosen), r.Labels.SelectRows(chosen), nil, nil
	for _, at := range chosen {
		if r.Sides != nil {
			part.Sides = append(part.Sides, r.Sides[at*len(r.Targets):][:len(r.Targets)]...)
		}
		if r.Noise != nil {
			part.Noise = append(part.Noise, r.Noise[at*len(r.Targets):][:len(r.Targets)]...)
		}
	}
	return &part
}

// FirstOfPool returns the first n candidates, which are scaled in memory, beside the same labelled rows.
func (r *Rows) FirstOfPool(n int) *Rows {
	part := *r
	part.Pool, part.folder = r.Pool.Slice(0, n), ""
	return &part
}
