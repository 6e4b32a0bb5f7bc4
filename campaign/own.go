package campaign

import (
	"context"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
)

// ownRows gives labels that come with other numbers than their rows have, because something else was really set, rows
// of their own, unless there are such rows. It returns the events that the labels need besides their own: what was
// asked for in their place is returned.
func (c *Campaign) ownRows(ctx context.Context, s *State, list []located, by string) (own ownRows, err error) {
	if !slices.ContainsFunc(list, func(r located) bool { return len(r.Set) > 0 }) {
		return own, nil
	}
	of, err := c.sampled(ctx, s)
	if err != nil {
		return own, err
	}
	all, err := c.allRows(ctx, s)
	if err != nil {
		return own, err
	}
	keys, err := of.keys(all.rows)
	if err != nil {
		return own, err
	}
	rows := map[string]int64{}
	for at, key := range keys {
		if _, there := rows[key]; !there {
			rows[key] = all.numbers[at]
		}
	}
	var fresh []*dataset.Table
	for i := range list {
		r := &list[i]
		if len(r.Set) == 0 {
			continue
		}
		one, err := withSet(all.rows.Select([]int{all.at(r.row)}), r.Set)
		if err != nil {
			return own, err
		}
		key, err := of.keys(one)
		if err != nil {
			return own, err
		}
		row, there := rows[key[0]]
		if len(s.Measurements(row)) == 0 || !there { // otherwise it has been told before
			own.giveBack(s, r, by)
		}
		if !there {
			row = s.nextRow + int64(len(fresh))
			rows[key[0]], fresh = row, append(fresh, one)
		}
		r.row, r.ID, r.Replicate = row, strconv.FormatInt(row, 10), 0
	}
	if len(fresh) == 0 {
		return own, nil
	}
	part := fresh[0]
	if len(fresh) > 1 {
		if part, err = dataset.Concat(part.Names(), fresh...); err != nil {
			return own, err
		}
	}
	blocks, blobs, err := encodeRows(part, false)
	own.added, own.blobs = &Added{s.nextRow, blocks}, blobs
	return own, err
}

// ownRows are rows of labels that come with other numbers than what was asked for.
type ownRows struct {
	added    *Added // nil if there are none, or all were there
	blobs    []Blob
	returned *RowList // what was asked for in their place
}

// giveBack notes that the measurement of a row that a label stands for will not be made.
func (o *ownRows) giveBack(s *State, r *located, person string) {
	state := s.touched.get(r.row)
	if state == nil || len(state.out) == 0 {
		return
	}
	number := r.Replicate
	if number == 0 {
		number = state.awaited(person)
	}
	if state.handed(number) < 0 {
		return
	}
	if o.returned == nil {
		o.returned = &RowList{Reason: "something else was set"}
	}
	for i, ref := range o.returned.Rows {
		if ref.Row == r.row && o.returned.Replicates[i] == number {
			return
		}
	}
	o.returned.Rows = append(o.returned.Rows, RowRef{r.row, r.ID})
	o.returned.Replicates = append(o.returned.Replicates, number)
}

// withSet returns a row with other numbers in some columns.
func withSet(row *dataset.Table, set map[string]float64) (*dataset.Table, error) {
	columns := slices.Clone(row.Columns())
	for i, column := range columns {
		if v, changed := set[column.Name()]; changed {
			c := dataset.NewNumeric(column.Name())
			c.Append(v)
			columns[i] = c
		}
	}
	return dataset.NewTable(columns...)
}
