package campaign

import (
	"context"
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/merge"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/tables"
)

// earlierRows records labelled rows of an earlier campaign, another instrument or a simulation, from which models of
// the campaign learn, too (package fitted). They are kept in the store, and are no rows of the campaign.
type earlierRows struct {
	Name string `json:"name"` // of their file
	// Columns are those that the campaign has, too: inputs, targets, and the marks of targets that are limits.
	Columns []Column `json:"columns"`
	Blocks  []Block  `json:"blocks"`

	converted []string // what was done to numbers of the table, which are in other units or in none
}

// Rows returns how many rows there are.
func (e *earlierRows) Rows() int64 { return (&Added{Blocks: e.Blocks}).Rows() }

func (e *earlierRows) check() error {
	if e.Name == "" || len(e.Columns) == 0 {
		return errors.New("the earlier data have no name or no columns")
	}
	return (&Added{Blocks: e.Blocks}).check()
}

// as returns how the blocks are read.
func (e *earlierRows) as() *Created { return &Created{Columns: e.Columns} }

// AddEarlier adds the labelled rows of a table of earlier data. Its labels may be on another scale, and it may lack
// columns. The name, such as that of its file, is for messages.
func (c *Campaign) AddEarlier(ctx context.Context, by By, name string, t *dataset.Table) (Changed, error) {
	s, err := c.State(ctx)
	if err != nil {
		return Changed{}, err
	}
	e, blobs, err := encodeEarlier(name, t, &s.Created)
	if err != nil {
		return Changed{}, err
	}
	result, err := changed(c.change(ctx, by.call(kindEarlier, e.Name, e.Blocks), func(*State) (decision, error) {
		return decision{events: []Event{{Earlier: e}}, blobs: blobs}, nil
	}))
	result.Converted = e.converted
	return result, err
}

// encodeEarlier returns the labelled rows of a table of earlier data as an event, and blobs. The error names the table.
func encodeEarlier(name string, t *dataset.Table, created *Created) (*earlierRows, []Blob, error) {
	e := &earlierRows{Name: name}
	rows, err := e.conform(merge.MarkLimits(t, created.Targets...), created)
	var blobs []Blob
	if err == nil {
		e.Blocks, blobs, err = encodeRows(rows, false)
	}
	if err != nil {
		return nil, nil, &nextbatch.DataError{Cause: fmt.Errorf("%s: %v", name, err)} // alone: it is not about the rows
	}
	return e, blobs, nil
}

// conform returns the labelled rows of a table with the columns that the campaign has, in their kinds and units.
func (e *earlierRows) conform(t *dataset.Table, created *Created) (*dataset.Table, error) {
	wanted := created.Columns[:len(created.Columns):len(created.Columns)]
	for _, target := range created.Targets {
		for _, name := range []string{target, dataset.CensoredColumn(target)} {
			wanted = append(wanted, Column{Name: name, Kind: dataset.KindNumeric.String()})
		}
	}
	var columns []dataset.Column
	for i, want := range wanted {
		if !t.Has(want.Name) {
			continue
		}
		c, err := t.Column(want.Name)
		if err == nil {
			c, err = as(c, want.Kind)
		}
		if text := ""; err == nil && (i < len(created.Columns) || want.unit() != "") { // labels may be on another scale
			if c, text, err = dataset.InUnit(c, want.unit()); text != "" {
				e.converted = append(e.converted, e.Name+": "+text)
			}
		}
		if err == nil {
			err = checkInputs(c, func(row int) string { return t.Place(row, "") })
		}
		if err != nil {
			return nil, t.Placed(err, "")
		}
		columns, e.Columns = append(columns, c), append(e.Columns, want)
	}
	rows, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, err
	}
	labelled := tables.AnyLabel(rows, created.Targets)
	if labelled == nil {
		_, err := t.Column(created.Targets[0])
		return nil, err
	}
	var kept []int
	for row := range rows.Rows() {
		if labelled(row) {
			kept = append(kept, row)
		}
	}
	if len(kept) < learner.FewestLabels {
		return nil, fmt.Errorf("%s a label; earlier data need at least %d", words.Count(len(kept), "row has", "rows have"),
			learner.FewestLabels)
	}
	return rows.Select(kept), nil
}

// earlier reads the earlier data of the campaign, with their names.
func (c *Campaign) earlier(ctx context.Context, s *State) (list []*dataset.Table, names tables.Names, err error) {
	names = tables.Names{}
	for _, e := range s.Earlier {
		parts := make([]*dataset.Table, len(e.Blocks))
		for i, b := range e.Blocks {
			file, err := c.store.Blob(ctx, c.name, b.Blob)
			if err != nil {
				return nil, nil, fmt.Errorf("block %q of %s: %w", b.Blob, e.Name, err)
			}
			if parts[i], err = decodeRows(ctx, e.as(), b, file, nil); err != nil {
				return nil, nil, err
			}
		}
		all := parts[0]
		if len(parts) > 1 {
			if all, err = dataset.Concat(all.Names(), parts...); err != nil {
				return nil, nil, err
			}
		}
		list, names[all] = append(list, all), e.Name
	}
	return list, names, nil
}
