package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// An ask of n rows, after A rows have been asked for, has
//
//	⌊share·(A+n)⌋ - ⌊share·A⌋
//
// audit rows, so that small batches have their share, too. They are drawn uniformly
// from the open rows before anything is picked, and count as selected for the method,
// which picks the other rows. Rows that are out count as selected likewise.

// ErrNothingOpen reports that there is no row left to ask for.
var ErrNothingOpen = errors.New("no row is open: all are labelled, waiting, out, failed or retired")

// Ask is what to ask for.
type Ask struct {
	Rows    int           // measurements; 0 means Settings.Batch
	Lease   time.Duration // how long the rows are out; 0 means Settings.Lease, negative without end
	Audit   *float64      // share of audit rows; nil means Settings.Audit
	Must    []string      // ids of rows that must be in the batch
	Exclude []string      // ids of rows that may not be
	Overrides

	Trainer network.Trainer                       // nil means network.OnDevice, without a device network.Resumable
	Epoch   func(network.Epoch)                   // called after each epoch of training, unless nil
	Fitting func(learner string, fold, folds int) // called before each fit of a model of a blend, unless nil
	// called after each model of MeasureGain, with how many have been fitted, unless nil
	Compared func(models int)
	Progress func(nextbatch.Progress)                // called while rows are embedded and picked, unless nil
	Admit    func(bytes int64, less ...string) error // see nextbatch.Request
	// FieldName returns what messages call a field of a nextbatch.Request, such as a flag; nil means as in JSON.
	FieldName func(field string, value ...string) string
	// Kept, unless nil, keeps the features of rows from one ask to the next: as long as the
	// model stays the same, those of new rows alone are computed. Several campaigns may share
	// it; it holds the features of one of them at a time.
	Kept *kept.Features

	busy map[int64]bool // rows that count as out, even if their lease has ended
}

// Overrides are what an ask wants other than the settings do. What is nil is as the settings say.
type Overrides struct {
	Same           []string `json:"same,omitzero" nullable:"true" maxItems:"100" doc:"columns whose values all rows of a run share; an empty list means none"`
	Runs           *int     `json:"runs,omitempty" minimum:"0" maximum:"1000000" doc:"number of runs; needs same"`
	MinPerGroup    *int     `json:"min_per_group,omitempty" minimum:"0" maximum:"1000000" doc:"fewest rows of every group that has open rows or, with at_most_groups, of each group in the batch; 0 means any number"`
	MaxGroups      *int     `json:"at_most_groups,omitempty" minimum:"0" maximum:"1000000" doc:"most groups that the batch has rows of; 0 means any number"`
	Replicates     *int     `json:"replicates,omitempty" minimum:"0" maximum:"1000000" doc:"how often each row is measured; the batch counts measurements"`
	ReplicateShare *Share   `json:"replicate_share,omitempty" doc:"share of the batch that measures labelled rows once more, such as 0.125 or 1/8"`
	Plate          *string  `json:"plate,omitempty" maxLength:"20" doc:"rows x columns of the plates, such as 8x12; empty means no wells" example:"8x12"`
	Controls       []string `json:"controls,omitzero" nullable:"true" maxItems:"2000" doc:"wells, rows or columns of a plate that stay free, such as A1, H12 or 12"`
}

// Share is a part of a whole, which JSON spells as a number or as a text such as 1/8.
type Share float64

// UnmarshalJSON implements json.Unmarshaler.
func (v *Share) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return json.Unmarshal(raw, (*float64)(v))
	}
	share, err := ParseShare(text)
	*v = share
	return err
}

// ParseShare reads a share such as 0.125 or 1/8.
func ParseShare(text string) (Share, error) {
	above, below, isFraction := strings.Cut(text, "/")
	share, err := strconv.ParseFloat(strings.TrimSpace(above), 64)
	if isFraction && err == nil {
		var whole float64
		whole, err = strconv.ParseFloat(strings.TrimSpace(below), 64)
		share /= whole
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%q is not a share such as 0.125 or 1/8", text)
	}
	return Share(share), nil
}

// over returns limits and a layout of plates with what the ask wants otherwise.
func (o *Overrides) over(l limits.Limits, p plate.Layout) (limits.Limits, plate.Layout) {
	for _, one := range []struct {
		to   *int
		from *int
	}{{&l.Runs, o.Runs}, {&l.MinPerGroup, o.MinPerGroup}, {&l.MaxGroups, o.MaxGroups}, {&l.Replicates, o.Replicates}} {
		if one.from != nil {
			*one.to = *one.from
		}
	}
	if o.Same != nil {
		l.Same = o.Same
		if len(o.Same) == 0 && o.Runs == nil {
			l.Runs = 0
		}
	}
	if o.ReplicateShare != nil {
		l.ReplicateShare = float64(*o.ReplicateShare)
	}
	if o.Plate != nil {
		p = plate.Layout{Plate: *o.Plate}
	}
	if o.Controls != nil {
		p.Controls = o.Controls
	}
	return l, p
}

// none reports whether all is as the settings say.
func (o *Overrides) none() bool { return reflect.DeepEqual(*o, Overrides{}) }

// into copies the callbacks of an ask into a request that fits models for it.
func (a Ask) into(r *nextbatch.Request, trainer network.Trainer) {
	r.Trainer, r.Epoch, r.Fitting, r.Progress, r.Admit, r.FieldName = trainer, a.Epoch, a.Fitting,
		a.Progress, a.Admit, a.FieldName
	if r.FieldName == nil {
		r.FieldName = a.setting
	}
}

// setting is options.Setting, except that the size of a batch has the name that it has in an ask, if that says it.
func (a *Ask) setting(field string, value ...string) string {
	if field == "Batch" && a.Rows > 0 {
		return "rows"
	}
	return options.Setting(field, value...)
}

// Batch is rows that were handed out.
type Batch struct {
	AskEvent
	Result   *nextbatch.Result // of the selection, in the order of Rows
	Learner  learner.Kind      // of the settings
	Kept     bool              // no model was fitted: the one of an earlier ask was used
	Repeated bool              // the request was made before; this is the batch of that time
}

// Ask picks open rows and hands them out. Asks of one campaign take turns.
func (c *Campaign) Ask(ctx context.Context, by By, a Ask) (*Batch, error) {
	if a.Rows < 0 {
		return nil, fmt.Errorf("a batch must have at least one row, not %d", a.Rows)
	}
	if batch, err := c.askedBefore(ctx, a.call(by)); batch != nil || err != nil {
		return batch, err
	}
	unlock, err := c.store.Lock(ctx, c.name, "ask")
	if err != nil {
		return nil, err
	}
	defer unlock() // also after a panic; the batch is handed out or not by then, and a lock that stays expires
	return c.ask(ctx, by, a)
}

// call returns the ask as a change.
func (a *Ask) call(by By) call {
	said := []any{a.Rows, a.Lease, a.Audit, append([]string{}, a.Must...), append([]string{}, a.Exclude...)}
	if !a.none() { // without it, requests have the digests that earlier versions gave them
		said = append(said, a.Overrides)
	}
	return by.call(kindAsked, said...)
}

// CheckRequest reports a request id that the ask cannot have, because it belongs to another
// request, and limits that contradict each other whatever the rows are: Ask would reject them, too.
func (c *Campaign) CheckRequest(ctx context.Context, by By, a Ask) error {
	log, s, err := c.load(ctx)
	if err != nil {
		return err
	}
	if before, err := c.repeats(log, s, a.call(by)); before != nil || err != nil {
		return err
	}
	r, err := s.Settings.request()
	if err != nil {
		return err
	}
	a.into(&r, nil)
	r.TargetColumns = s.Created.Targets
	return (&round{s: s}).limit(&r, a)
}

// askedBefore returns the batch that the request was given before, if any.
func (c *Campaign) askedBefore(ctx context.Context, by call) (*Batch, error) {
	log, s, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	event, err := c.repeats(log, s, by)
	if event == nil || err != nil {
		return nil, err
	}
	raw, err := c.store.Blob(ctx, c.name, event.Asked.Result)
	if err != nil {
		return nil, err
	}
	batch := &Batch{AskEvent: askEvent(event), Learner: s.Settings.Learner, Repeated: true}
	if err := json.Unmarshal(raw, &batch.Result); err != nil {
		return nil, fmt.Errorf("part %q: %w", event.Asked.Result, err)
	}
	return batch, nil
}

func askEvent(e *Event) AskEvent { return AskEvent{e.Seq, e.Time, e.Person, e.Asked} }

// ask picks and appends. If others have changed the campaign in the meantime, the batch
// stands as long as its rows are open and nobody else has asked.
func (c *Campaign) ask(ctx context.Context, person By, a Ask) (*Batch, error) {
	by := a.call(person)
	var chosen *choice
	for {
		if batch, err := c.askedBefore(ctx, by); batch != nil || err != nil {
			return batch, err
		}
		log, s, err := c.load(ctx)
		if err != nil {
			return nil, err
		}
		if chosen == nil || !chosen.stands(s) {
			if chosen, err = c.choose(ctx, s, a); err != nil {
				return nil, err
			}
			continue // others have changed the campaign in the meantime
		}
		chosen.asked.LeaseEnd = s.Settings.leaseEnd(a.Lease, s.Now)
		d := decision{
			events: []Event{{Asked: chosen.asked}},
			blobs:  []Blob{{chosen.asked.Result, chosen.result}},
		}
		err = c.append(ctx, log, s, by, d)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &Batch{AskEvent: askEvent(&d.events[0]), Result: chosen.answer, Learner: s.Settings.Learner,
			Kept: chosen.kept}, nil
	}
}

// choice is a batch that has not been handed out yet.
type choice struct {
	asked  *Asked
	answer *nextbatch.Result
	result []byte // the answer as JSON
	kept   bool
}

// stands reports whether the batch may still be handed out.
func (c *choice) stands(s *State) bool {
	return s.lastAsk == c.asked.Ask-1 && !slices.ContainsFunc(c.asked.Rows, func(r AskedRow) bool {
		return !s.Exists(r.Row) || !s.standsFor(&r)
	})
}

// standsFor reports whether a measurement may still be handed out.
func (s *State) standsFor(r *AskedRow) bool {
	if !r.Repeat {
		return s.Status(r.Row) == StatusOpen
	}
	return s.Status(r.Row) == StatusLabelled && slices.Equal(s.nextNumbers(r.Row, 1), []int{r.Number()})
}

// choose picks a batch.
func (c *Campaign) choose(ctx context.Context, s *State, a Ask) (*choice, error) {
	if s.Counts().Open == 0 {
		return nil, ErrNothingOpen
	}
	rows, err := c.candidates(ctx, s)
	if err != nil {
		return nil, err
	}
	if rows.hold(a.busy); len(rows.open) == 0 {
		return nil, ErrNothingOpen
	}
	r, err := rows.request(s)
	if err != nil {
		return nil, err
	}
	a.into(&r, c.trainer(ctx, a))
	r.Kept = a.Kept
	r.KernelSeed = &s.Settings.Seed // the same for all asks, so that features can be kept
	r.Exclude, r.Must = a.Exclude, slices.Clone(a.Must)
	t := &round{s: s, rows: rows, number: uint64(s.lastAsk + 1)}
	if err := t.limit(&r, a); err != nil {
		return nil, err
	}
	r.Seed = t.stream("ask").Uint64() >> 11 // JSON numbers have 53 bits
	chosen, err := c.auditAndSelect(ctx, t, r, a)
	if err != nil {
		return nil, err
	}
	chosen.result, err = json.Marshal(chosen.answer)
	return chosen, err
}

// auditAndSelect draws the audit rows and picks the others. Where only some audit rows leave a batch that the limits
// allow, a first batch without any shows how many rows of which values and groups there can be.
func (c *Campaign) auditAndSelect(ctx context.Context, t *round, r nextbatch.Request, a Ask) (*choice, error) {
	count := t.rows.auditCount(t.s, a, t.Rows)
	if err := t.rows.findLeaks(ctx, r, count); err != nil {
		return nil, err
	}
	fits, kept, warnings := t.rows.limits(r, a), false, []string(nil)
	if count > 0 && (len(r.Same) > 0 || r.MinPerGroup > 0 || r.MaxGroups > 0) {
		first, err := c.selectBatch(ctx, t.s, t.rows, r, nil)
		if err != nil {
			return nil, err
		}
		fits = t.rows.inPlaceOf(first.answer, r, a)
		kept, warnings = first.kept, first.answer.Warnings
	}
	audits := t.rows.audits(count, fits, t.stream("audit"))
	for _, at := range audits {
		r.Must = append(r.Must, t.rows.id(at))
	}
	chosen, err := c.selectBatch(ctx, t.s, t.rows, r, audits)
	if err != nil {
		return nil, err
	}
	if warnings != nil {
		chosen.kept = kept
		for _, w := range warnings {
			if !slices.Contains(chosen.answer.Warnings, w) {
				chosen.answer.Warnings = append(chosen.answer.Warnings, w)
			}
		}
	}
	t.handOut(chosen)
	return chosen, nil
}

// selectBatch learns, picks and predicts.
func (c *Campaign) selectBatch(ctx context.Context, s *State, rows *candidates, r nextbatch.Request,
	audits []int) (*choice, error) {
	learns := rows.suffice(r.Learner)
	var found *learnt
	fingerprint, kept := "", false
	if learns {
		teach := r
		teach.Members = members(r, s)
		l, err := c.lesson(ctx, s, rows, teach)
		if err != nil {
			return nil, err
		}
		if found, kept, err = c.model(ctx, s, l, teach); err != nil {
			return nil, err
		}
		if fingerprint = l.fingerprint; found != nil {
			r.Model, r.ModelName = found.Model, "the kept "+modelWord(r.Learner)
		}
	}
	plan, err := r.Plan(ctx)
	if err != nil {
		return nil, err
	}
	if err := plan.Train(ctx); err != nil {
		return nil, err
	}
	f := plan.Fitted()
	if learns && f == nil { // a method without a model
		if f, err = r.Fit(ctx); err != nil {
			return nil, err
		}
	}
	if found != nil {
		plan.Warnings = found.warn(plan.Warnings)
	} else if f != nil {
		found = rows.learntBy(f, s)
		if text := s.doubtsOfStart(f); text != "" {
			plan.Warnings = append(plan.Warnings, text)
		}
		if err := c.keepModel(ctx, fingerprint, found); err != nil {
			return nil, err
		}
	}
	if text := s.limitsAsLabels(); text != "" && f != nil {
		plan.Warnings = append(plan.Warnings, text)
	}
	answer, err := plan.Select(ctx)
	if err != nil {
		return nil, err
	}
	asked := &Asked{Ask: s.lastAsk + 1, Spec: answer.Spec, Seed: r.Seed}
	asked.Result = "ask-" + strconv.FormatInt(asked.Ask, 10)
	var predictions [][]fitted.Prediction
	if f != nil {
		asked.Model, asked.Trained, asked.Chosen = fingerprint, f.Rows.Train.Rows, chosenBy(f.Model)
		if !slices.ContainsFunc(s.Asks, func(a AskEvent) bool { return a.Model == fingerprint }) {
			asked.HeldOut = found.heldOut
		}
		if predictions, err = predict(ctx, f, answer.Indices); err != nil {
			return nil, err
		}
	}
	for i, at := range answer.Indices {
		row := AskedRow{RowRef: rows.ref(at), Audit: slices.Contains(audits, at)}
		if predictions != nil {
			row.Predictions = predictions[i]
		}
		if row.Audit {
			answer.Reasons[i] = "audit row: drawn at random from the open rows, to measure the error"
			if len(answer.ReasonsAlone) > 0 {
				answer.ReasonsAlone[i] = answer.Reasons[i]
			}
		}
		asked.Rows = append(asked.Rows, row)
	}
	rows.renumber(answer)
	return &choice{asked: asked, answer: answer, kept: kept}, nil
}

// doubtsOfStart names labels that look like slips to the first model of a campaign. Those that are told later have been
// examined when they arrived.
func (s *State) doubtsOfStart(f *fitted.Fitted) string {
	if slices.ContainsFunc(s.Asks, func(a AskEvent) bool { return a.Model != "" }) {
		return ""
	}
	return fitted.DoubtfulWarning(f.Doubtful, "nextbatch campaign audit")
}

// renumber turns rows of the table in a result into rows of the campaign, which also
// counts those that failed or were retired.
func (r *candidates) renumber(answer *nextbatch.Result) {
	numbers := func(list []int) {
		for i, at := range list {
			list[i] = int(r.numbers[at])
		}
	}
	numbers(answer.Indices)
	for _, f := range answer.Fallbacks {
		numbers(f.Indices)
		numbers(f.Cut)
	}
}

// predict returns the predictions for rows of the table that a model was fitted to, one for each target; nil for rows
// that were dropped.
func predict(ctx context.Context, f *fitted.Fitted, rows []int) ([][]fitted.Prediction, error) {
	var at, which []int // rows of the pool, and their places in rows
	for i, row := range rows {
		if j, found := slices.BinarySearch(f.Rows.PoolRows, row); found {
			at, which = append(at, j), append(which, i)
		}
	}
	predicted, err := fitted.Predict(ctx, f.Model, f.Rows.Pool.SelectRows(at))
	if err != nil {
		return nil, err
	}
	list := make([][]fitted.Prediction, len(rows))
	for i, one := range predicted {
		list[which[i]] = one
	}
	return list, nil
}

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
}

func (r *candidates) id(at int) string  { return idOf(r.table, r.created, at) }
func (r *candidates) ref(at int) RowRef { return RowRef{r.numbers[at], r.id(at)} }

// candidates reads the rows of the campaign.
func (c *Campaign) candidates(ctx context.Context, s *State) (*candidates, error) {
	all, err := c.allRows(ctx, s)
	if err != nil {
		return nil, err
	}
	r := &candidates{table: withoutRows(all, slices.Concat(s.With(StatusFailed), s.With(StatusRetired))),
		created: &s.Created}
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

// NewLeaks is Leaks after rows were added, if labels came with them.
func (c *Campaign) NewLeaks(ctx context.Context, added AddedRows, a Ask) ([]string, error) {
	if added.Labelled == 0 {
		return nil, nil
	}
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	return c.Leaks(ctx, s, a)
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
	if !r.suffice(request.Learner) && request.Spec.Method != "" && request.Spec.NeedsLabelled() {
		request.Spec = spec.Spec{} // the start of nextbatch.Request, which needs no model
	}
	request.Decimal = s.Created.Style().Decimal
	columns := slices.Clone(r.rows.Columns())
	if request.IDColumn = s.Created.IDColumn; request.IDColumn == "" {
		ids := dataset.NewText(words.FreeName(RowColumn, r.created.taken()))
		for _, row := range r.numbers {
			ids.Append(strconv.AppendInt(nil, row, 10))
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
	place := func(i int) int {
		if at, ok := moved[i]; ok {
			return at
		}
		return i
	}
	for i := 0; i < len(r.open) && len(rows) < number; i++ {
		j := i + draw.IntN(len(r.open)-i)
		at := r.open[place(j)]
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
	var spent selection.Costs
	spent.Add(request.Repeated.Cost)
	inGroup := map[string]int{}
	take := func(at int) bool {
		if costs != nil && !selection.Within(spent.With(costs(at)), *request.Budget) {
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
