package campaign

import (
	"context"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/budget"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/space"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// candidates is the table that a request works on: all rows but those that failed or
// were retired, with their labels.
type candidates struct {
	*table
	created  *Created
	labels   []*dataset.Numeric
	labelled int
	open     []int // rows of the table, in ascending order
	out      []int
	known    []int           // the labelled ones
	leaks    map[string]bool // columns that rows may lack (findLeaks)

	// Of a campaign of a space: candidates that are no rows of it, at the end of the table, and what they were made by.
	drawn  int
	points []point
	sample int             // how many of them, the first ones, scale models
	near   int             // how many of them, the last ones, are near picks
	seen   map[string]bool // the keys of all rows and candidates
	costs  bool            // the space has costs, which are no input

	earlier []*dataset.Table
	names   tables.Names // of earlier
}

func (r *candidates) id(at int) string {
	if r.isDrawn(at) {
		return provisional(r.numbers[at])
	}
	return idOf(r.table, r.created, at)
}

func (r *candidates) ref(at int) RowRef { return RowRef{r.numbers[at], r.id(at)} }

// candidates reads the rows of the campaign.
func (c *Campaign) candidates(ctx context.Context, s *State) (*candidates, error) {
	all, err := c.allRows(ctx, s)
	if err != nil {
		return nil, err
	}
	r := &candidates{table: withoutRows(all, slices.Concat(s.With(StatusFailed), s.With(StatusRetired))),
		created: &s.Created}
	if r.earlier, r.names, err = c.earlier(ctx, s); err != nil {
		return nil, err
	}
	for _, name := range s.Created.Targets {
		r.labels = append(r.labels, dataset.NewNumeric(name))
	}
	for at, row := range r.numbers {
		label := nans(len(r.labels))
		switch s.Status(row) {
		case StatusOpen:
			r.open = append(r.open, at)
		case StatusAsked, StatusWaiting: // somebody measures it, or has
			r.out = append(r.out, at)
		case StatusLabelled:
			label = s.Label(row)
			r.labelled++
			r.known = append(r.known, at)
		}
		for i, v := range label {
			r.labels[i].Append(v)
		}
	}
	if s.fromSpace() {
		of, err := c.sampled(ctx, s)
		if err != nil {
			return nil, err
		}
		return r, r.addSample(s, of, all)
	}
	return r, nil
}

// Leaks warns of columns of the campaign, in one of its states, that are not inputs because they are measured together
// with the label. Of the ask, only FieldName has an effect.
func (c *Campaign) Leaks(ctx context.Context, s *State, a Ask) ([]string, error) {
	_, warnings, err := c.leaks(ctx, s, a)
	return warnings, err
}

func (c *Campaign) leaks(ctx context.Context, s *State, a Ask) ([]tables.Judged, []string, error) {
	if s.Counts().Labelled == 0 {
		return nil, nil, nil
	}
	rows, err := c.candidates(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	request, err := rows.request(s)
	if err != nil {
		return nil, nil, err
	}
	a.into(&request, nil)
	return request.Leaks(ctx)
}

// suffice reports whether there are enough labels for a model. A blend needs them of every target.
func (r *candidates) suffice(kind learner.Kind) bool {
	if r.labelled < kind.Fewest() {
		return false
	}
	return !kind.Blends() || !slices.ContainsFunc(r.labels, func(target *dataset.Numeric) bool {
		n := 0
		for row := 0; row < target.Len() && n < kind.Fewest(); row++ {
			if !target.Missing(row) {
				n++
			}
		}
		return n < kind.Fewest()
	})
}

// hold makes open rows count as out.
func (r *candidates) hold(busy map[int64]bool) {
	open := r.open[:0]
	for _, at := range r.open {
		if busy[r.numbers[at]] {
			r.out = append(r.out, at)
		} else {
			open = append(open, at)
		}
	}
	r.open = open
	slices.Sort(r.out)
}

// withoutRows returns a table without some of its rows.
func withoutRows(t *table, dropped []RowRef) *table {
	if len(dropped) == 0 {
		return t
	}
	gone := make(map[int64]bool, len(dropped))
	for _, ref := range dropped {
		gone[ref.Row] = true
	}
	kept := &table{}
	var at []int
	for i, row := range t.numbers {
		if !gone[row] {
			at, kept.numbers = append(at, i), append(kept.numbers, row)
		}
	}
	kept.rows = t.rows.Select(at)
	return kept
}

// request returns the request for a batch, without its size.
func (r *candidates) request(s *State) (nextbatch.Request, error) {
	request, err := s.Settings.request()
	if err != nil {
		return request, err
	}
	if !r.suffice(request.Learner) && request.Spec.Method != "" && needs.Labelled(request.Spec) {
		request.Spec = spec.Spec{} // the start of nextbatch.Request, which needs no model
	}
	request.Earlier, request.Names = r.earlier, r.names
	request.Decimal = s.Created.Style().Decimal
	columns := slices.DeleteFunc(slices.Clone(r.rows.Columns()), func(c dataset.Column) bool {
		return r.costs && c.Name() == space.CostColumn && c.Name() != request.CostColumn
	})
	if request.IDColumn = s.Created.IDColumn; request.IDColumn == "" {
		ids := dataset.NewText(words.FreeName(RowColumn, r.created.taken()...))
		for at := range r.numbers {
			ids.Append([]byte(r.id(at)))
		}
		request.IDColumn = ids.Name()
		columns = append(columns, ids)
	}
	for _, column := range r.labels {
		columns = append(columns, column)
	}
	if request.Table, err = dataset.NewTable(columns...); err != nil {
		return request, err
	}
	r.markLimits(request.Table, s)
	request.TargetColumns = s.Created.Targets
	request.Random = make([]bool, len(r.numbers))
	for i, row := range r.numbers {
		request.Random[i] = s.isRandom(row)
	}
	for _, at := range r.out {
		request.Pending = append(request.Pending, r.id(at))
	}
	return request, nil
}

// markLimits says of a table of the rows which labels are limits.
func (r *candidates) markLimits(t *dataset.Table, s *State) {
	origin := t.Origin()
	for target, name := range s.Created.Targets {
		sides := map[int]int8{}
		for _, at := range r.known {
			if side := s.Side(r.numbers[at], target); side != 0 {
				sides[at] = side
			}
		}
		if len(sides) > 0 {
			origin.MarkCensored(name, sides)
		}
	}
	t.SetOrigin(origin)
}

// auditCount returns how many audit rows a batch has. Rows count once, however often they are measured.
func (r *candidates) auditCount(s *State, a Ask, rows int) int {
	share := s.Settings.auditShare()
	if a.Audit != nil {
		share = *a.Audit
	}
	before := 0
	for _, ask := range s.Asks {
		before += ask.picks()
	}
	const rounding = 1e-9
	number := int(math.Floor(share*float64(before+rows)+rounding) - math.Floor(share*float64(before)+rounding))
	return min(number, rows-len(a.Must))
}

// picks counts the rows of an ask without repeats.
func (a *Asked) picks() (n int) {
	var last int64 = -1 // measurements of a row come one after another
	for _, row := range a.Rows {
		if !row.Repeat && row.Row != last {
			n++
		}
		last = row.Row
	}
	return n
}

// audits draws the audit rows of a batch. Those that a function refuses, as they would exceed a budget or a limit of
// groups, are skipped.
func (r *candidates) audits(number int, fits func(at int) bool, draw *rng.Stream) (rows []int) {
	moved := map[int]int{} // of a permutation that is drawn as far as it is needed
	open := r.everywhere()
	place := func(i int) int {
		if at, ok := moved[i]; ok {
			return at
		}
		return i
	}
	for i := 0; i < len(open) && len(rows) < number; i++ {
		j := i + draw.IntN(len(open)-i)
		at := open[place(j)]
		moved[j] = place(i)
		if fits(at) {
			rows = append(rows, at)
		}
	}
	return rows
}

// limits returns a function that reports whether a row may join the audit rows drawn so far: it has inputs, the caller
// has not named it, and it is within budget and groups.
func (r *candidates) limits(request nextbatch.Request, a Ask) func(at int) bool {
	named := map[string]bool{}
	for _, id := range slices.Concat(a.Must, a.Exclude) {
		named[id] = true
	}
	var costs func(at int) float64
	var groups dataset.Column
	if request.CostColumn != "" && request.Budget != nil {
		if column, err := r.rows.Numeric(request.CostColumn); err == nil { // the plan reports its absence
			costs = func(at int) float64 { return column.Float(at) * float64(max(1, request.Replicates)) }
		}
	}
	if request.GroupColumn != "" && request.PerGroup > 0 {
		groups, _ = r.rows.Column(request.GroupColumn)
	}
	var spent budget.Costs
	spent.Add(request.Repeated.Cost)
	inGroup := map[string]int{}
	take := func(at int) bool {
		if costs != nil && !budget.Within(spent.With(costs(at)), *request.Budget) {
			return false
		}
		if groups != nil && inGroup[groups.Format(at)] >= request.PerGroup {
			return false
		}
		if costs != nil {
			spent.Add(costs(at))
		}
		if groups != nil {
			inGroup[groups.Format(at)]++
		}
		return true
	}
	if len(a.Must) > 0 && (costs != nil || groups != nil) {
		must := make(map[string]bool, len(a.Must))
		for _, id := range a.Must {
			must[id] = true
		}
		for at := range r.numbers {
			if must[r.id(at)] {
				take(at)
			}
		}
	}
	return func(at int) bool {
		return (len(named) == 0 || !named[r.id(at)]) && r.usable(at, request) && take(at)
	}
}

// inPlaceOf returns a function that reports whether a row can be an audit row in place of a pick of a batch, beside
// those before: with the same values of what the rows of a run share, in the same group, and at no higher cost.
func (r *candidates) inPlaceOf(batch *nextbatch.Result, request nextbatch.Request, a Ask) func(at int) bool {
	columns := slices.Clone(request.Same)
	if request.GroupColumn != "" {
		columns = append(columns, request.GroupColumn)
	}
	cell := r.sharing(columns)
	cost := func(int) float64 { return 0 }
	if request.CostColumn != "" && request.Budget != nil {
		if costs, err := r.rows.Numeric(request.CostColumn); err == nil {
			cost = costs.Float
		}
	}
	room := map[string][]float64{} // the costs of the picks that may give way, by cell
	for i, id := range batch.IDs {
		if !slices.Contains(a.Must, id) {
			at := r.at(int64(batch.Indices[i]))
			room[cell(at)] = append(room[cell(at)], cost(at))
		}
	}
	named := map[string]bool{}
	for _, id := range slices.Concat(a.Must, a.Exclude) {
		named[id] = true
	}
	return func(at int) bool {
		if named[r.id(at)] || !r.usable(at, request) {
			return false
		}
		picks := room[cell(at)]
		dearer := slices.IndexFunc(picks, func(c float64) bool { return c >= cost(at) })
		if dearer < 0 {
			return false
		}
		room[cell(at)] = slices.Delete(picks, dearer, dearer+1)
		return true
	}
}

// findLeaks notes the columns that rows may lack without being dropped, if audit rows are to be drawn and rows that
// lack an input are.
func (r *candidates) findLeaks(ctx context.Context, request nextbatch.Request, audits int) error {
	if audits <= 0 || request.Missing == tables.ImputeMissing {
		return nil
	}
	leaks, _, err := request.Leaks(ctx)
	r.leaks = map[string]bool{}
	for _, leak := range leaks {
		r.leaks[leak.Column] = true
	}
	return err
}

// usable reports whether a row has the inputs that it needs.
func (r *candidates) usable(at int, request nextbatch.Request) bool {
	missing, inputs := 0, 0
	for _, c := range r.rows.Columns() {
		if r.leaks[c.Name()] {
			continue
		}
		switch c.Name() {
		case r.created.IDColumn, request.CostColumn:
			continue
		case request.GroupColumn:
			if !request.GroupIsInput {
				continue
			}
		}
		if c.Kind() == dataset.KindText {
			continue
		}
		if inputs++; c.Missing(at) {
			missing++
		}
	}
	if request.Missing == tables.ImputeMissing {
		return missing < inputs
	}
	return missing == 0
}
