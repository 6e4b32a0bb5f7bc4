package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/spec"
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
			blobs:  append([]Blob{{chosen.asked.Result, chosen.result}}, chosen.blobs...),
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

// choose picks a batch.
func (c *Campaign) choose(ctx context.Context, s *State, a Ask) (*choice, error) {
	if s.Counts().Open == 0 && !s.fromSpace() {
		return nil, ErrNothingOpen
	}
	rows, err := c.candidates(ctx, s)
	if err != nil {
		return nil, err
	}
	t := &round{s: s, rows: rows, models: c.shelf(), number: uint64(s.lastAsk + 1)}
	if s.fromSpace() {
		if t.space, err = c.sampled(ctx, s); err != nil {
			return nil, err
		}
		if err := t.addFresh(ctx); err != nil {
			return nil, err
		}
	}
	if rows.hold(a.busy); len(rows.open) == 0 {
		return nil, ErrNothingOpen
	}
	r, err := t.request(ctx, a)
	if err != nil {
		return nil, err
	}
	var first *choice
	if s.fromSpace() && rows.suffice(r.Learner) {
		if first, err = t.selectBatch(ctx, r, nil); err != nil {
			return nil, err
		}
		if err := t.addNear(first); err != nil {
			return nil, err
		}
		if r, err = t.request(ctx, a); err != nil {
			return nil, err
		}
	}
	chosen, err := t.auditAndSelect(ctx, r, first, a)
	if err != nil {
		return nil, err
	}
	chosen.result, err = json.Marshal(chosen.answer)
	return chosen, err
}

// request returns the request of an ask.
func (t *round) request(ctx context.Context, a Ask) (nextbatch.Request, error) {
	r, err := t.rows.request(t.s)
	if err != nil {
		return r, err
	}
	a.into(&r, t.models.trainer(ctx, a))
	r.Kept = a.Kept
	r.KernelSeed = &t.s.Settings.Seed // the same for all asks, so that features can be kept
	r.Exclude, r.Must = a.Exclude, slices.Clone(a.Must)
	if err := t.limit(&r, a); err != nil {
		return r, err
	}
	r.Seed = t.stream("ask").Uint64() >> 11 // JSON numbers have 53 bits
	return r, nil
}

// auditAndSelect draws the audit rows and picks the others. Where only some audit rows leave a batch that the limits
// allow, a first batch without any shows how many rows of which values and groups there can be. An earlier batch of the
// same model, if there is one, knows how that was found.
func (t *round) auditAndSelect(ctx context.Context, r nextbatch.Request, earlier *choice, a Ask) (*choice, error) {
	count := t.rows.auditCount(t.s, a, t.Rows)
	if err := t.rows.findLeaks(ctx, r, count); err != nil {
		return nil, err
	}
	fits := t.rows.limits(r, a)
	if count > 0 && (len(r.Same) > 0 || r.MinPerGroup > 0 || r.MaxGroups > 0) {
		first, err := t.selectBatch(ctx, r, nil)
		if err != nil {
			return nil, err
		}
		fits = t.rows.inPlaceOf(first.answer, r, a)
		earlier = cmp.Or(earlier, first)
	}
	audits := t.rows.audits(count, fits, t.stream("audit"))
	for _, at := range audits {
		r.Must = append(r.Must, t.rows.id(at))
	}
	chosen, err := t.selectBatch(ctx, r, audits)
	if err != nil {
		return nil, err
	}
	if earlier != nil {
		chosen.kept = earlier.kept
		for _, w := range earlier.answer.Warnings {
			if !slices.Contains(chosen.answer.Warnings, w) {
				chosen.answer.Warnings = append(chosen.answer.Warnings, w)
			}
		}
	}
	t.handOut(chosen)
	return chosen, t.settle(chosen)
}

// selectBatch learns, picks and predicts.
func (t *round) selectBatch(ctx context.Context, r nextbatch.Request, audits []int) (*choice, error) {
	s, rows := t.s, t.rows
	learns := rows.suffice(r.Learner)
	var found *learnt
	fingerprint, kept := "", false
	if learns {
		teach := r
		teach.Members = members(r, s)
		l, err := rows.lesson(ctx, s, teach)
		if err != nil {
			return nil, err
		}
		if found, kept, err = t.models.model(ctx, s, l, teach); err != nil {
			return nil, err
		}
		if fingerprint = l.fingerprint; found != nil {
			r.Model, r.ModelName = found.Model, "the kept "+modelWord(r.Learner)
		}
	}
	plan, err := r.Plan(ctx)
	var few *needs.FewRowsError
	if errors.As(err, &few) { // some labelled rows lack inputs
		r.Spec = spec.Spec{}
		plan, err = r.Plan(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := plan.Train(ctx); err != nil {
		return nil, err
	}
	f := plan.Fitted()
	if learns && f == nil { // a method without a model
		if f, err = r.Fit(ctx); err != nil && !errors.As(err, &few) {
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
		if err := t.models.keep(ctx, fingerprint, found); err != nil {
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
	return fitted.DoubtfulWarning(f.Doubtful, "an audit of the campaign")
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
