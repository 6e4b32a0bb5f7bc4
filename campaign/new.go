package campaign

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/space"
	"github.com/nextbatch/nextbatch/tables"
)

// Start is what a campaign begins with.
type Start struct {
	Table    *dataset.Table
	Space    *space.Space // in place of the table: asks draw candidates from it
	IDColumn string       // names the rows; without it they are named by their numbers, from 0
	Targets  []string     // columns of labels; the table may have some labels, or lack the columns
	Settings Settings
	Earlier  []*dataset.Table // as AddEarlier takes them
	Names    tables.Names     // of Earlier
	// Converted, unless nil, is called with what Changed.Converted says of each of Earlier.
	Converted func(texts ...string)
	By        By
	Clock     func() time.Time // of the campaign
}

// New creates a campaign with the rows of a table and the labels in it. If the request
// was made before, it returns the campaign of that time.
func New(ctx context.Context, store Store, name string, start Start) (*Campaign, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if start.Space == nil && (start.Table == nil || start.Table.Rows() == 0) {
		return nil, refuseRows("the table has no rows")
	}
	if err := start.Settings.Check(); err != nil {
		return nil, err
	}
	c := &Campaign{store: store, name: name, Clock: start.Clock}
	created := &Created{Identity: rand.Text(), IDColumn: start.IDColumn, Targets: start.Targets, Settings: start.Settings}
	columns := start.Table
	var events []Event
	var blobs []Blob
	if start.Space != nil {
		blob, sample, err := c.ofSpace(ctx, start, created)
		if err != nil {
			return nil, err
		}
		columns, created.Space, blobs = sample, blob.Key, []Blob{blob}
	}
	created.Columns = describe(columns, start.IDColumn, start.Targets)
	if err := created.checkInputs(start.Settings.Columns); err != nil {
		return nil, refused{err}
	}
	said := []any{created.IDColumn, created.Targets, created.Settings}
	if events = []Event{{Created: created}}; start.Space != nil {
		said = append(said, created.Space)
	} else {
		created.remember(start.Table.Origin().Style)
		added, labels, rows, _, err := encodeTable(start.Table, created, start.Settings.Ranges)
		if err != nil {
			return nil, err
		}
		if err := checkSpread(start.Targets, labels); err != nil {
			return nil, err
		}
		if events = append(events, Event{Added: added}); len(labels) > 0 {
			units := (&State{Created: *created}).unitsIn(start.Table)
			events = append(events, Event{Told: &Told{Labels: labels, Units: units}})
		}
		said, blobs = append(said, added.Blocks, labels), rows
	}
	for _, t := range start.Earlier {
		e, more, err := encodeEarlier(start.Names.Of(t, "earlier data"), t, created)
		if err != nil {
			return nil, err
		}
		events, blobs, said = append(events, Event{Earlier: e}), append(blobs, more...), append(said, e)
		if start.Converted != nil {
			start.Converted(e.converted...)
		}
	}
	now := c.now()
	by := start.By.call(kindCreated, said...)
	stamp(events, 0, now, by)
	if err := check(events); err != nil {
		return nil, err
	}
	if _, err := Fold(events, now); err != nil {
		return nil, err
	}
	if err := store.Create(ctx, name, events, blobs); err != nil {
		if errors.Is(err, ErrExists) && c.createdBy(ctx, by, &err) {
			return c, nil
		}
		return nil, fmt.Errorf("campaign %q: %w", name, err)
	}
	_, _, err := c.take(0, events)
	return c, err
}

// checkSpread rejects labels that differ by too little to compute with.
func checkSpread(targets []string, told []Label) error {
	values := make([]float64, len(told))
	for k, name := range targets {
		for i, l := range told {
			values[i] = float64(l.Values[k])
		}
		if err := encode.CheckLabels(name, values); err != nil {
			return refuseRows("%v", err)
		}
	}
	return nil
}

// ofSpace returns the space of a new campaign as a blob, and a sample of its candidates. Its costs are those that the
// settings mean.
func (c *Campaign) ofSpace(ctx context.Context, start Start, created *Created) (blob Blob, sample *dataset.Table,
	err error) {
	if start.Table != nil || start.IDColumn != "" {
		return blob, nil, refuseRows("a campaign of a space begins without a table, and its rows are named by their numbers")
	}
	raw, err := start.Space.MarshalBinary()
	if err != nil {
		return blob, nil, err
	}
	counted, err := start.Space.Count(ctx)
	if err != nil {
		return blob, nil, refuseRows("%v", err)
	}
	of, err := newSampled(ctx, counted, start.Settings.Seed)
	if err != nil {
		return blob, nil, refuseRows("%v", err)
	}
	for _, name := range append([]string{RowColumn}, start.Targets...) {
		if of.sample.Has(name) {
			return blob, nil, refuseRows("the space has a column %q, which the campaign needs for itself; rename the factor",
				name)
		}
	}
	if set := &created.Settings; counted.Cost() != "" && set.CostColumn == "" && (set.Budget != nil || set.PerCost) {
		set.CostColumn = space.CostColumn
	}
	c.space = of
	sum := sha256.Sum256(raw)
	return Blob{"space-" + hex.EncodeToString(sum[:16]), raw}, of.sample.Table, nil
}

// createdBy reports whether a call created the campaign before. Another call with the
// same request id is an error.
func (c *Campaign) createdBy(ctx context.Context, by call, err *error) bool {
	log, s, failed := c.load(ctx)
	if failed != nil || by.Request == "" || log[0].Request != by.Request {
		return false
	}
	if _, wrong := c.repeats(log, s, by); wrong != nil {
		*err = wrong
		return false
	}
	return true
}

// encodeTable returns the rows of a table as an event, its labels, and blobs. Lines with the same id that all have
// labels are measurements of one row.
func encodeTable(t *dataset.Table, created *Created,
	ranges dataset.Ranges) (added *Added, labels []Label, blobs []Blob, said []string, err error) {
	rows, said, err := conform(t, created)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	if labels, err = labelsIn(t, rows, created, ranges); err != nil {
		return nil, nil, nil, nil, err
	}
	if rows, labels, err = oneRowEach(t, rows, labels, created); err != nil {
		return nil, nil, nil, nil, err
	}
	blocks, blobs, err := encodeRows(rows, created.IDColumn != "")
	return &Added{Blocks: blocks}, labels, blobs, said, err
}

// labelsIn returns the labels that a table has, with rows counted from 0.
func labelsIn(t, rows *dataset.Table, created *Created, ranges dataset.Ranges) (list []Label, err error) {
	columns := make([]dataset.Column, len(created.Targets))
	for i, name := range created.Targets {
		if !t.Has(name) {
			continue
		}
		if columns[i], err = t.Column(name); err != nil {
			return nil, err
		}
	}
	part := &table{rows: rows}
	var faults []Fault
	lines, sides := t.Origin().Lines, t.Side
	for row := range t.Rows() {
		part.numbers = append(part.numbers, int64(row))
		entry := Entry{Line: row, FileLine: lines.Of(row), ID: idOf(part, created, row)}
		if some := entry.read(columns, row, sides); !some {
			continue
		}
		if fault := cmp.Or(entry.Fault, entry.faultOfValues(ranges)); fault != "" {
			faults = append(faults, entry.fault(fault))
			continue
		}
		list = append(list, entry.label(int64(row)))
	}
	if len(faults) > 0 {
		return nil, &TellError{faults}
	}
	return list, nil
}
