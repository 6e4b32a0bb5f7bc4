package bound

// Measurements: picks that are measured several times, and labelled rows that are measured once more, to learn the
// noise.
//
// A batch of n measurements with R replicates has (n − q)/R picks, each R times, and q = ⌊n·share + 1/2⌋ labelled rows
// once: those with the fewest measurements so far and, of equal ones, some drawn at random. The budget counts each
// measurement.

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/tables"
)

// drawRepeats chooses the labelled rows that are measured once more.
func (b *Bound) drawRepeats() error {
	if b.Repeated != nil {
		b.repeated.Add(b.Repeated.Cost)
		return nil
	}
	need := b.Repeats(b.Lines)
	if need == 0 {
		return nil
	}
	rows, times := b.measured()
	if len(rows) < need {
		return tables.Unusable("%s of %s %d measures %s once more, but %s", b.text("ReplicateShare"),
			b.named("Batch"), b.Lines,
			words.Count(need, "labelled row", "labelled rows"), words.Count(len(rows), "can be", "can be"))
	}
	order := rng.New(b.seed, "repeats").Perm(len(rows))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(times[i], times[j]) })
	for _, at := range order[:need] {
		b.repeats = append(b.repeats, rows[at])
	}
	return b.addRepeatedCosts()
}

// measured returns the labelled rows that may be measured again, as rows of their table, and how often each has been so
// far.
func (b *Bound) measured() (rows, times []int) {
	t := b.rows.Labelled()
	if t == nil {
		return nil, nil
	}
	labelled, ids, count := tables.AnyLabel(t, b.rows.TargetColumns), b.rows.IDs(t), map[string]int{}
	for row := range t.Rows() {
		if labelled != nil && labelled(row) {
			count[ids.Name(row)]++
		}
	}
	out := slices.Concat(b.Ask.Exclude, b.Ask.Pending)
	for _, row := range b.rows.TrainRows {
		if name := ids.Name(row); !slices.Contains(out, name) {
			rows, times = append(rows, row), append(times, count[name])
		}
	}
	return rows, times
}

// addRepeatedCosts adds up what the labelled rows cost that are measured once more.
func (b *Bound) addRepeatedCosts() error {
	if b.CostColumn == "" {
		return nil
	}
	t := b.rows.Labelled()
	costs, err := t.Numeric(b.CostColumn)
	if err != nil {
		return &tables.DataError{Cause: b.rows.Names.At(t, err)}
	}
	for _, row := range b.repeats {
		v := costs.Float(row)
		if !usable(v) {
			err := &dataset.ColumnError{Column: b.CostColumn, Row: row,
				Problem: "the row is measured once more, so its cost must be there, finite and not negative"}
			return &tables.DataError{Cause: b.rows.Names.At(t, err)}
		}
		b.repeated.Add(v)
	}
	return nil
}

// Measure lists the measurements of a batch, each pick once, if rows are measured more than once.
func (b *Bound) Measure(picks []limits.Measurement) (list []limits.Measurement) {
	if !b.MeasuresAgain() {
		return nil
	}
	times := b.Times()
	for _, pick := range picks {
		for k := range times {
			one := pick
			one.Replicate = k + 1
			if times > 1 {
				one.Reason = fmt.Sprintf("measurement %d of %d: %s", k+1, times, pick.Reason)
			}
			list = append(list, one)
		}
	}
	ids := b.rows.IDs(b.rows.Labelled())
	for _, row := range b.repeats {
		list = append(list, limits.Measurement{ID: ids.Name(row), Index: row, Pick: -1, Replicate: 1, Repeat: true,
			Reason: "labelled before; measured once more to learn the noise"})
	}
	return list
}

// LayOut gives each measurement a well, if the ask has a layout, and reports whether it has. Run returns the run of a
// measurement. Repeats of labelled rows have plates of their own where the batch has runs, as they belong to none.
func (b *Bound) LayOut(lines []limits.Measurement, run func(limits.Measurement) int) (bool, error) {
	shape, err := b.Layout.Parse(b.named)
	if shape == nil || err != nil {
		return false, err
	}
	list, groups := make([]plate.Measurement, len(lines)), b.groupNumbers()
	for i, m := range lines {
		list[i] = plate.Measurement{Row: m.Index, Group: groups(b.rows.Candidates(), m.Index), Run: run(m)}
		if m.Repeat {
			list[i].Row, list[i].Group = -1-m.Index, groups(b.rows.Labelled(), m.Index)
		}
	}
	for i, well := range shape.Place(list, b.seed) {
		lines[i].Plate, lines[i].Well = well.Plate, well.Name
	}
	return true, nil
}

// groupNumbers returns a function that numbers the groups of rows. It returns -1 for a row without one.
func (b *Bound) groupNumbers() func(t *dataset.Table, row int) int {
	numbers, name := map[string]int{}, b.GroupColumn
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
