package tables

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
)

// inputs returns the input columns of all tables, concatenated, and fits the
// encoder.
func (t Tables) inputs(ctx context.Context, parts []part, labels matrix.Dense[float64],
	r *Rows) (*dataset.Table, error) {
	if t.Encoder != nil {
		return t.asFitted(ctx, parts, r)
	}
	names, err := t.inputNames(parts, r)
	if err != nil {
		return nil, err
	}
	numbering, err := t.rowNumbers(ctx, names, parts)
	if err != nil {
		return nil, err
	}
	judged, err := t.judge(ctx, numbering.others(names), parts, labels)
	if err != nil {
		return nil, err
	}
	leaks := leaks(judged)
	names = without(names, leaks)
	all, err := t.fitInputs(ctx, numbering.others(names), parts, r)
	if errors.Is(err, errNoInput) && len(numbering.counts) > 0 {
		//warning:numbers-as-input
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("column %s looks like row numbers, but is used because there is no other input",
				words.Some(words.Quoted(numbering.counts))))
		numbering.counts = nil
		all, err = t.fitInputs(ctx, numbering.others(names), parts, r)
	}
	if errors.Is(err, errNoInput) && len(leaks) > 0 {
		return nil, fmt.Errorf("%w: %s", err, strings.Join(t.leakTexts(leaks), "; "))
	}
	if err != nil {
		return nil, err
	}
	t.warnOfNumbering(numbering, r)
	t.warnOfJudged(judged, r)
	return all, nil
}

// notInputs lists the columns that the network does not see.
func (t Tables) notInputs() []string {
	all := slices.Concat(t.NotInputs, t.TargetColumns, t.LabelSD, []string{t.IDColumn, t.RandomColumn})
	for _, target := range t.TargetColumns {
		all = append(all, dataset.CensoredColumn(target)) // which shows whether there is a label
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// AsNumbers returns the encoder of a network that takes the columns of a table as they are: all that may
// be inputs, in their order, as numbers.
func (t Tables) AsNumbers(inputs int) (*encode.Encoder, error) {
	table := sources([]part{{table: t.Table}, {table: t.Pool}, {table: t.Train}})[0]
	e, not := &encode.Encoder{}, setOfNames(t.notInputs())
	for _, name := range table.Names() {
		if !not[name] {
			e.Numeric = append(e.Numeric, name)
		}
	}
	if got := len(e.Numeric); got != inputs {
		return nil,
			t.at(table,
				fmt.Errorf("the network takes %d inputs, the table has %d columns for them: %s; "+
					"leave out those that are not inputs, and keep the order of the training",
					inputs, got, strings.Join(e.Numeric, ", ")))
	}
	return e, nil
}

// inputNames lists the columns that may be inputs.
func (t Tables) inputNames(parts []part, r *Rows) (names []string, err error) {
	tables := sources(parts)
	not := setOfNames(t.notInputs())
	for _, name := range tables[0].Names() {
		if !not[name] {
			names = append(names, name)
		}
	}
	for _, name := range t.Keep {
		if not[name] || !tables[0].Has(name) {
			return nil, fmt.Errorf("%s: column %q is not an input of the table; its columns are %s", t.Named("Keep"), name,
				words.Some(words.Quoted(tables[0].Names())))
		}
	}
	for _, name := range t.Categorical { // ids and groups may be categories, too
		if !slices.ContainsFunc(tables, func(t *dataset.Table) bool { return t.Has(name) }) {
			return nil, fmt.Errorf("%s: there is no column %q; the columns are %s", t.Named("Categorical"), name,
				words.Some(words.Quoted(tables[0].Names())))
		}
	}
	var others []string
	seen := map[string]bool{}
	for _, s := range tables[1:] {
		for _, name := range s.Names() {
			if !tables[0].Has(name) && !not[name] && !seen[name] {
				seen[name], others = true, append(others, name)
			}
		}
	}
	switch len(others) {
	case 0:
	case 1:
		//warning:unknown-column
		r.Warnings = append(r.Warnings, fmt.Sprintf("column %q is not in the labelled table and is not used", others[0]))
	default:
		//warning:unknown-column
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d columns are not in the labelled table and are not used: %s",
			len(others), words.Some(words.Quoted(others))))
	}
	return names, nil
}

var errNoInput = errors.New("no column is left as an input")

// noInput is errNoInput with the reasons why columns are not inputs.
func noInput(whys []string) error {
	if len(whys) == 0 {
		return errNoInput
	}
	return fmt.Errorf("%w: %s", errNoInput, strings.Join(whys, "; "))
}

// fitInputs fits the encoder to the named columns of all tables.
func (t Tables) fitInputs(ctx context.Context, names []string, parts []part, r *Rows) (*dataset.Table, error) {
	before := len(r.Warnings)
	all, err := t.concat(ctx, names, parts, r)
	if err != nil {
		return nil, err
	}
	if r.Encoder, err = t.encoder(ctx, all, parts, r); err != nil {
		return nil, err
	}
	if len(r.Encoder.Features()) == 0 && len(parts[0].rows) < encode.FewestToLearn {
		r.keepConstant(all)
	}
	if len(r.Encoder.Features()) == 0 {
		whys := append(slices.Clone(r.Warnings[before:]), droppedColumns(r.Encoder.Dropped)...)
		r.Warnings = r.Warnings[:before]
		return nil, noInput(whys)
	}
	r.Warnings = append(r.Warnings, droppedColumns(r.Encoder.Dropped)...)
	return all, nil
}

// keepConstant keeps a column of a single value, such as any column of a pool of one row.
// That is enough for a start without a network, where nothing distinguishes the rows.
func (r *Rows) keepConstant(all *dataset.Table) {
	for i, d := range r.Encoder.Dropped {
		column, err := all.Column(d.Column)
		if err != nil || column.Missing(0) {
			continue
		}
		switch column.(type) {
		case *dataset.Numeric:
			r.Encoder.Numeric = []string{d.Column}
		case *dataset.Categorical:
			r.Encoder.Categories = []encode.Category{{Column: d.Column, Levels: []string{column.Format(0)}}}
		default:
			continue
		}
		r.Encoder.Dropped = slices.Delete(r.Encoder.Dropped, i, i+1)
		return
	}
}

// encoder fits an encoder to the columns of all tables except text, and columns
// without values. The context is checked once per column.
func (t Tables) encoder(ctx context.Context, all *dataset.Table, parts []part, r *Rows) (encode.Encoder, error) {
	dates, err := t.dates(ctx, all, parts, r)
	if err != nil {
		return encode.Encoder{}, err
	}
	text, err := t.words(ctx, all, parts, r)
	if err != nil {
		return encode.Encoder{}, err
	}
	empty, err := t.empty(ctx, all, parts)
	if err != nil {
		return encode.Encoder{}, err
	}
	var columns []dataset.Column
	not := setOfNames(dates.names(), empty)
	for _, c := range all.Columns() {
		if !not[c.Name()] {
			columns = append(columns, c)
		}
	}
	kept, err := dataset.NewTable(columns...)
	if err != nil {
		return encode.Encoder{}, err
	}
	e := encode.FitEncoder(kept, encode.OneHot{Text: text, Ordered: t.Ordered})
	for _, name := range e.Numeric {
		if c, err := kept.Numeric(name); err != nil {
			return e, err
		} else if err := encode.CheckInput(c); err != nil {
			return e, err
		}
	}
	e.Times = dates.times
	for _, name := range empty {
		//warning:constant-column column … is not used: all its values are missing
		e.Dropped = append(e.Dropped, encode.DroppedInput{Column: name, Reason: "all its values are missing"})
	}
	for _, name := range dates.constants {
		//warning:constant-column column … is not used: has a single value
		e.Dropped = append(e.Dropped, encode.DroppedInput{Column: name, Reason: "has a single value"})
	}
	return e, nil
}

// empty lists the columns without a value in the labelled rows and the candidates.
func (t Tables) empty(ctx context.Context, all *dataset.Table, parts []part) (names []string, err error) {
	offsets := t.offsets(parts)
	hasValue := func(c dataset.Column) bool {
		for i, p := range parts[:2] {
			for _, row := range p.rows {
				if !c.Missing(offsets[i] + row) {
					return true
				}
			}
		}
		return len(parts[0].rows)+len(parts[1].rows) == 0
	}
	for _, c := range all.Columns() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !hasValue(c) {
			names = append(names, c.Name())
		}
	}
	return names, nil
}

// setOfNames is for looking up names: a table may have 100,000 columns, so lists of them are
// not searched once per column.
func setOfNames(lists ...[]string) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for _, name := range list {
			set[name] = true
		}
	}
	return set
}

// droppedColumns are warnings about columns that are not used, one for each reason.
func droppedColumns(dropped []encode.DroppedInput) (warnings []string) {
	var reasons []string
	columns := map[string][]string{}
	for _, d := range dropped {
		if columns[d.Reason] == nil {
			reasons = append(reasons, d.Reason)
		}
		columns[d.Reason] = append(columns[d.Reason], d.Column)
	}
	for _, reason := range reasons {
		names := columns[reason]
		switch {
		case len(names) == 1:
			//warning:unused-column
			warnings = append(warnings, fmt.Sprintf("column %q is not used: %s", names[0], reason))
		default:
			//warning:unused-column
			warnings = append(warnings, fmt.Sprintf("%d columns are not used: %s: %s", len(names), reason,
				words.Some(words.Quoted(names))))
		}
	}
	return warnings
}

// asFitted returns the columns that the given encoder reads, of the kinds that it
// expects. Levels that it does not know become missing values where rows with missing
// values are dropped.
func (t Tables) asFitted(ctx context.Context, parts []part, r *Rows) (*dataset.Table, error) {
	r.Encoder = *t.Encoder
	names := r.Encoder.Columns()
	inputs := setOfNames(names)
	for _, target := range t.TargetColumns {
		if inputs[target] {
			return nil,
				fmt.Errorf("column %q is an input of the network and cannot be its label; name the column of the labels with %s",
					target, t.Named("TargetColumns"))
		}
	}
	all, err := t.concat(ctx, names, parts, r)
	if err != nil {
		return nil, err
	}
	columns := slices.Clone(all.Columns())
	for i := range r.Encoder.Numeric {
		if columns[i], err = dataset.AsNumeric(columns[i]); err != nil {
			return nil, err
		}
	}
	var unknown []string
	for i, k := range r.Encoder.Categories {
		c := &columns[len(r.Encoder.Numeric)+i]
		levels, err := dataset.AsCategorical(*c)
		if err != nil {
			return nil, err
		}
		counts := k.Unknown(levels)
		if t.Missing == RefuseMissing || !t.imputes() && len(counts) > 0 && len(counts) == len(levels.Levels()) {
			continue // Encode rejects them
		}
		if *c = levels; !t.imputes() {
			if *c, err = k.Known(levels); err != nil {
				return nil, err
			}
		}
		for _, level := range slices.Sorted(maps.Keys(counts)) {
			unknown = append(unknown, fmt.Sprintf("%q of column %q (%s)", level, k.Column, rowCount(counts[level])))
		}
	}
	if len(unknown) > 0 {
		//warning:unseen-levels
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: levels that the model has not seen are taken as unknown: %s",
			t.tableNames(parts), words.Some(unknown)))
	}
	return dataset.NewTable(columns...)
}

// tableNames are the names of all tables.
func (t Tables) tableNames(parts []part) string {
	var names []string
	for _, s := range sources(parts) {
		names = append(names, t.tableName(s, parts))
	}
	return strings.Join(names, ", ")
}

// tableName is the name of a table in messages.
func (t Tables) tableName(s *dataset.Table, parts []part) string {
	switch name := t.Names[s]; {
	case name != "":
		return name
	case s == t.Table:
		return "the table"
	}
	return parts[slices.IndexFunc(parts, func(p part) bool { return p.table == s })].name
}

func rowCount(n int) string {
	if n == 1 {
		return "1 row"
	}
	return strconv.Itoa(n) + " rows"
}
