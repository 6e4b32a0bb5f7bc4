package campaign

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Current returns a table like the one that the campaign began with: all rows with their inputs and their labels of
// now.
func (c *Campaign) Current(ctx context.Context) (*dataset.Table, error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	var refs []RowRef
	numbers := slices.Collect(s.Numbers())
	for _, row := range numbers {
		refs = append(refs, RowRef{Row: row})
	}
	rows, err := c.Inputs(ctx, refs)
	if err != nil {
		return nil, err
	}
	t, err := dataset.NewTable(slices.Concat(rows.Columns(), s.LabelColumns(numbers))...)
	if err != nil {
		return nil, err
	}
	return t.WrittenLike(s.Created.Style()), nil
}

// ownColumns are the names of the columns of a RowTable that are neither ids nor inputs nor labels.
type ownColumns struct{ row, status, measured, wells, person, time string }

// ownColumns returns names that no other column has.
func (c *Created) ownColumns() ownColumns {
	taken := c.taken()
	free := func(name string) string { return words.FreeName(name, taken...) }
	return ownColumns{free("row"), free("status"), free("measured"), free("wells"), free("person"), free("time")}
}

// taken are the names of the columns of the rows.
func (c *Created) taken() []string {
	names := []string{c.IDColumn}
	for _, column := range c.Columns {
		names = append(names, column.Name)
	}
	for _, target := range c.Targets {
		names = append(names, target, dataset.CensoredColumn(target))
	}
	return names
}

// RowTable returns some rows, by their places in the table of the view, with everything that is known about them:
// numbers, ids, inputs, what they are, labels, how often they were measured and, where a batch had plates, in which
// wells, and who told the last label or, without one, has the row, and since when.
func (v *View) RowTable(at []int) (*dataset.Table, error) {
	own := v.Created.ownColumns()
	numbers, status, measured := dataset.NewNumeric(own.row), dataset.NewText(own.status), dataset.NewNumeric(own.measured)
	wells, person, since := dataset.NewText(own.wells), dataset.NewText(own.person), dataset.NewText(own.time)
	rows := make([]int64, len(at))
	for i := range at {
		row := v.Number(at[i])
		rows[i] = row
		numbers.Append(float64(row))
		status.Append([]byte(v.Status(row)))
		measured.Append(float64(v.Measured(row)))
		wells.Append([]byte(v.wellsOf(row)))
		who, when := v.holder(row)
		person.Append([]byte(who))
		since.Append([]byte(when))
	}
	columns := []dataset.Column{numbers}
	if v.Table != nil {
		columns = append(columns, v.Table.Select(at).Columns()...)
	}
	columns = append(append(append(columns, status), v.LabelColumns(rows)...), measured)
	if v.HasWells() {
		columns = append(columns, wells)
	}
	t, err := dataset.NewTable(append(columns, person, since)...)
	if err != nil {
		return nil, err
	}
	return t.WrittenLike(v.Created.Style()), nil
}

// RowTableOptions returns how to read a file with a RowTable: its columns have their kinds.
func (c *Created) RowTableOptions() source.Options {
	o, own := c.RowOptions(), c.ownColumns()
	texts := []string{own.status, own.wells, own.person, own.time}
	for _, column := range c.Columns {
		if column.Kind == dataset.KindText.String() {
			texts = append(texts, column.Name)
		}
	}
	if c.IDColumn != "" {
		texts = append(texts, c.IDColumn)
	}
	for _, name := range texts {
		o.Kinds[name] = dataset.KindText
	}
	return o
}

// holder returns who told the last label of a row that counts, or the last one of all, or has the row, and since when.
func (v *View) holder(row int64) (person, since string) {
	list := v.Measurements(row)
	if out := v.Out(row); len(list) == 0 && len(out) > 0 {
		last := out[len(out)-1]
		return last.Person, inSeconds(last.Time)
	}
	if len(list) == 0 {
		return "", ""
	}
	last := list[len(list)-1]
	for _, m := range slices.Backward(list) {
		if m.counts() {
			last = m
			break
		}
	}
	return last.Person, inSeconds(last.Time)
}

func inSeconds(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// wellsOf lists the wells of the measurements of a row, such as "1:A3 1:F7", where 1 is the plate.
func (v *View) wellsOf(row int64) string {
	var list []string
	for _, m := range v.Measurements(row) {
		if m.Pick != nil && m.Pick.Well != "" {
			list = append(list, fmt.Sprintf("%d:%s", m.Pick.Plate, m.Pick.Well))
		}
	}
	return strings.Join(list, " ")
}
