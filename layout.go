package nextbatch

import (
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/plate"
)

// layOut gives each measurement a well, if the request has a layout. Repeats of labelled rows have plates of their own where the
// batch has runs, as they belong to none.
func (p *Plan) layOut(r *Result) error {
	shape, err := p.request.Layout.Parse(p.request.named)
	if shape == nil || err != nil {
		return err
	}
	lines := r.Lines()
	list, groups := make([]plate.Measurement, len(lines)), p.groupNumbers()
	for i, m := range lines {
		list[i] = plate.Measurement{Row: m.Index, Group: groups(p.request.pool(), m.Index), Run: r.RunOf(m)}
		if m.Repeat {
			list[i].Row, list[i].Group = -1-m.Index, groups(p.request.train(), m.Index)
		}
	}
	for i, well := range shape.Place(list, p.request.Seed) {
		lines[i].Plate, lines[i].Well = well.Plate, well.Name
	}
	r.Measurements = lines
	return nil
}

// groupNumbers returns a function that numbers the groups of rows. It returns -1 for a row without one.
func (p *Plan) groupNumbers() func(t *dataset.Table, row int) int {
	numbers, name := map[string]int{}, p.request.GroupColumn
	return func(t *dataset.Table, row int) int {
		if name == "" || t == nil || !t.Has(name) {
			return -1
		}
		column, _ := t.Column(name)
		if column.Missing(row) {
			return -1
		}
		group := column.Format(row)
		if _, known := numbers[group]; !known {
			numbers[group] = len(numbers)
		}
		return numbers[group]
	}
}
