package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/budget"
	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/limits"
)

// An ask of n measurements with R replicates and the share q of repeats has ⌊q·n + 1/2⌋ repeats of labelled rows, and
// the rest is R measurements of each of the other rows, as in nextbatch.Request, which checks that it divides. Repeats
// are drawn at random from the labelled rows that were measured least often, where measurements that are out count. As
// long as too few rows have a label, there are R fewer repeats, or twice as many, and more other rows.

// repeats draws labelled rows to measure once more, of those that a function accepts.
func (r *candidates) repeats(s *State, number int, draw *rng.Stream, accept func(at int) bool) (rows []int) {
	if number == 0 {
		return nil
	}
	type labelled struct{ at, measured int }
	var list []labelled
	for _, i := range draw.Perm(len(r.known)) {
		at := r.known[i]
		list = append(list, labelled{at, s.Measured(r.numbers[at]) + len(s.Out(r.numbers[at]))})
	}
	slices.SortStableFunc(list, func(a, b labelled) int { return a.measured - b.measured })
	for _, one := range list {
		if len(rows) < number && accept(one.at) {
			rows = append(rows, one.at)
		}
	}
	return rows
}

// repeatReason says why a labelled row is in a batch.
func repeatReason(times int) string {
	return fmt.Sprintf("measured once more, to learn the noise: it has been measured %s",
		words.Count(times, "time", "times"))
}

// affordable returns a function that accepts rows as long as they cost no more than the budget, if there is one, and
// what they have cost.
func (r *candidates) affordable(l limits.Limits) (accept func(at int) bool, spent *budget.Costs) {
	spent = &budget.Costs{}
	if l.CostColumn == "" {
		return func(int) bool { return true }, spent
	}
	costs, err := r.rows.Numeric(l.CostColumn)
	if err != nil { // the plan reports it
		return func(int) bool { return true }, spent
	}
	return func(at int) bool {
		if l.Budget != nil && !budget.Within(spent.With(costs.Float(at)), *l.Budget) {
			return false
		}
		spent.Add(costs.Float(at))
		return true
	}, spent
}

// sharing returns the values that a row has of the columns which the rows of a run share.
func (r *candidates) sharing(same []string) func(at int) string {
	columns := make([]dataset.Column, 0, len(same))
	for _, name := range same {
		if c, err := r.rows.Column(name); err == nil { // the plan reports others
			columns = append(columns, c)
		}
	}
	return func(at int) string {
		texts := make([]string, len(columns))
		for i, c := range columns {
			texts[i] = c.Format(at)
		}
		return strings.Join(texts, "\x00")
	}
}

// round is an ask that is being chosen.
type round struct {
	s      *State
	rows   *candidates
	models shelf
	space  *sampled // nil where candidates are rows of a table
	number uint64   // of the ask
	size   int      // measurements
	limits.Division
	limits limits.Limits // of the settings, with what the ask wants otherwise
	layout plate.Layout  // of the plates
	plate  *plate.Plate  // nil without wells
	again  []int         // rows of the table that are measured once more
}

// stream returns a random stream of the ask.
func (t *round) stream(name string) *rng.Stream { return rng.New(t.s.Settings.Seed, name, t.number) }

// limit gives a request the limits and the size of what is left after the repeats.
func (t *round) limit(r *nextbatch.Request, a Ask) (err error) {
	t.limits, t.layout = a.over(t.s.Settings.Limits, t.s.Settings.Layout)
	if t.plate, err = t.layout.Parse(r.FieldName); err != nil {
		return &nextbatch.RequestError{Reason: err.Error()}
	}
	r.Limits, r.Batch = t.limits, cmp.Or(a.Rows, t.s.Settings.batch())
	if err := t.s.Created.checkColumns(t.limits); err != nil {
		return &nextbatch.RequestError{Reason: err.Error()}
	}
	if err := r.Check(); err != nil {
		return err
	}
	r.Layout = plate.Layout{} // handOut places the measurements, with repeats
	if t.rows == nil {        // only to check
		return nil
	}
	t.size, t.Division = r.Batch, t.limits.Divide(r.Batch, len(t.rows.known))
	affords, spent := t.rows.affordable(t.limits)
	t.again = t.rows.repeats(t.s, t.Repeats, t.stream("repeats"), affords)
	r.Repeated = &limits.Repeated{Rows: t.Repeats, Cost: spent.Sum()}
	if r.GroupColumn != "" && !r.Grouped() {
		r.PerGroup = r.Batch // groups that are only kept apart on plates limit nothing
	}
	return nil
}

// choice is a batch that has not been handed out yet.
type choice struct {
	asked  *Asked
	answer *nextbatch.Result
	result []byte // the answer as JSON
	kept   bool
	blobs  []Blob // of rows that come with it
}

// stands reports whether the batch may still be handed out.
func (c *choice) stands(s *State) bool {
	added := c.asked.Added
	if added != nil && added.First != s.nextRow {
		return false // others have added rows, which may be the same
	}
	return s.lastAsk == c.asked.Ask-1 && !slices.ContainsFunc(c.asked.Rows, func(r AskedRow) bool {
		return (added == nil || r.Row < added.First) && (!s.Exists(r.Row) || !s.standsFor(&r))
	})
}

// standsFor reports whether a measurement may still be handed out.
func (s *State) standsFor(r *AskedRow) bool {
	if !r.Repeat {
		return s.Status(r.Row) == StatusOpen
	}
	return s.Status(r.Row) == StatusLabelled && slices.Equal(s.nextNumbers(r.Row, 1), []int{r.Number()})
}

// handOut turns the picks of a choice into measurements: with replicates, repeats, runs and wells.
func (t *round) handOut(c *choice) {
	picks := c.asked.Rows
	if len(t.limits.Same) > 0 {
		c.asked.Same = t.limits.Same
	}
	for i, run := range c.answer.Run {
		picks[i].Run = run
	}
	c.answer.Measurements = nil // those of the plan have neither numbers nor repeats
	if t.Times > 1 || len(t.again) > 0 || t.plate != nil {
		c.asked.Rows = nil
		for i, pick := range picks {
			t.replicate(c, i, pick)
		}
		for _, at := range t.again {
			row := AskedRow{RowRef: t.rows.ref(at), Repeat: true}
			row.Replicate = t.s.nextNumbers(row.Row, 1)[0]
			c.add(row, -1, repeatReason(t.s.Measured(row.Row)))
		}
	}
	if few := t.Repeats - len(t.again); few > 0 {
		c.answer.Short = strings.TrimPrefix(c.answer.Short+"; ", "; ") + words.Count(few, "labelled row", "labelled rows") +
			" fewer than wanted can be measured once more"
	}
	c.answer.Missing = t.size - len(c.asked.Rows)
	t.place(c)
}

// replicate adds the measurements of a pick.
func (t *round) replicate(c *choice, i int, pick AskedRow) {
	for k := range t.Times {
		if t.Times > 1 {
			pick.Replicate = k + 1
		}
		c.add(pick, i, c.answer.Reasons[i])
	}
}

// add adds a measurement.
func (c *choice) add(row AskedRow, pick int, reason string) {
	c.asked.Rows = append(c.asked.Rows, row)
	c.answer.Measurements = append(c.answer.Measurements,
		limits.Measurement{ID: row.ID, Index: int(row.Row), Pick: pick, Replicate: row.Number(),
			Repeat: row.Repeat, Reason: reason})
}

// place gives the measurements wells.
func (t *round) place(c *choice) {
	if t.plate == nil {
		return
	}
	c.asked.Layout = t.layout
	groups, numbers := t.rows.sharing([]string{t.limits.GroupColumn}), map[string]int{}
	list := make([]plate.Measurement, len(c.asked.Rows))
	for i, row := range c.asked.Rows {
		list[i] = plate.Measurement{Row: int(row.Row), Group: -1, Run: row.Run}
		if t.limits.GroupColumn != "" {
			name := groups(t.rows.at(row.Row))
			if _, known := numbers[name]; !known {
				numbers[name] = len(numbers)
			}
			list[i].Group = numbers[name]
		}
	}
	for i, well := range t.plate.Place(list, c.asked.Seed) {
		c.asked.Rows[i].Plate, c.asked.Rows[i].Well = well.Plate, well.Name
		c.answer.Measurements[i].Plate, c.answer.Measurements[i].Well = well.Plate, well.Name
	}
}
