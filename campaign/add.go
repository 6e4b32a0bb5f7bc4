package campaign

import (
	"context"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
)

// AddedRows is what Add added.
type AddedRows struct {
	Seq      int64
	Rows     int64 // how many
	Labelled int   // rows among them that came with a label
	Repeated bool
	Waiting  []Waiting // labels among them that wait for a second look
	// Converted says which numbers were taken to be in, or converted to, the units of the campaign.
	Converted []string
	// NewLevels lists, by column, the levels that no row had before. They are inputs from
	// the next ask on, whose model is fitted with them.
	NewLevels map[string][]string
}

// Add adds the rows of a table, which has the columns of the campaign and new ids.
func (c *Campaign) Add(ctx context.Context, by By, t *dataset.Table) (AddedRows, error) {
	if t == nil || t.Rows() == 0 {
		return AddedRows{}, refuseRows("the table has no rows")
	}
	s, err := c.State(ctx)
	if err != nil {
		return AddedRows{}, err
	}
	in, converted, err := s.labelsInUnits(t)
	if err != nil {
		return AddedRows{}, err
	}
	added, labels, blobs, said, err := encodeTable(in, &s.Created, s.Settings.Ranges)
	if err != nil {
		return AddedRows{}, err
	}
	rows := map[int64]bool{}
	for _, l := range labels {
		rows[l.Row] = true
	}
	result := AddedRows{Labelled: len(rows), Converted: slices.Concat(said, converted)}
	event, repeated, err := c.change(ctx, by.call(kindAdded, added.Blocks, labels), func(s *State) (decision, error) {
		rows := newRows{c, s, t}
		if err := rows.check(ctx); err != nil {
			return decision{}, err
		}
		if result.NewLevels, err = rows.levels(ctx); err != nil {
			return decision{}, err
		}
		d := decision{events: []Event{{Added: &Added{s.nextRow, added.Blocks}}}, blobs: blobs}
		if len(labels) > 0 {
			fresh := labelsFrom(labels, s)
			if err := c.look(ctx, s, fresh, false); err != nil {
				return decision{}, err
			}
			d.events = append(d.events, Event{Told: &Told{Labels: fresh, Units: s.unitsIn(t)}})
		}
		return d, nil
	})
	if err != nil {
		return AddedRows{}, err
	}
	result.Seq, result.Rows, result.Repeated = event.Seq, event.Added.Rows(), repeated
	log, err := c.History(ctx)
	if err != nil {
		return AddedRows{}, err
	}
	if at := int(event.Seq); len(labels) > 0 && at < len(log) { // they come right after the rows
		result.Waiting = log[at].waiting(s.Created.Targets)
	}
	return result, nil
}

// labelsFrom returns labels of new rows, which were counted from 0, with their numbers in the campaign.
func labelsFrom(labels []Label, s *State) []Label {
	list := slices.Clone(labels)
	for i := range list {
		list[i].Row += s.nextRow
		if s.Created.IDColumn == "" {
			list[i].ID = fmt.Sprint(list[i].Row)
		}
	}
	return list
}

// newRows is a table of rows that are to be added.
type newRows struct {
	c *Campaign
	s *State
	t *dataset.Table
}

// check rejects ids that rows of the campaign have already.
func (n newRows) check(ctx context.Context) error {
	s, t := n.s, n.t
	if s.Created.IDColumn == "" {
		return nil
	}
	column, err := t.Column(s.Created.IDColumn)
	if err != nil {
		return err
	}
	ids := make([]string, column.Len())
	for row := range ids {
		ids[row] = column.Format(row)
	}
	there, err := n.c.find(ctx, s, ids)
	if err != nil || len(there) == 0 {
		return err
	}
	var faults []Fault
	lines := t.Origin().Lines
	for row, id := range ids {
		if _, taken := there[id]; taken {
			faults = append(faults, Fault{row, lines.Of(row), id, "the campaign has a row with this id already"})
		}
	}
	return &TellError{faults}
}

// levels returns the levels of a table that no row of the campaign has.
func (n newRows) levels(ctx context.Context) (map[string][]string, error) {
	s := n.s
	var names []string
	for _, column := range s.Created.Columns {
		if column.Kind == dataset.KindCategorical.String() {
			names = append(names, column.Name)
		}
	}
	if len(names) == 0 || len(s.spans) == 0 && !s.fromSpace() {
		return nil, nil
	}
	rows, err := n.c.readRows(ctx, s, names)
	if err != nil {
		return nil, err
	}
	if s.fromSpace() {
		of, err := n.c.sampled(ctx, s)
		if err != nil {
			return nil, err
		}
		if rows.rows, err = dataset.Concat(names, rows.rows, of.sample.Table); err != nil {
			return nil, err
		}
	}
	found := map[string][]string{}
	for _, name := range names {
		old, err := rows.rows.Column(name)
		if err != nil {
			return nil, err
		}
		column, err := n.t.Column(name)
		if err != nil {
			return nil, err
		}
		known, err := dataset.AsCategorical(old)
		if err != nil {
			return nil, err
		}
		given, err := dataset.AsCategorical(column)
		if err != nil {
			return nil, err
		}
		for _, level := range given.Levels() {
			if _, ok := known.Lookup([]byte(level)); !ok {
				found[name] = append(found[name], level)
			}
		}
	}
	return found, nil
}

// checkDistinct makes sure that restored rows have distinct ids.
func (c *Campaign) checkDistinct(ctx context.Context, s *State, before int) error {
	if s.Created.IDColumn == "" || len(s.spans) <= before {
		return nil
	}
	t, err := c.readRows(ctx, s, []string{s.Created.IDColumn})
	if err != nil {
		return err
	}
	seen := make(map[string]bool, t.rows.Rows())
	for i := range t.rows.Rows() {
		id := idOf(t, &s.Created, i)
		if seen[id] {
			return fmt.Errorf("row %q would come back, but a row with this id was added since", id)
		}
		seen[id] = true
	}
	return nil
}

// NewLeaks is Leaks after rows were added, if labels came with them.
func (c *Campaign) NewLeaks(ctx context.Context, added AddedRows, a Ask) ([]string, error) {
	if added.Labelled == 0 {
		return nil, nil
	}
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	return c.Leaks(ctx, s, a)
}
