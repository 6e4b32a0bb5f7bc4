package campaign

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/internal/words"
)

// read reads the values of the targets in a row of a table, and reports whether there
// is any. Where numbers are limits, sides say so.
func (e *Entry) read(columns []dataset.Column, row int, sides func(target string, row int) int8) (some bool) {
	e.Values = nans(len(columns))
	for i, column := range columns {
		if column == nil || column.Missing(row) {
			continue
		}
		some = true
		text := column.Format(row)
		number, side := cells.CutSign(text)
		v, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil && cells.UnknownLimit(text):
			e.Fault = fmt.Sprintf("the label %q in column %q may lie below a limit that is not known; write the limit, as in "+
				"<0.5, or give it: --lod 0.5; if nothing was measured, leave the cell empty, or name its mark: --missing-marks "+
				"n.d.", text, column.Name())
		case err != nil || math.IsNaN(v):
			e.Fault = fmt.Sprintf("the label %q in column %q is not a number", text, column.Name())
		case math.IsInf(v, 0):
			e.Fault = fmt.Sprintf("the label %q in column %q is not finite", text, column.Name())
		}
		if numbers, ok := column.(*dataset.Numeric); ok {
			v = numbers.Float(row)
		}
		side = cmp.Or(side, sides(column.Name(), row))
		if fault := encode.FaultOfLabel(v); fault != "" && e.Fault == "" {
			e.Fault = fmt.Sprintf("column %q: %s", column.Name(), fault)
		}
		e.Values[i], e.Censored = v, e.Censored.With(i, len(columns), side)
	}
	return some
}

// ReadOptions returns how to read a file of labels, so that Entries finds every text
// that is not a label: ids and labels keep their spelling, and only an empty field is
// missing.
func (s *State) ReadOptions() source.Options {
	o := source.Options{History: s.History, Kinds: map[string]dataset.Kind{s.idColumn(): dataset.KindText},
		Lenient: true, Missing: []string{}}
	o.Lod, _ = sheets.ParseLod(s.Settings.Lod) // which was checked
	for _, name := range s.Created.Targets {
		o.Kinds[name] = dataset.KindText
	}
	return o
}

func (s *State) idColumn() string {
	if s.Created.IDColumn == "" {
		return RowColumn
	}
	return s.Created.IDColumn
}

// CampaignColumn is the column that names the campaign in files of batches. Entries
// refuses those of another one.
const CampaignColumn = "campaign"

// Entries turns a table of labels into entries, with a fault for each line that cannot
// be right: its label is not a number, it comes from another campaign, or its inputs
// are not those of the row. Lines without any label are skipped. What comes back in columns that are measured together
// with the label is not kept, which is said.
func (c *Campaign) Entries(ctx context.Context, t *dataset.Table) (entries []Entry, said []string, err error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, nil, err
	}
	ids, err := t.Column(s.idColumn())
	if err != nil {
		return nil, nil, refuseRows("the ids of the rows: %v", err)
	}
	columns, some := make([]dataset.Column, len(s.Created.Targets)), false
	for i, name := range s.Created.Targets {
		if t.Has(name) {
			if columns[i], err = t.Column(name); err != nil {
				return nil, nil, err
			}
			some = true
		}
	}
	if !some {
		return nil, nil, refuseRows("the table has no column of labels (%s)", strings.Join(s.Created.Targets, ", "))
	}
	replicates := s.ownColumn(t, ReplicateColumn)
	lines, sides := t.Origin().Lines, t.Side
	for row := range t.Rows() {
		e := Entry{Line: row, FileLine: lines.Of(row), ID: ids.Format(row)}
		if e.read(columns, row, sides) {
			e.readReplicate(replicates, row)
			entries = append(entries, e)
		}
	}
	back := filledIn{c, s, t}
	back.markForeign(entries)
	said, err = back.compareInputs(ctx, entries)
	return entries, said, err
}

// ownColumn returns a column that files of batches have and the rows of the campaign do not; nil if the table lacks it.
func (s *State) ownColumn(t *dataset.Table, name string) dataset.Column {
	column, err := t.Column(words.FreeName(name, s.Created.taken()...))
	if err != nil {
		return nil
	}
	return column
}

// readReplicate reads which measurement of its row a line is, if the table has a column for it.
func (e *Entry) readReplicate(column dataset.Column, row int) {
	if column == nil || column.Missing(row) || strings.TrimSpace(column.Format(row)) == "" {
		return
	}
	text := strings.TrimSpace(column.Format(row))
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || number < 1 || number > math.MaxInt32 || number != math.Trunc(number) {
		e.Fault = cmp.Or(e.Fault, fmt.Sprintf("the replicate %q is not a whole number from 1 on", text))
		return
	}
	e.Replicate = int(number)
}

// filledIn is a table of labels that has come back.
type filledIn struct {
	c *Campaign
	s *State
	t *dataset.Table
}

// markForeign marks lines that name another campaign.
func (f filledIn) markForeign(entries []Entry) {
	column := f.s.ownColumn(f.t, CampaignColumn)
	if column == nil {
		return
	}
	for i := range entries {
		e := &entries[i]
		if name := column.Format(e.Line); e.Fault == "" && name != "" && name != f.s.Created.Identity {
			e.Fault = fmt.Sprintf("the line belongs to another campaign (%s)", name)
		}
	}
}

// compareInputs marks lines whose inputs differ from those of their rows. A column that is measured together with the
// label comes back filled in, and identifies no row.
func (f filledIn) compareInputs(ctx context.Context, entries []Entry) (said []string, err error) {
	c, s, t := f.c, f.s, f.t
	var names []string
	for _, column := range s.Created.Columns {
		if t.Has(column.Name) {
			names = append(names, column.Name)
		}
	}
	if len(names) == 0 || len(entries) == 0 {
		return nil, nil
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	rows, err := c.find(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, nil
	}
	ours, err := c.allRows(ctx, s)
	if err != nil {
		return nil, err
	}
	settable, err := c.settable(ctx, s)
	if err != nil {
		return nil, err
	}
	var together map[string]bool // known once a cell differs
	for _, name := range names {
		theirs, err := t.Column(name)
		if err != nil {
			return nil, err
		}
		column, err := ours.rows.Column(name)
		if err != nil {
			return nil, err
		}
		if theirs, err = inUnitOf(theirs, column); err != nil {
			return nil, refuseRows("%v", t.Placed(err, s.Created.IDColumn))
		}
		wrong := differing(theirs, column, entries, func(id string) (at int, known bool) {
			row, known := rows[id]
			if known {
				at = ours.at(row)
			}
			return at, known
		})
		maps.DeleteFunc(wrong, func(at int, _ string) bool {
			return entries[at].set(name, theirs.Format(entries[at].Line), settable)
		})
		if len(wrong) > 0 && together == nil {
			if together, err = f.together(ctx, ours.rows); err != nil {
				return nil, err
			}
		}
		if len(wrong) > 0 && together[name] {
			//warning:not-kept
			said = append(said, fmt.Sprintf("column %q: %s not kept, because it is not an input: its values come with the "+
				"labels",
				name, words.Count(len(wrong), "value is", "values are")))
			continue
		}
		for at, fault := range wrong {
			entries[at].Fault = fault
		}
	}
	return said, nil
}

// differing says what is wrong with entries whose cells are not those of their rows.
func differing(theirs, ours dataset.Column, entries []Entry, rowOf func(id string) (int, bool)) map[int]string {
	wrong := map[int]string{}
	for i, e := range entries {
		row, known := rowOf(e.ID)
		if !known || e.Fault != "" {
			continue
		}
		if want, got := ours.Format(row), theirs.Format(e.Line); !encode.SameCell(got, want) {
			wrong[i] = otherCell(ours.Name(), got, want)
		}
	}
	return wrong
}

func otherCell(column, got, want string) string {
	return fmt.Sprintf(
		"column %q has %q, but the row has %q; correct the cell or, if the line is not from this campaign, its id", column,
		got, want)
}

// together returns the columns that are not inputs because they are measured together with the label, or have no value
// yet.
func (f filledIn) together(ctx context.Context, rows *dataset.Table) (map[string]bool, error) {
	set := map[string]bool{}
	for _, column := range rows.Columns() {
		empty := true
		for row := 0; empty && row < column.Len(); row++ {
			empty = column.Missing(row)
		}
		set[column.Name()] = empty && !slices.Contains(f.s.Settings.Keep, column.Name())
	}
	leaks, _, err := f.c.leaks(ctx, f.s, Ask{})
	for _, leak := range leaks {
		set[leak.Column] = true
	}
	return set, err
}
