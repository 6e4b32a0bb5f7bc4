package campaign_test

import (
	"bytes"
	"errors"
	"fmt"
	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/postgres"
	"github.com/nextbatch/nextbatch/campaign/sqlite"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// TestSoakRandomSequences makes random sequences of all operations on each store and on a
// plain model, which takes them back by starting over without them. After every
// operation, the states must be equal; at the end, so must be the logs of all stores.
//
// NEXTBATCH_SEED=n runs the sequence of one seed, NEXTBATCH_SOAK=1 many.
func TestSoakRandomSequences(t *testing.T) {
	first, count := uint64(1), 6
	if text := os.Getenv("NEXTBATCH_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, count = seed, 1
	} else if os.Getenv("NEXTBATCH_SOAK") == "1" {
		first, count = uint64(time.Now().UnixNano()>>20), 200
	}
	for seed := first; seed < first+uint64(count); seed++ {
		var want string
		for _, kind := range []string{"memory", "sqlite", "postgres"} {
			t.Run(fmt.Sprintf("seed=%d/%s", seed, kind), func(t *testing.T) {
				got := runSequence(t, openStore(t, kind), seed)
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("seed %d: the log is\n%s, elsewhere\n%s", seed, got, want)
				}
			})
		}
	}
}

// openStore returns an empty store of a kind.
func openStore(t *testing.T, kind string) campaign.Store {
	t.Helper()
	var s campaign.Store = &storetest.Memory{}
	var err error
	switch kind {
	case "sqlite":
		s, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "c.db"))
	case "postgres":
		s, err = postgres.Open(t.Context(), postgrestest.Schema(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// runSequence returns the log that the operations left.
func runSequence(t *testing.T, store campaign.Store, seed uint64) string {
	now := newClock()
	audit := 0.3
	settings := campaign.Settings{Spec: "random", Choices: nextbatch.Choices{Network: tiny()}, Audit: &audit}
	m := &model{draw: rng.New(seed, "operations"), t: t, now: now, settings: settings}
	c, err := campaign.New(t.Context(), store, "c", campaign.Start{
		Table: measuredPool(firstRows, firstLabels), IDColumn: "name", Targets: []string{"y"}, Settings: settings, By: ada, Clock: now.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.c = c
	m.did(step{}) // the creation
	m.did(step{do: addRows(0, firstRows)})
	m.did(step{do: func(w *world) bool {
		for i := range firstLabels {
			r := w.rows[fmt.Sprintf("r%03d", i)]
			if r == nil {
				return false
			}
			r.labels = []worldLabel{{value: firstLabel(i)}}
		}
		return true
	}})
	m.added = firstRows
	var states remembered
	for i := range 60 {
		m.operate()
		m.compare()
		if states.check(t, c); t.Failed() {
			t.Fatalf("seed %d: after operation %d (%s)", seed, i, m.what)
		}
	}
	states.unchanged(t)
	log, err := c.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, e := range log {
		if e.Created != nil { // its identity is random
			created := *e.Created
			created.Identity = "identity"
			e.Created = &created
		}
		raw, err := campaign.EncodeEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(raw, '\n'))
	}
	return text.String()
}

// A campaign starts with enough labels for a second look at others.
const firstRows, firstLabels = 34, 24

func firstLabel(i int) float64 { return float64(i % 4) }

// measuredPool is a pool whose first rows have labels.
func measuredPool(rows, labelled int) *dataset.Table {
	y := dataset.NewNumeric("y")
	for i := range rows {
		if i < labelled {
			y.Append(firstLabel(i))
		} else {
			y.Append(math.NaN())
		}
	}
	return mustTable(append(pool(0, rows).Columns(), y)...)
}

// world is what the model knows at one time.
type world struct {
	rows   map[string]*worldRow
	latest bool
}

type worldRow struct {
	number               int
	labels               []worldLabel
	retired, failed, out bool
	until                time.Time
}

type worldLabel struct {
	value float64
	waits bool // for a second look
}

// counting returns the labels that count.
func (r *worldRow) counting() (list []float64) {
	for _, l := range r.labels {
		if !l.waits {
			list = append(list, l.value)
		}
	}
	return list
}

func (r *worldRow) waits() bool { return len(r.counting()) < len(r.labels) }

func (r *worldRow) status(now time.Time) campaign.Status {
	if r.retired {
		return campaign.StatusRetired
	}
	if len(r.counting()) > 0 {
		return campaign.StatusLabelled
	}
	if len(r.labels) > 0 {
		return campaign.StatusWaiting
	}
	if r.failed {
		return campaign.StatusFailed
	}
	if r.out && now.Before(r.until) {
		return campaign.StatusAsked
	}
	return campaign.StatusOpen
}

// step is an event as the model sees it: it changes a world, or reports that it cannot
// have happened there.
type step struct {
	do    func(*world) bool
	undid int // the step that this one undid, from 1
}

// model is the plain implementation: all steps, replayed for every question.
type model struct {
	t        *testing.T
	c        *campaign.Campaign
	draw     *rng.Stream
	now      *clock
	settings campaign.Settings
	steps    []step
	added    int // rows so far, undone or not
	what     string
}

func (m *model) did(s step) { m.steps = append(m.steps, s) }

// holds reports whether step i, from 1, counts.
func (m *model) holds(i int) bool {
	for j := i + 1; j <= len(m.steps); j++ {
		if m.steps[j-1].undid == i && m.holds(j) {
			return false
		}
	}
	return true
}

// world replays the steps that count.
func (m *model) world() (w *world, ok bool) {
	w = &world{rows: map[string]*worldRow{}}
	for i, s := range m.steps {
		if s.do != nil && m.holds(i+1) && !s.do(w) {
			return nil, false
		}
	}
	return w, true
}

func (m *model) must() *world {
	w, ok := m.world()
	if !ok {
		m.t.Fatal("the model contradicts itself")
	}
	return w
}

func (m *model) compare() {
	m.t.Helper()
	s, w := state(m.t, m.c), m.must()
	if s.Seq != int64(len(m.steps)) {
		m.t.Errorf("the log has %d events, the model %d", s.Seq, len(m.steps))
	}
	counts, waiting := map[campaign.Status]int64{}, 0
	for id, r := range w.rows {
		counts[r.status(m.now.now)]++
		row := int64(r.number)
		if !s.Exists(row) || s.Status(row) != r.status(m.now.now) {
			m.t.Errorf("row %s is %s, in the model %s", id, s.Status(row), r.status(m.now.now))
		}
		var labels []worldLabel
		for _, one := range s.Measurements(row) {
			labels = append(labels, worldLabel{one.Values[0], one.Doubts != nil})
		}
		if !slices.Equal(labels, r.labels) {
			m.t.Errorf("row %s has the measurements %v, in the model %v", id, labels, r.labels)
		}
		if r.waits() && !r.retired {
			waiting++
		}
		if want := w.label(r); len(r.counting()) > 0 && math.Abs(s.Label(row)[0]-want) > 1e-12 {
			m.t.Errorf("row %s has the label %v, in the model %v", id, s.Label(row), want)
		}
	}
	rows := map[int64]bool{}
	for _, w := range s.Waiting() {
		rows[w.Row] = true
	}
	if len(rows) != waiting {
		m.t.Errorf("labels of %d rows wait, in the model of %d", len(rows), waiting)
	}
	got := s.Counts()
	if got.Rows != int64(len(w.rows)) || got.Open != counts[campaign.StatusOpen] || got.Asked != counts[campaign.StatusAsked] ||
		got.Labelled != counts[campaign.StatusLabelled] || got.Waiting != counts[campaign.StatusWaiting] || got.Failed != counts[campaign.StatusFailed] || got.Retired != counts[campaign.StatusRetired] {
		m.t.Errorf("counts are %+v, in the model %v of %d", got, counts, len(w.rows))
	}
}

func (w *world) label(r *worldRow) float64 {
	labels := r.counting()
	if w.latest && len(labels) > 0 {
		return labels[len(labels)-1]
	}
	sum := 0.0
	for _, v := range labels {
		sum += v
	}
	return sum / float64(len(labels))
}

// operate does something at random.
func (m *model) operate() {
	m.now.pass(time.Duration(m.draw.IntN(3)) * time.Hour)
	operations := []struct {
		what string
		do   func()
	}{
		{"ask", m.ask}, {"ask", m.ask}, {"tell", m.tell}, {"tell", m.tell}, {"correct", m.correct}, {"confirm", m.confirm}, {"fail", m.fail}, {"return", m.giveBack},
		{"retire", m.retire}, {"add", m.add}, {"undo", m.undo}, {"undo", m.undo}, {"settings", m.change},
	}
	one := operations[m.draw.IntN(len(operations))]
	m.what = one.what
	one.do()
}

// ids draws ids of rows, of which some do not exist or come twice.
func (m *model) ids() (list []string) {
	for range 1 + m.draw.IntN(3) {
		list = append(list, fmt.Sprintf("r%03d", m.draw.IntN(m.added+1)))
	}
	return list
}

// outcome requires that a call changed something, changed nothing, or refused.
func (m *model) outcome(seq int64, err error, want bool, refused bool) {
	m.t.Helper()
	if refused != (err != nil) || err == nil && want != (seq > 0) {
		m.t.Errorf("%s: event %d, %v; the model expects a change: %v, a refusal: %v", m.what, seq, err, want, refused)
	}
}

func (m *model) ask() {
	w, until := m.must(), time.Duration(1+m.draw.IntN(6))*time.Hour
	open := 0
	for _, r := range w.rows {
		if r.status(m.now.now) == campaign.StatusOpen {
			open++
		}
	}
	n := 1 + m.draw.IntN(4)
	batch, err := m.c.Ask(m.t.Context(), ada, campaign.Ask{Rows: n, Lease: until})
	if open == 0 {
		if !errors.Is(err, campaign.ErrNothingOpen) {
			m.t.Errorf("nothing is open: %v", err)
		}
		return
	}
	if err != nil || len(batch.Rows) != min(n, open) {
		m.t.Fatalf("asked for %d of %d open rows: %v, %v", n, open, batch, err)
	}
	list, at := ids(batch), m.now.now
	m.did(step{do: func(w *world) bool {
		for _, id := range list {
			r := w.rows[id]
			if r == nil || r.status(at) != campaign.StatusOpen {
				return false
			}
			r.out, r.until = true, at.Add(until)
		}
		return true
	}})
	if _, ok := m.world(); !ok {
		m.t.Errorf("rows %v were handed out, but are not all open in the model", list)
	}
}

// value draws a label, which is sometimes far from the others.
func (m *model) value() float64 {
	v := float64(m.draw.IntN(4))
	if m.draw.IntN(2) == 0 {
		v += 1000
	}
	return v
}

// labelTold returns a label of the model, which waits if the campaign says so: the model does not know the rule.
func labelTold(result campaign.ToldRows, e campaign.Entry) worldLabel {
	return worldLabel{e.Values[0], slices.ContainsFunc(result.Waiting, func(w campaign.Waiting) bool {
		return w.Event == result.Seq && w.ID == e.ID && float64(w.Value) == e.Values[0]
	})}
}

func (m *model) tell() {
	w := m.must()
	var told []campaign.Entry
	for i, id := range m.ids() {
		told = append(told, campaign.Entry{Line: i, ID: id, Values: []float64{m.value()}})
	}
	again, partial, accept := m.draw.IntN(3) == 0, m.draw.IntN(3) == 0, m.draw.IntN(4) == 0
	refused := false
	var right []campaign.Entry
	for _, e := range told {
		if r := w.rows[e.ID]; r == nil || r.retired {
			refused = true
			continue
		}
		right = append(right, e)
	}
	if !again { // cross off what the rows have, one by one
		has := map[string][]float64{}
		for id, r := range w.rows {
			for _, l := range r.labels {
				has[id] = append(has[id], l.value)
			}
		}
		right = slices.DeleteFunc(right, func(e campaign.Entry) bool {
			at := slices.Index(has[e.ID], e.Values[0])
			if at >= 0 {
				has[e.ID] = slices.Delete(has[e.ID], at, at+1)
			}
			return at >= 0
		})
	}
	result, err := m.c.Tell(m.t.Context(), ada, campaign.Tell{Entries: told, Again: again, Partial: partial, Accept: accept})
	m.outcome(result.Seq, err, len(right) > 0, refused && !partial)
	if err != nil || len(right) == 0 {
		return
	}
	if accept && slices.ContainsFunc(result.Waiting, func(w campaign.Waiting) bool { return w.Event == result.Seq }) {
		m.t.Errorf("labels that were accepted wait: %v", result.Waiting)
	}
	m.did(step{do: func(w *world) bool {
		for _, e := range right {
			r := w.rows[e.ID]
			if r == nil || r.retired {
				return false
			}
			r.labels, r.out = append(r.labels, labelTold(result, e)), false
		}
		return true
	}})
}

func (m *model) correct() {
	w, id, value := m.must(), m.ids()[0], m.value()
	r := w.rows[id]
	refused := r == nil || r.retired || len(r.labels) == 0
	want := !refused && !(len(r.labels) == 1 && r.labels[0].value == value)
	told := entries(id, value)
	result, err := m.c.Correct(m.t.Context(), ada, campaign.Tell{Entries: told})
	if m.outcome(result.Seq, err, want, refused); want && err == nil {
		m.did(step{do: func(w *world) bool {
			r := w.rows[id]
			if r == nil || r.retired || len(r.labels) == 0 {
				return false
			}
			r.labels, r.out = []worldLabel{labelTold(result, told[0])}, false
			return true
		}})
	}
}

// changeRows judges and applies a change of a list of rows.
func (m *model) changeRows(list []string, judge func(*worldRow) (refuse, skip bool), call func() (campaign.Changed, error), apply func(r *worldRow) bool) {
	w := m.must()
	refused := false
	var changes []string
	for _, id := range list {
		r := w.rows[id]
		if r == nil {
			refused = true
			continue
		}
		refuse, skip := judge(r)
		refused = refused || refuse
		if !skip && !slices.Contains(changes, id) {
			changes = append(changes, id)
		}
	}
	changed, err := call()
	m.outcome(changed.Seq, err, len(changes) > 0, refused)
	if err != nil || len(changes) == 0 {
		return
	}
	m.did(step{do: func(w *world) bool {
		for _, id := range changes {
			if r := w.rows[id]; r == nil || r.retired || !apply(r) {
				return false
			}
		}
		return true
	}})
}

func (m *model) confirm() {
	list := m.ids()
	var waiting []string
	for id, r := range m.must().rows {
		if r.waits() {
			waiting = append(waiting, id)
		}
	}
	if slices.Sort(waiting); len(waiting) > 0 && m.draw.IntN(4) > 0 {
		list = waiting[:1+m.draw.IntN(len(waiting))]
	}
	m.changeRows(list, func(r *worldRow) (refuse, skip bool) {
		return r.retired || len(r.labels) == 0, !r.waits()
	}, func() (campaign.Changed, error) {
		return m.c.Confirm(m.t.Context(), ada, list, "measured twice")
	}, func(r *worldRow) bool {
		waits := r.waits()
		r.labels = slices.Clone(r.labels)
		for i := range r.labels {
			r.labels[i].waits = false
		}
		return waits
	})
}

func (m *model) fail() {
	list, again := m.ids(), m.draw.IntN(2) == 0
	m.changeRows(list, func(r *worldRow) (refuse, skip bool) {
		s := r.status(m.now.now)
		return s == campaign.StatusLabelled || s == campaign.StatusWaiting || s == campaign.StatusRetired, s == campaign.StatusFailed && !again
	}, func() (campaign.Changed, error) {
		return m.c.Fail(m.t.Context(), ada, list, "broke", again)
	}, func(r *worldRow) bool {
		r.failed, r.out = !again, false
		return len(r.labels) == 0
	})
}

func (m *model) giveBack() {
	list := m.ids()
	m.changeRows(list, func(r *worldRow) (refuse, skip bool) {
		s := r.status(m.now.now)
		return s != campaign.StatusAsked && s != campaign.StatusOpen, s == campaign.StatusOpen
	}, func() (campaign.Changed, error) {
		return m.c.Return(m.t.Context(), ada, list, "")
	}, func(r *worldRow) bool {
		out := r.out
		r.out = false
		return out
	})
}

func (m *model) retire() {
	list := m.ids()[:1]
	m.changeRows(list, func(r *worldRow) (refuse, skip bool) {
		return false, r.retired
	}, func() (campaign.Changed, error) {
		return m.c.Retire(m.t.Context(), ada, list, "")
	}, func(r *worldRow) bool {
		r.retired = true
		return true
	})
}

// addRows is the step of rows that are added, with their numbers in the ids. A row must
// be new.
func addRows(number, n int, named ...int) func(*world) bool {
	return func(w *world) bool {
		for i := range n {
			id := fmt.Sprintf("r%03d", number+i)
			if len(named) > 0 {
				id = fmt.Sprintf("r%03d", named[0]+i)
			}
			if w.rows[id] != nil {
				return false
			}
			w.rows[id] = &worldRow{number: number + i}
		}
		return true
	}
}

func (m *model) add() {
	first, n := m.added, 1+m.draw.IntN(3)
	if m.draw.IntN(3) == 0 { // ids of others, unless these were undone
		first = m.draw.IntN(m.added)
	}
	do := addRows(m.added, n, first)
	possible := do(m.must())
	var table *dataset.Table = pool(first, n)
	result, err := m.c.Add(m.t.Context(), ada, table)
	if m.outcome(result.Seq, err, true, !possible); err == nil {
		m.did(step{do: do})
		m.added += n
	}
}

func (m *model) undo() {
	target := 1 + m.draw.IntN(len(m.steps)+1)
	refused := target > len(m.steps) || target == 1 || !m.holds(target)
	if !refused {
		m.did(step{undid: target})
		if _, ok := m.world(); !ok {
			refused = true
			m.steps = m.steps[:len(m.steps)-1]
		}
	}
	result, err := m.c.Undo(m.t.Context(), ada, int64(target), "")
	m.outcome(result.Seq, err, true, refused)
}

func (m *model) change() {
	m.settings.Latest = m.draw.IntN(2) == 0
	m.settings.Spec = []string{"random", "kmeanspp-p:linear", ""}[m.draw.IntN(3)]
	latest := m.settings.Latest
	changed, err := m.c.ChangeSettings(m.t.Context(), ada, m.settings)
	m.outcome(changed.Seq, err, true, false)
	m.did(step{do: func(w *world) bool { w.latest = latest; return true }})
}
