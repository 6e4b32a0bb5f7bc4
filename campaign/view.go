package campaign

import (
	"cmp"
	"context"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
)

// View is all rows of a campaign at one moment, to page, filter and sort them. Rows are
// in ascending order of their numbers.
type View struct {
	*State
	// Table has the columns of Created, and before them the ids if the campaign has an id
	// column. It is nil if there are no rows. It is the same until rows are added or removed.
	Table *dataset.Table

	rows *table
}

// View returns all rows of the campaign. The handle keeps them in memory until rows are added or
// removed.
func (c *Campaign) View(ctx context.Context) (*View, error) {
	s, err := c.State(ctx)
	if err != nil || s.Total() == 0 {
		return &View{State: s}, err
	}
	rows, err := c.allRows(ctx, s)
	if err != nil {
		return nil, err
	}
	return &View{s, rows.rows, rows}, nil
}

// Ref returns the number and the id of row i of the table.
func (v *View) Ref(i int) RowRef { return RowRef{v.rows.numbers[i], idOf(v.rows, &v.Created, i)} }

// Number returns the number of row i of the table.
func (v *View) Number(i int) int64 { return v.rows.numbers[i] }

// ID returns the id of row i of the table.
func (v *View) ID(i int) string { return idOf(v.rows, &v.Created, i) }

// At returns the place of a row in the table. The row must exist.
func (v *View) At(row int64) int { return v.rows.at(row) }

// AskOf returns the ask that handed out a row last, before its first label came, and how;
// nil if there was none.
func (s *State) AskOf(row int64) (AskEvent, *AskedRow) {
	r := s.touched.get(row)
	if r == nil || r.asked == nil {
		return AskEvent{}, nil
	}
	at, found := slices.BinarySearchFunc(s.Asks, r.asked.ask.Ask,
		func(e AskEvent, ask int64) int { return cmp.Compare(e.Ask, ask) })
	if !found {
		return AskEvent{}, nil
	}
	return s.Asks[at], r.asked.row
}
