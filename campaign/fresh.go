package campaign

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/space"
)

// nearEach is how many candidates there are near each pick of the first round, at most.
const nearEach = 16

// point is a row of a sample that a candidate was.
type point struct {
	of  *space.Drawn
	row int
}

// addSample adds the sample of the space to the rows of a campaign, of which all are given.
func (r *candidates) addSample(s *State, of *sampled, all *table) error {
	r.seen, r.costs = map[string]bool{}, of.Cost() != ""
	if _, err := of.others(all.rows, r.seen); err != nil {
		return err
	}
	err := r.draw(s, of, of.sample.Table, of.sample)
	r.sample = r.drawn
	return err
}

// addFresh adds the sample of an ask, unless all candidates are there.
func (t *round) addFresh(ctx context.Context) error {
	if t.space.whole {
		return nil
	}
	drawn, err := t.space.drawAny(ctx, freshRows, t.stream("space").Uint64())
	if err != nil {
		return err
	}
	return t.rows.draw(t.s, t.space, drawn.Table, drawn)
}

// addNear adds candidates near the picks of a batch.
func (t *round) addNear(picks *choice) error {
	if t.space.whole {
		return nil
	}
	r := t.rows
	var samples []*space.Drawn
	rows, first := map[*space.Drawn][]int{}, len(r.numbers)-r.drawn
	for _, row := range picks.answer.Indices {
		if at := r.at(int64(row)); r.isDrawn(at) {
			p := r.points[at-first]
			if !slices.Contains(samples, p.of) {
				samples = append(samples, p.of)
			}
			rows[p.of] = append(rows[p.of], p.row)
		}
	}
	before := r.drawn
	for _, sample := range samples {
		near, err := sample.Near(rows[sample], nearEach)
		if err != nil {
			return err
		}
		if err := r.draw(t.s, t.space, near, nil); err != nil {
			return err
		}
	}
	r.near = r.drawn - before
	return nil
}

// draw adds candidates to the rows, unless they are there.
func (r *candidates) draw(s *State, of *sampled, t *dataset.Table, from *space.Drawn) error {
	at, err := of.others(t, r.seen)
	if err != nil || len(at) == 0 {
		return err
	}
	more, _, err := conform(t.Select(at), r.created)
	if err != nil {
		return err
	}
	all := &table{numbers: slices.Clone(r.numbers)}
	if all.rows, err = dataset.Concat(r.rows.Names(), r.rows, more); err != nil {
		return err
	}
	for _, row := range at {
		r.open, r.points = append(r.open, len(all.numbers)), append(r.points, point{from, row})
		all.numbers = append(all.numbers, s.nextRow+int64(r.drawn))
		r.drawn++
		for _, labels := range r.labels {
			labels.Append(math.NaN())
		}
	}
	r.table = all
	return nil
}

// taught returns the rows that a model of a space is fitted with: those with a label, and the sample.
func (r *candidates) taught() *candidates {
	first := len(r.numbers) - r.drawn
	at := slices.Clone(r.known)
	for i := range r.sample {
		at = append(at, first+i)
	}
	part := &candidates{table: &table{rows: r.rows.Select(at)}, created: r.created, labelled: r.labelled,
		earlier: r.earlier, names: r.names, drawn: r.sample, costs: r.costs}
	for i, row := range at {
		part.numbers = append(part.numbers, r.numbers[row])
		if i < len(r.known) {
			part.known = append(part.known, i)
		}
	}
	for _, labels := range r.labels {
		part.labels = append(part.labels, labels.Select(at).(*dataset.Numeric))
	}
	return part
}

// everywhere are the open rows that audit rows are drawn from: of a space that is not small, only its samples, as rows
// that are open again had been picked.
func (r *candidates) everywhere() []int {
	if len(r.points) == 0 || r.points[0].of.Whole() {
		return r.open
	}
	first := len(r.numbers) - r.drawn
	return slices.DeleteFunc(slices.Clone(r.open), func(at int) bool { return at < first || at >= len(r.numbers)-r.near })
}

// isDrawn reports whether a row is a candidate of the space that is no row of the campaign yet.
func (r *candidates) isDrawn(at int) bool { return at >= len(r.numbers)-r.drawn }

// provisional is the name of a candidate of the space in a request. No row has it.
func provisional(number int64) string { return fmt.Sprintf("(candidate %d)", number) }

// settle turns the candidates of a choice into rows of the campaign: they get the next numbers, in the order in which
// they are asked for, and all that names them says so.
func (t *round) settle(c *choice) error {
	var picked []int
	numbers, names := map[int64]int64{}, []string{}
	for _, row := range c.asked.Rows {
		at := t.rows.at(row.Row)
		if _, known := numbers[row.Row]; known || !t.rows.isDrawn(at) {
			continue
		}
		number := t.s.nextRow + int64(len(picked))
		picked, numbers[row.Row] = append(picked, at), number
		names = append(names, provisional(row.Row), strconv.FormatInt(number, 10))
	}
	if len(picked) == 0 {
		return nil
	}
	blocks, blobs, err := encodeRows(t.rows.rows.Select(picked), false)
	if err != nil {
		return err
	}
	c.asked.Added, c.blobs = &Added{t.s.nextRow, blocks}, append(c.blobs, blobs...)
	rename := strings.NewReplacer(names...)
	for i := range c.asked.Rows {
		row := &c.asked.Rows[i]
		if number, isNew := numbers[row.Row]; isNew {
			row.RowRef = RowRef{number, strconv.FormatInt(number, 10)}
		}
	}
	answer := c.answer
	for _, texts := range [][]string{answer.IDs, answer.Reasons, answer.ReasonsAlone, answer.Warnings} {
		for i := range texts {
			texts[i] = rename.Replace(texts[i])
		}
	}
	for i := range answer.Measurements {
		m := &answer.Measurements[i]
		m.ID, m.Reason = rename.Replace(m.ID), rename.Replace(m.Reason)
		m.Index = t.settled(numbers, []int{m.Index})[0]
	}
	answer.Indices = t.settled(numbers, answer.Indices)
	for i := range answer.Fallbacks {
		f := &answer.Fallbacks[i]
		f.Indices, f.Cut = t.settled(numbers, f.Indices), t.settled(numbers, f.Cut)
	}
	return nil
}

// settled returns numbers of rows with those of candidates that became rows in place of their provisional ones, and
// without candidates that did not.
func (t *round) settled(numbers map[int64]int64, list []int) []int {
	kept := make([]int, 0, len(list))
	for _, row := range list {
		if number, isNew := numbers[int64(row)]; isNew {
			kept = append(kept, int(number))
		} else if !t.rows.isDrawn(t.rows.at(int64(row))) {
			kept = append(kept, row)
		}
	}
	return kept
}
