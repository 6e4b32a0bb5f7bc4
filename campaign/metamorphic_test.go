package campaign_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/postgres"
	"github.com/nextbatch/nextbatch/campaign/sqlite"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
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
	settings := campaign.Settings{Spec: "random", Choices: fitted.Choices{Network: tiny()}, Audit: &audit}
	m := &model{draw: rng.New(seed, "operations"), t: t, now: now, settings: settings}
	c, err := campaign.New(t.Context(), store, "c", campaign.Start{
		Table: measuredPool(firstRows, firstLabels), IDColumn: "name", Targets: []string{"y"}, Settings: settings,
		By: ada, Clock: now.Now,
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
			r.labels = []worldLabel{{value: firstLabel(i), number: 1}}
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
	number          int
	labels          []worldLabel
	retired, failed bool
	out             []worldOut // in the order of their numbers
}

type worldLabel struct {
	value  float64
	waits  bool // for a second look
	number int  // of the measurement
}

// worldOut is a measurement that was handed out.
type worldOut struct {
	number int
	until  time.Time
}

// outAt returns the numbers of the measurements that are out.
func (r *worldRow) outAt(now time.Time) (list []int) {
	for _, o := range r.out {
		if now.Before(o.until) && !r.retired && (!r.failed || len(r.labels) > 0) {
			list = append(list, o.number)
		}
	}
	return list
}

// handOut adds a measurement to those that are out.
func (r *worldRow) handOut(o worldOut) {
	r.release(o.number)
	r.out = append(r.out, o)
	slices.SortFunc(r.out, func(a, b worldOut) int { return a.number - b.number })
}

// release removes a measurement from those that are out, or all if the number is 0, and reports whether there was one.
func (r *worldRow) release(number int) bool {
	before := len(r.out)
	r.out = slices.DeleteFunc(slices.Clone(r.out), func(o worldOut) bool { return number == 0 || o.number == number })
	return len(r.out) < before
}

// at returns where the label of a measurement is; -1 if there is none.
func (r *worldRow) at(number int) int {
	return slices.IndexFunc(r.labels, func(l worldLabel) bool { return l.number == number })
}

// take adds a label that was told with a number, or with none.
func (r *worldRow) take(l worldLabel, number int) {
	if number == 0 && len(r.out) > 0 {
		number = r.out[0].number
	}
	if l.number = number; number == 0 || r.at(number) >= 0 {
		for l.number = 1; r.at(l.number) >= 0; l.number++ {
		}
	}
	if number > 0 {
		r.release(number)
	}
	r.labels = append(r.labels, l)
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
	if len(r.outAt(now)) > 0 {
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
	counts, waiting, repeats := map[campaign.Status]int64{}, 0, int64(0)
	for id, r := range w.rows {
		counts[r.status(m.now.now)]++
		row := int64(r.number)
		if !s.Exists(row) || s.Status(row) != r.status(m.now.now) {
			m.t.Errorf("row %s is %s, in the model %s", id, s.Status(row), r.status(m.now.now))
		}
		var labels []worldLabel
		for _, one := range s.Measurements(row) {
			labels = append(labels, worldLabel{one.Values[0], one.Doubts != nil, one.Replicate})
		}
		var out []int
		for _, h := range s.Out(row) {
			out = append(out, h.Pick.Number())
		}
		if want := r.outAt(m.now.now); !slices.Equal(out, want) {
			m.t.Errorf("of row %s the measurements %v are out, in the model %v", id, out, want)
		}
		if len(r.labels) > 0 {
			repeats += int64(len(out))
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
	if got.Rows != int64(len(w.rows)) || got.Open != counts[campaign.StatusOpen] ||
		got.Asked != counts[campaign.StatusAsked] ||
		got.Labelled != counts[campaign.StatusLabelled] || got.Waiting != counts[campaign.StatusWaiting] ||
		got.Failed != counts[campaign.StatusFailed] || got.Retired != counts[campaign.StatusRetired] ||
		got.Repeats != repeats {
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
		{"ask", m.ask}, {"ask", m.ask}, {"tell", m.tell}, {"tell", m.tell}, {"correct", m.correct}, {"confirm", m.confirm},
		{"fail", m.fail}, {"return", m.giveBack},
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
	open, labelled := 0, 0
	for _, r := range w.rows {
		switch r.status(m.now.now) {
		case campaign.StatusOpen:
			open++
		case campaign.StatusLabelled:
			labelled++
		}
	}
	n, replicates, share := 1+m.draw.IntN(4), 1+m.draw.IntN(2), campaign.Share(0)
	if m.draw.IntN(3) == 0 {
		share = 0.4
	}
	repeats := int(float64(share)*float64(n*replicates) + 0.5)
	if repeats%replicates != 0 || repeats == n*replicates { // no whole number of rows is left
		share, repeats = 0, 0
	}
	for repeats > labelled {
		repeats -= replicates
	}
	want := min(n-repeats/replicates, open)*replicates + repeats
	batch, err := m.c.Ask(m.t.Context(), ada, campaign.Ask{Rows: n * replicates, Lease: until,
		Overrides: campaign.Overrides{Replicates: &replicates, ReplicateShare: &share}})
	if open == 0 {
		if !errors.Is(err, campaign.ErrNothingOpen) {
			m.t.Errorf("nothing is open: %v", err)
		}
		return
	}
	if err != nil || len(batch.Rows) != want {
		m.t.Fatalf("asked for %d times %d of %d open rows and %d repeats: %v, %v", n, replicates, open, repeats, batch, err)
	}
	at := m.now.now
	m.did(step{do: func(w *world) bool { return w.handOut(batch.Rows, at, at.Add(until)) }})
	if _, ok := m.world(); !ok {
		m.t.Errorf("rows %v were handed out, but cannot be in the model", ids(batch))
	}
}

// handOut hands out the measurements of a batch.
func (w *world) handOut(rows []campaign.AskedRow, at, until time.Time) bool {
	ours := map[string]bool{}
	for _, asked := range rows {
		r := w.rows[asked.ID]
		switch {
		case r == nil || r.retired:
			return false
		case asked.Repeat && (r.status(at) == campaign.StatusFailed || slices.Contains(r.outAt(at), asked.Number())):
			return false
		case !asked.Repeat && !ours[asked.ID]:
			if r.status(at) != campaign.StatusOpen {
				return false
			}
			r.out = nil
		}
		ours[asked.ID] = true
		r.handOut(worldOut{asked.Number(), until})
	}
	return true
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
	}), e.Replicate}
}

// replicate draws the number of a measurement, or none.
func (m *model) replicate() int { return max(0, m.draw.IntN(6)-2) }

// once leaves out entries that are identical to one before them, except as many as there are measurements of the row
// out.
func (w *world) once(told []campaign.Entry, now time.Time) (list []campaign.Entry) {
	for i, e := range told {
		before := 0
		for _, other := range told[:i] {
			if other.ID == e.ID && other.Values[0] == e.Values[0] && other.Replicate == e.Replicate {
				before++
			}
		}
		if before == 0 || e.Replicate == 0 && before < len(w.rows[e.ID].outAt(now)) {
			list = append(list, e)
		}
	}
	return list
}

// newOf crosses off the entries that rows have already.
func (w *world) newOf(told []campaign.Entry) (list []campaign.Entry) {
	has := map[string][]worldLabel{}
	for id, r := range w.rows {
		has[id] = slices.Clone(r.labels)
	}
	crossOff := func(e campaign.Entry, number int) bool {
		at := slices.IndexFunc(has[e.ID], func(l worldLabel) bool {
			return l.value == e.Values[0] &&
				(number == 0 || l.number == number)
		})
		if at >= 0 {
			has[e.ID] = slices.Delete(has[e.ID], at, at+1)
		}
		return at >= 0
	}
	var left []campaign.Entry
	for _, e := range told {
		if e.Replicate == 0 || !crossOff(e, e.Replicate) {
			left = append(left, e)
		}
	}
	for _, e := range left {
		if e.Replicate > 0 && w.rows[e.ID].at(e.Replicate) < 0 || !crossOff(e, 0) {
			list = append(list, e)
		}
	}
	return list
}

// contradicts reports whether an entry has another value of a measurement that has been told. (One person tells
// everything.)
func (r *worldRow) contradicts(e campaign.Entry) bool {
	return e.Replicate > 0 && r.at(e.Replicate) >= 0 && !slices.ContainsFunc(r.labels,
		func(l worldLabel) bool { return l.value == e.Values[0] })
}

func (m *model) tell() {
	w := m.must()
	var told []campaign.Entry
	for i, id := range m.ids() {
		told = append(told, campaign.Entry{Line: i, ID: id, Values: []float64{m.value()}, Replicate: m.replicate()})
	}
	again, partial, accept := m.draw.IntN(3) == 0, m.draw.IntN(3) == 0, m.draw.IntN(4) == 0
	refused := false
	var right []campaign.Entry
	for _, e := range told {
		if r := w.rows[e.ID]; r == nil || r.retired || !again && r.contradicts(e) {
			refused = true
			continue
		}
		right = append(right, e)
	}
	if !again {
		right = w.newOf(w.once(right, m.now.Now()))
	}
	result, err := m.c.Tell(m.t.Context(), ada, campaign.Tell{Entries: told, Again: again,
		Partial: partial, Accept: accept})
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
			r.take(labelTold(result, e), e.Replicate)
		}
		return true
	}})
}

func (m *model) correct() {
	w, id, value, number := m.must(), m.ids()[0], m.value(), m.replicate()
	r := w.rows[id]
	refused := r == nil || r.retired || len(r.labels) == 0 || number > 0 && r.at(number) < 0
	want := false
	if !refused && number == 0 {
		want = len(r.labels) != 1 || r.labels[0].value != value
	} else if !refused {
		want = r.labels[r.at(number)].value != value
	}
	told := entries(id, value)
	told[0].Replicate = number
	result, err := m.c.Correct(m.t.Context(), ada, campaign.Tell{Entries: told})
	if m.outcome(result.Seq, err, want, refused); want && err == nil {
		m.did(step{do: func(w *world) bool {
			r := w.rows[id]
			if r == nil || r.retired || len(r.labels) == 0 || number > 0 && r.at(number) < 0 {
				return false
			}
			if label := labelTold(result, told[0]); number > 0 {
				r.labels = slices.Clone(r.labels)
				r.labels[r.at(number)] = label
			} else {
				label.number = 1
				r.labels = []worldLabel{label}
			}
			return true
		}})
	}
}

// measurement names a row, or one of its measurements.
type measurement struct {
	id     string
	number int
}

func (m measurement) String() string {
	if m.number == 0 {
		return m.id
	}
	return fmt.Sprintf("%s#%d", m.id, m.number)
}

// measurements draws rows or measurements of them, and their names.
func (m *model) measurements() (list []measurement, names []string) {
	for _, id := range m.ids() {
		one := measurement{id, m.replicate()}
		list, names = append(list, one), append(names, one.String())
	}
	return list, names
}

// changeRows judges and applies a change of a list of rows.
func (m *model) changeRows(list []string, judge func(*worldRow) (refuse, skip bool),
	call func() (campaign.Changed, error), apply func(r *worldRow) bool) {
	var all []measurement
	for _, id := range list {
		all = append(all, measurement{id, 0})
	}
	m.changeMeasurements(all, func(r *worldRow, _ int) (refuse, skip bool) { return judge(r) }, call,
		func(r *worldRow, _ int) bool { return apply(r) })
}

// changeMeasurements does so with measurements.
func (m *model) changeMeasurements(list []measurement, judge func(r *worldRow, number int) (refuse, skip bool),
	call func() (campaign.Changed, error), apply func(r *worldRow, number int) bool) {
	w := m.must()
	refused := false
	var changes []measurement
	for _, one := range list {
		r := w.rows[one.id]
		if r == nil {
			refused = true
			continue
		}
		refuse, skip := judge(r, one.number)
		refused = refused || refuse
		whole := one.number > 0 && slices.Contains(list, measurement{one.id, 0})
		if !skip && !whole && !slices.Contains(changes, one) {
			changes = append(changes, one)
		}
	}
	changed, err := call()
	m.outcome(changed.Seq, err, len(changes) > 0, refused)
	if err != nil || len(changes) == 0 {
		return
	}
	m.did(step{do: func(w *world) bool {
		for _, one := range changes {
			if r := w.rows[one.id]; r == nil || r.retired || !apply(r, one.number) {
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
	list, names := m.measurements()
	again := m.draw.IntN(2) == 0
	m.changeMeasurements(list, func(r *worldRow, number int) (refuse, skip bool) {
		s, out := r.status(m.now.now), r.outAt(m.now.now)
		switch {
		case s == campaign.StatusRetired || number > 0 && !slices.Contains(out, number):
			return true, false
		case len(out) > 0:
			return false, false
		}
		return s == campaign.StatusLabelled || s == campaign.StatusWaiting, s == campaign.StatusFailed && !again
	}, func() (campaign.Changed, error) {
		return m.c.Fail(m.t.Context(), ada, names, "broke", again)
	}, func(r *worldRow, number int) bool {
		if released := r.release(number); !released && (number > 0 || len(r.labels) > 0) {
			return false
		}
		if len(r.labels)+len(r.out) == 0 {
			r.failed = !again
		}
		return true
	})
}

func (m *model) giveBack() {
	list, names := m.measurements()
	m.changeMeasurements(list, func(r *worldRow, number int) (refuse, skip bool) {
		s, out := r.status(m.now.now), r.outAt(m.now.now)
		switch {
		case number > 0 && !slices.Contains(out, number):
			return true, false
		case len(out) > 0:
			return false, false
		}
		return s != campaign.StatusOpen, true
	}, func() (campaign.Changed, error) {
		return m.c.Return(m.t.Context(), ada, names, "")
	}, func(r *worldRow, number int) bool { return r.release(number) })
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
