package campaign

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
)

// Campaign is a campaign in a store. It may be used from several goroutines.
type Campaign struct {
	// Clock returns the time of events; nil means time.Now. Set it before the first use.
	Clock func() time.Time

	store Store
	name  string

	mu       sync.Mutex
	log      []Event          // read so far; only appended to, so that readers may keep parts
	state    *State           // that follows from it; nil before anything was read
	requests map[string]int64 // by request id, its first event in the log

	rowsMu        sync.Mutex // separate from mu, because reading rows takes long
	kept, keptIDs *table     // rows read last, and their ids

	knownMu sync.Mutex
	known   *sortedLabels     // to compare new labels with
	judged  map[int64]verdict // by the event of an ask, whether its predictions are outdated

	taughtMu sync.Mutex
	taught   *State // at the last ask with a model

	spaceMu sync.Mutex
	space   *sampled // of a campaign of a space, once it was read
}

// By is who changes something. A change whose request id was seen before is not made
// again; the call returns what the first one did. A request id that belongs to another
// request or another person is a *RequestError. Without a request id, every call
// counts.
type By struct{ Person, Request string }

// Changed is what a call changed. If Seq is 0, everything was that way already.
type Changed struct {
	Seq      int64    // of the event
	Rows     []RowRef // that changed
	Repeated bool     // the request was made before
	// Converted says which numbers of earlier data were taken to be in, or converted to, the units of the campaign.
	Converted []string
}

// Beginning returns the state of the campaign right after it was created.
func (c *Campaign) Beginning(ctx context.Context) (*State, error) {
	log, err := c.History(ctx)
	if err != nil {
		return nil, err
	}
	n := 1 // the campaign and its rows, unless it has a space, and then the labels that came with them, if any
	if len(log) > 1 && log[1].Added != nil {
		n = 2
	}
	if first := log[0]; n == 2 && n < len(log) && log[n].Told != nil && log[n].Time.Equal(first.Time) &&
		log[n].Request == first.Request {
		n++
	}
	return Fold(log[:n], log[0].Time)
}

// Open opens a campaign. An empty name means the only one in the store.
func Open(ctx context.Context, store Store, name string) (*Campaign, error) {
	if name == "" {
		names, err := store.Campaigns(ctx)
		if err != nil {
			return nil, err
		}
		if len(names) != 1 {
			return nil, fmt.Errorf("the store holds %d campaigns; name one of them: %s", len(names), strings.Join(names, ", "))
		}
		name = names[0]
	}
	c := &Campaign{store: store, name: name}
	if _, err := c.State(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// List returns the names of the campaigns in a store.
func List(ctx context.Context, store Store) ([]string, error) { return store.Campaigns(ctx) }

// NameError reports a name that a campaign cannot have.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("the name of a campaign must be 1 to %d bytes of text without control characters, and no part of "+
		"it between slashes may be empty, . or .., not %q", longestName, e.Name)
}

const longestName = 200

// CheckExisting rejects names that no campaign has: those that could not be printed or typed, and those that mean a
// folder in addresses. The error is a *NameError.
func CheckExisting(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > longestName || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return &NameError{name}
	}
	return nil
}

// CheckName rejects names that a new campaign cannot have: those that CheckExisting rejects, and those with a part that
// means a folder in addresses.
func CheckName(name string) error {
	if err := CheckExisting(name); err != nil {
		return err
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(name, `\`, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return &NameError{name}
		}
	}
	return nil
}

// Name returns the name of the campaign.
func (c *Campaign) Name() string { return c.name }

// State returns the present state of the campaign.
func (c *Campaign) State(ctx context.Context) (*State, error) {
	_, s, err := c.load(ctx)
	return s, err
}

// History returns the events of the campaign, the oldest first. They must not be
// changed.
func (c *Campaign) History(ctx context.Context) ([]Event, error) {
	log, _, err := c.load(ctx)
	return log, err
}

// now returns the time by the clock. Leases are measured by it, so that one wrong clock, whose
// events lie in the future, does not make later leases endless.
func (c *Campaign) now() time.Time {
	clock := c.Clock
	if clock == nil {
		clock = time.Now
	}
	return clock().UTC().Round(0)
}

// stampTime returns the time of the next event, which is never before the last one, so that
// clocks of different machines need not agree. A row that is open now is also open then.
func (s *State) stampTime() time.Time {
	if s.Now.Before(s.last) {
		return s.last
	}
	return s.Now
}

// load returns the log and the state that follows from it. What was read before is not
// read again, and only new events change the state.
func (c *Campaign) load(ctx context.Context) ([]Event, *State, error) {
	c.mu.Lock()
	log, s := c.log, c.state
	c.mu.Unlock()
	fresh, err := c.store.Events(ctx, c.name, int64(len(log)))
	if err != nil {
		return nil, nil, fmt.Errorf("campaign %q: %w", c.name, err)
	}
	if len(fresh) > 0 {
		if log, s, err = c.take(len(log), fresh); err != nil {
			return nil, nil, fmt.Errorf("campaign %q: its log is damaged: %w", c.name, err)
		}
	}
	if s == nil {
		return nil, nil, fmt.Errorf("campaign %q: its log is empty", c.name)
	}
	current := *s
	current.Now = c.now()
	return slices.Clip(log), &current, nil
}

// take adds the events that follow the first ones of the log, unless another goroutine has
// already added them.
func (c *Campaign) take(after int, fresh []Event) ([]Event, *State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fresh = fresh[min(len(fresh), len(c.log)-after):]; len(fresh) == 0 {
		return c.log, c.state, nil
	}
	s, err := c.state.extend(c.log, fresh, fresh[len(fresh)-1].Time)
	if err != nil {
		return nil, nil, err
	}
	c.log, c.state = append(c.log, fresh...), s
	for _, e := range fresh {
		if _, seen := c.requests[e.Request]; !seen && e.Request != "" {
			if c.requests == nil {
				c.requests = map[string]int64{}
			}
			c.requests[e.Request] = e.Seq
		}
	}
	return c.log, s, nil
}

// call is a change that somebody makes.
type call struct {
	By
	kind   Kind
	digest string // of all arguments of the call; empty without a request id
}

// call returns a change of a kind, with all its arguments.
func (b By) call(kind Kind, content ...any) call {
	if b.Request == "" {
		return call{By: b, kind: kind}
	}
	raw, err := json.Marshal(append([]any{kind}, content...))
	if err != nil { // a number that JSON cannot hold, for which the change is rejected
		raw = fmt.Append(nil, kind, content)
	}
	sum := sha256.Sum256(raw)
	return call{b, kind, hex.EncodeToString(sum[:16])}
}

// stamp numbers and signs new events.
func stamp(events []Event, after int64, now time.Time, by call) {
	for i := range events {
		events[i].Seq, events[i].Time = after+1+int64(i), now
		events[i].Person, events[i].Request, events[i].Digest = by.Person, by.Request, by.digest
	}
}

// check makes sure that events can be read back.
func check(events []Event) error {
	for i := range events {
		if err := events[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// decision is what a change consists of; it is empty for no change.
type decision struct {
	events []Event
	blobs  []Blob
}

// change makes a change: it decides, appends, and decides again if somebody
// else was faster. It returns the event, or nil if nothing changed.
func (c *Campaign) change(ctx context.Context, by call, decide func(*State) (decision,
	error)) (event *Event, repeated bool, err error) {
	for {
		log, s, err := c.load(ctx)
		if err != nil {
			return nil, false, err
		}
		if seen, err := c.repeats(log, s, by); seen != nil || err != nil {
			return seen, true, err
		}
		d, err := decide(s)
		if err != nil || len(d.events) == 0 {
			return nil, false, err
		}
		err = c.append(ctx, log, s, by, d)
		if !errors.Is(err, ErrConflict) {
			return &d.events[0], false, err
		}
	}
}

// append appends events that fit into the log.
func (c *Campaign) append(ctx context.Context, log []Event, s *State, by call, d decision) error {
	stamp(d.events, s.Seq, s.stampTime(), by)
	if err := check(d.events); err != nil {
		return err
	}
	if _, err := s.extend(log, d.events, s.Now); err != nil {
		return err
	}
	return c.store.Append(ctx, c.name, s.Seq, d.events, d.blobs)
}

// RequestError reports a request id that belongs to another request.
type RequestError struct{ Request, Before string }

func (e *RequestError) Error() string {
	return fmt.Sprintf("the request %q was made before, %s: a new request needs a new id", e.Request, e.Before)
}

// repeats returns the event that a request made before. Events of earlier versions have no
// digest; of those, kind and person must be the same.
func (c *Campaign) repeats(log []Event, s *State, by call) (*Event, error) {
	c.mu.Lock()
	seq := c.requests[by.Request]
	c.mu.Unlock()
	if seq == 0 || seq > s.Seq {
		return nil, nil
	}
	e := &log[seq-1]
	switch {
	case e.Kind() != by.kind:
		return nil, &RequestError{by.Request, fmt.Sprintf("for another purpose (%s)", e.Kind())}
	case e.Person != by.Person:
		return nil, &RequestError{by.Request, "by another person"}
	case e.Digest != "" && e.Digest != by.digest:
		return nil, &RequestError{by.Request, fmt.Sprintf("with other content (event %d)", e.Seq)}
	case s.Undone(e.Seq) && e.Undone == nil:
		return nil, &RequestError{by.Request, fmt.Sprintf("and undone (event %d)", e.Seq)}
	}
	return e, nil
}

// changed reports an event to the caller.
func changed(e *Event, repeated bool, err error) (Changed, error) {
	if err != nil || e == nil {
		return Changed{}, err
	}
	return Changed{Seq: e.Seq, Rows: e.Rows(), Repeated: repeated}, nil
}

// upTo returns the events of the log up to a number that was seen.
func (c *Campaign) upTo(ctx context.Context, seq int64) ([]Event, error) {
	log, err := c.History(ctx)
	if err != nil {
		return nil, err
	}
	return log[:seq:seq], nil
}

// undoneBy returns, for each event that is undone now, the event that did so.
func undoneBy(log []Event) map[int64]int64 {
	by := map[int64]int64{}
	for _, e := range slices.Backward(log) {
		if e.Undone != nil && by[e.Seq] == 0 && by[e.Undone.Seq] == 0 {
			by[e.Undone.Seq] = e.Seq
		}
	}
	return by
}

// Inputs returns rows with their ids and all their columns, in the given order. Without
// an id column, the column "row" has their numbers.
func (c *Campaign) Inputs(ctx context.Context, rows []RowRef) (*dataset.Table, error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	t, err := c.allRows(ctx, s)
	if err != nil {
		return nil, err
	}
	at := make([]int, len(rows))
	for i, ref := range rows {
		if !s.Exists(ref.Row) {
			return nil, fmt.Errorf("there is no row %d", ref.Row)
		}
		at[i] = t.at(ref.Row)
	}
	chosen := t.rows.Select(at)
	if s.Created.IDColumn != "" {
		return chosen, nil
	}
	numbers := dataset.NewNumeric(RowColumn)
	for _, ref := range rows {
		numbers.Append(float64(ref.Row))
	}
	return dataset.NewTable(append([]dataset.Column{numbers}, chosen.Columns()...)...)
}

// RowColumn is the column of row numbers in files of a campaign without an id column.
const RowColumn = "row"

func nans(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = math.NaN()
	}
	return list
}
