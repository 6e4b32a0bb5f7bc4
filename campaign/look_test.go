package campaign_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// correct corrects labels, and returns the rows whose corrections wait.
func correct(t *testing.T, c *campaign.Campaign, pairs ...any) []string {
	t.Helper()
	told, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: entries(pairs...)})
	if err != nil {
		t.Fatal(err)
	}
	return waitingIDs(told.Waiting)
}

// scaled returns rows with labels from 0 to 6 times a factor.
func scaled(first, n int, factor float64) (list []any) {
	for i := range n {
		list = append(list, fmt.Sprintf("r%03d", first+i), factor*float64(1+i%7))
	}
	return list
}

// TestCorrectionsAreComparedWithWhatStays: of 40, 70 and 100 labels, 40 are corrected from a wrong unit; and a wrong
// correction waits in each case.
func TestCorrectionsAreComparedWithWhatStays(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, 30, 60} {
		c, _ := begin(t, 120, campaign.Settings{})
		accepted := campaign.Tell{Entries: entries(scaled(0, 40, 1000)...), Accept: true}
		if _, err := c.Tell(t.Context(), ada, accepted); err != nil {
			t.Fatal(err)
		}
		if others > 0 {
			accepted.Entries = entries(scaled(40, others, 1)...)
			if _, err := c.Tell(t.Context(), ada, accepted); err != nil {
				t.Fatal(err)
			}
		}
		if waiting := correct(t, c, scaled(0, 40, 1)...); len(waiting) > 0 {
			t.Errorf("beside %d others, %d of 40 corrections wait", others, len(waiting))
		}
		if told := tell(t, c, "r110", 3.0, "r111", 4000.0); !slices.Equal(waitingIDs(told.Waiting), []string{"r111"}) {
			t.Errorf("beside %d others, labels of %q wait after the correction", others, waitingIDs(told.Waiting))
		}
		if waiting := correct(t, c, "r001", 2.5, "r002", 3000.0, "r003", 4000.0, "r004", 5000.0, "r005",
			6000.0); len(waiting) != 4 {
			t.Errorf("beside %d others, wrong corrections of %q wait", others, waiting)
		}
	}
}

// TestLabelsThatSpreadOverMagnitudes: such labels are told in batches. Right ones hardly ever wait, and slips that take
// one beyond all others do.
func TestLabelsThatSpreadOverMagnitudes(t *testing.T) {
	t.Parallel()
	streams := map[string]func(d *rng.Stream) float64{
		"IC50":      func(d *rng.Stream) float64 { return math.Pow(10, 2.5+1.3*d.NormFloat64()) },
		"lognormal": func(d *rng.Stream) float64 { return math.Exp(d.NormFloat64()) },
		"counts":    func(d *rng.Stream) float64 { return math.Floor(math.Exp(1.5*d.NormFloat64() - 0.8)) },
	}
	for name, draw := range streams {
		d := rng.New(7, name)
		waited, told := 0, 0
		for range 4 {
			c, _ := begin(t, 260, campaign.Settings{})
			for first := 0; first < 250; first += 10 {
				var list []any
				for i := range 10 {
					list = append(list, fmt.Sprintf("r%03d", first+i), draw(d))
				}
				waited, told = waited+len(tell(t, c, list...).Waiting), told+10
			}
			slip := tell(t, c, "r255", 1e9).Waiting
			if len(slip) != 1 || !strings.Contains(slip[0].Why.String(), " on a logarithmic scale") {
				t.Errorf("%s: 1e9 waits: %+v", name, slip)
			}
		}
		if t.Logf("%s: %d of %d right labels wait", name, waited, told); 200*waited > told {
			t.Errorf("%s: %d of %d right labels wait, more than 1 in 200", name, waited, told)
		}
	}
}

// handOut records an ask with predictions, as another process would.
func handOut(t *testing.T, store campaign.Store, c *campaign.Campaign, value func(row int64) float64, rows ...int64) {
	t.Helper()
	s := state(t, c)
	asked := &campaign.Asked{Ask: int64(len(s.Asks)) + 1, Spec: "random", Model: "m", Trained: int(s.Counts().Labelled)}
	for _, a := range s.Asks {
		asked.Ask = max(asked.Ask, a.Ask+1)
	}
	for _, row := range rows {
		if s.Status(row) == campaign.StatusOpen {
			v := fitted.Float(value(row))
			low, high := v*0.9, v*1.1
			asked.Rows = append(asked.Rows, campaign.AskedRow{RowRef: campaign.RowRef{Row: row, ID: fmt.Sprintf("r%03d", row)},
				Predictions: slices.Repeat([]fitted.Prediction{{Value: v, Low: &low, High: &high}}, len(s.Created.Targets))})
		}
	}
	if len(asked.Rows) == 0 {
		return
	}
	e := campaign.Event{Seq: s.Seq + 1, Time: s.Now, Person: "ada", Asked: asked}
	if err := store.Append(t.Context(), "c", s.Seq, []campaign.Event{e}, nil); err != nil {
		t.Fatal(err)
	}
}

// TestPredictionsOfOtherLabels: what a model predicted from labels in a wrong unit says nothing about labels once these
// are corrected, withdrawn or restored. After few corrections it still does.
func TestPredictionsOfOtherLabels(t *testing.T) {
	t.Parallel()
	started := func(unit float64) (campaign.Store, *campaign.Campaign) {
		store := &storetest.Memory{}
		c, err := campaign.New(t.Context(), store, "c", campaign.Start{
			Table: pool(0, 120), IDColumn: "name", Targets: []string{"y"}, By: ada, Clock: newClock().Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		tell(t, c, scaled(0, 40, unit)...)
		return store, c
	}
	four := func(unit float64) func(int64) float64 { return func(int64) float64 { return 4 * unit } }
	told := func(what string, c *campaign.Campaign, value float64, waits bool) {
		t.Helper()
		if got := tell(t, c, "r050", value); (len(got.Waiting) > 0) != waits {
			t.Errorf("%s: %v waits: %v", what, value, len(got.Waiting) > 0)
		}
	}

	store, c := started(1000)
	handOut(t, store, c, four(1000), 50, 51, 52)
	correct(t, c, scaled(0, 40, 1)...)
	told("after a correction", c, 5, false)

	store, c = started(1)
	correct(t, c, scaled(0, 40, 1000)...)
	handOut(t, store, c, four(1000), 50, 51)
	if _, err := c.Undo(t.Context(), ada, state(t, c).Seq-1, ""); err != nil {
		t.Fatal(err)
	}
	told("after a correction was undone", c, 5, false)

	store, c = started(1)
	handOut(t, store, c, four(1), 50)
	correct(t, c, "r001", 5.0)
	told("after one of 40 corrections", c, 0.4, true) // lies among the labels
	correct(t, c, scaled(1, 30, 1.5)...)
	tell(t, c, "r051", 4.0)
	if waiting := correct(t, c, "r050", 0.3); len(waiting) > 0 {
		t.Errorf("after most of the labels were corrected, %q waits", waiting)
	}
}

// TestLongLivedHandle makes random changes through a handle that lives as long as the campaign, and the same changes to
// a second campaign through a new handle each. After every step, both have the same log, with the same doubts, and the
// same labels wait. There are two targets, rows with several measurements, and labels that are limits.
func TestLongLivedHandle(t *testing.T) {
	t.Parallel()
	histories := 2000
	if testing.Short() {
		histories = 60
	}
	waited, made := 0, map[string]int{}
	for seed := range uint64(histories) {
		h := newHistory(t, seed)
		for range 16 {
			h.step(made)
		}
		if waited += h.waited; t.Failed() {
			t.Fatalf("history %d", seed)
		}
	}
	if t.Logf("%d labels waited; %v", waited, made); waited < histories {
		t.Errorf("only %d labels waited in %d histories", waited, histories)
	}
	for _, what := range []string{"tell", "correct", "correct the unit", "confirm", "retire", "undo", "settings", "ask"} {
		if made[what] < histories/5 {
			t.Errorf("%d histories have only %d changes of the kind %q", histories, made[what], what)
		}
	}
}

type history struct {
	t      *testing.T
	draw   *rng.Stream
	now    *clock
	store  [2]*storetest.Memory
	long   *campaign.Campaign // in the first store
	unit   float64            // of the labels
	waited int
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	h := &history{t: t, draw: rng.New(seed, "history"), now: newClock(), unit: 1}
	for i := range h.store {
		h.store[i] = &storetest.Memory{}
		c, err := campaign.New(t.Context(), h.store[i], "c", campaign.Start{
			Table: twoTargets(60, 24), IDColumn: "name", Targets: []string{"y", "other"}, By: ada, Clock: h.now.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			h.long = c
		}
	}
	return h
}

// twoTargets returns rows of which some have labels of two targets.
func twoTargets(rows, labelled int) *dataset.Table {
	one := measuredPool(rows, labelled)
	y, err := one.Numeric("y")
	if err != nil {
		panic(err)
	}
	z := dataset.NewNumeric("other")
	for i := range rows {
		z.Append(1 + y.Float(i))
	}
	return mustTable(append(one.Columns(), z)...)
}

// value draws a label, which is sometimes wrong.
func (h *history) value() float64 {
	slips := []float64{1, 1, 1, 1, 10, 100, 0.1, -1}
	return h.unit * float64(1+h.draw.IntN(7)) * slips[h.draw.IntN(len(slips))]
}

// values draws labels of rows.
func (h *history) values(most int) (list []campaign.Entry) {
	for range 1 + h.draw.IntN(most) {
		e := campaign.Entry{ID: h.id(), Values: []float64{h.value(), h.value()}}
		if missing := h.draw.IntN(6); missing < 2 {
			e.Values[missing] = math.NaN()
		}
		if h.draw.IntN(4) == 0 {
			e.Replicate = 1 + h.draw.IntN(3)
		}
		if h.draw.IntN(5) == 0 {
			e.Censored = campaign.Censored{int8(h.draw.IntN(3) - 1), int8(h.draw.IntN(3) - 1)}
		}
		list = append(list, e)
	}
	return list
}

func (h *history) id() string { return fmt.Sprintf("r%03d", h.draw.IntN(60)) }

// step draws a change, makes it in both campaigns, and counts it if there was anything to change.
func (h *history) step(made map[string]int) {
	h.t.Helper()
	h.now.pass(time.Minute)
	what, change := h.change()
	before := state(h.t, h.long).Seq
	fresh, err := campaign.Open(h.t.Context(), h.store[1], "c")
	if err != nil {
		h.t.Fatal(err)
	}
	fresh.Clock = h.now.Now
	one, other := change(h.long, h.store[0]), change(fresh, h.store[1])
	if fmt.Sprint(one) != fmt.Sprint(other) {
		h.t.Errorf("%s: %v, elsewhere %v", what, one, other)
	}
	if got, want := h.events(h.store[0], before), h.events(h.store[1], before); got != want {
		h.t.Errorf("%s: the events are\n%s\nand of a new handle\n%s", what, got, want)
	}
	if state(h.t, h.long).Seq > before {
		made[what]++
	}
	if fresh, err = campaign.Open(h.t.Context(), h.store[0], "c"); err != nil {
		h.t.Fatal(err)
	}
	fresh.Clock = h.now.Now
	if got, want := h.waiting(h.long), h.waiting(fresh); got != want {
		h.t.Errorf("%s: what waits is\n%s\nand of a new handle\n%s", what, got, want)
	}
}

// waiting lists what waits, and what would if it were told now, in words.
func (h *history) waiting(c *campaign.Campaign) (text string) {
	s := state(h.t, c)
	for i, list := range [][]campaign.Waiting{s.Waiting(), s.Unlikely()} {
		for _, w := range list {
			text += fmt.Sprintf("%d: %s#%d, %s: %s\n", i, w.ID, w.Replicate, w.Target, w.Why)
		}
	}
	return text + fmt.Sprint(s.Counts())
}

// events returns the events of a store after one of them.
func (h *history) events(store campaign.Store, after int64) (text string) {
	h.t.Helper()
	list, err := store.Events(h.t.Context(), "c", after)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range list {
		raw, err := campaign.EncodeEvent(e)
		if err != nil {
			h.t.Fatal(err)
		}
		text += string(raw) + "\n"
		h.waited += strings.Count(string(raw), "\"low\"")
	}
	return text
}

// change draws a change.
func (h *history) change() (what string, do func(*campaign.Campaign, campaign.Store) error) {
	told := campaign.Tell{Entries: h.values(4), Again: h.draw.IntN(3) == 0, Partial: true, Accept: h.draw.IntN(4) == 0}
	id, undone := h.id(), int64(3+h.draw.IntN(20))
	switch h.draw.IntN(9) {
	case 0, 1:
		return "tell", func(c *campaign.Campaign, _ campaign.Store) error {
			_, err := c.Tell(h.t.Context(), ada, told)
			return err
		}
	case 2:
		return "correct", func(c *campaign.Campaign, _ campaign.Store) error {
			_, err := c.Correct(h.t.Context(), ada, told)
			return err
		}
	case 3:
		return "correct the unit", h.otherUnit()
	case 4:
		return "confirm", func(c *campaign.Campaign, _ campaign.Store) error {
			waiting := state(h.t, c).Waiting()
			if len(waiting) == 0 {
				return nil
			}
			_, err := c.Confirm(h.t.Context(), ada, []string{waiting[int(undone)%len(waiting)].ID}, "")
			return err
		}
	case 5:
		return "retire", func(c *campaign.Campaign, _ campaign.Store) error {
			_, err := c.Retire(h.t.Context(), ada, []string{id}, "")
			return err
		}
	case 6:
		return "undo", func(c *campaign.Campaign, _ campaign.Store) error {
			_, err := c.Undo(h.t.Context(), ada, undone, "")
			return err
		}
	case 7:
		latest := h.draw.IntN(2) == 0
		return "settings", func(c *campaign.Campaign, _ campaign.Store) error {
			_, err := c.ChangeSettings(h.t.Context(), ada, campaign.Settings{Latest: latest})
			return err
		}
	}
	unit := h.unit
	return "ask", func(c *campaign.Campaign, store campaign.Store) error {
		handOut(h.t, store, c, func(row int64) float64 { return unit * float64(1+row%7) }, undone,
			2*undone, 24+undone, 30+undone)
		return nil
	}
}

// otherUnit corrects most labels to another unit.
func (h *history) otherUnit() func(*campaign.Campaign, campaign.Store) error {
	h.unit = []float64{1, 1000}[h.draw.IntN(2)]
	var list []campaign.Entry
	for i := range 60 {
		if h.draw.IntN(8) > 0 {
			v := h.unit * float64(1+i%7)
			list = append(list, campaign.Entry{ID: fmt.Sprintf("r%03d", i), Values: []float64{v, v + h.unit}})
		}
	}
	return func(c *campaign.Campaign, _ campaign.Store) error {
		_, err := c.Correct(h.t.Context(), ada, campaign.Tell{Entries: list, Partial: true})
		return err
	}
}
