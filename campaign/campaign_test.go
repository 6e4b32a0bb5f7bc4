package campaign_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/sqlite"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// clock is a clock that tests move.
type clock struct{ now time.Time }

func newClock() *clock                { return &clock{time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)} }
func (c *clock) Now() time.Time       { return c.now }
func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

// pool returns n rows with ids from the given number on, two numbers and a category.
func pool(first, n int) *dataset.Table {
	draw := rng.New(uint64(first), "pool")
	ids, x, z := dataset.NewText("name"), dataset.NewNumeric("x"), dataset.NewNumeric("z")
	kind := dataset.NewCategorical("kind")
	for i := range n {
		ids.Append(fmt.Appendf(nil, "r%03d", first+i))
		x.Append(draw.NormFloat64())
		z.Append(float64(draw.IntN(5)))
		kind.Append(kind.AddLevel([]string{"acid", "base"}[draw.IntN(2)]))
	}
	kind.SortLevels()
	return mustTable(ids, x, z, kind)
}

func mustTable(columns ...dataset.Column) *dataset.Table {
	t, err := dataset.NewTable(columns...)
	if err != nil {
		panic(err)
	}
	return t
}

// tiny is a network that trains in milliseconds.
func tiny() network.Config {
	return network.Config{Architecture: network.Architecture{Hidden: []int{8}}, Training: network.Training{Epochs: 3}}
}

var ada = campaign.By{Person: "ada"}

func begin(t *testing.T, n int, settings campaign.Settings) (*campaign.Campaign, *clock) {
	t.Helper()
	now := newClock()
	settings.Network = tiny()
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
		Table: pool(0, n), IDColumn: "name", Targets: []string{"y"}, Settings: settings, By: ada, Clock: now.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, now
}

func entries(pairs ...any) (list []campaign.Entry) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, campaign.Entry{Line: i / 2, ID: pairs[i].(string), Values: []float64{pairs[i+1].(float64)}})
	}
	return list
}

func tell(t *testing.T, c *campaign.Campaign, pairs ...any) campaign.ToldRows {
	t.Helper()
	told, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: entries(pairs...)})
	if err != nil {
		t.Fatal(err)
	}
	return told
}

func ask(t *testing.T, c *campaign.Campaign, a campaign.Ask) *campaign.Batch {
	t.Helper()
	batch, err := c.Ask(t.Context(), ada, a)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func ids(b *campaign.Batch) (list []string) {
	for _, r := range b.Rows {
		list = append(list, r.ID)
	}
	return list
}

func state(t *testing.T, c *campaign.Campaign) *campaign.State {
	t.Helper()
	s, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantCounts(t *testing.T, c *campaign.Campaign, open, asked, labelled, failed, retired int64) {
	t.Helper()
	want := campaign.Counts{Rows: open + asked + labelled + failed + retired, Open: open, Asked: asked, Labelled: labelled,
		Failed: failed, Retired: retired}
	if got := state(t, c).Counts(); got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
}

func TestAskAndTellOverWeeks(t *testing.T) {
	c, now := begin(t, 40, campaign.Settings{})
	first := ask(t, c, campaign.Ask{Rows: 8})
	if len(first.Rows) != 8 || first.Rows[0].Predictions != nil ||
		!strings.Contains(strings.Join(first.Result.Warnings, " "), "too few to train") {
		t.Errorf("the first batch is %+v", first)
	}
	wantCounts(t, c, 32, 8, 0, 0, 0)
	second := ask(t, c, campaign.Ask{Rows: 8, Lease: time.Hour})
	for _, id := range ids(second) {
		if slices.Contains(ids(first), id) {
			t.Errorf("row %q was handed out twice", id)
		}
	}
	now.pass(2 * time.Hour)
	wantCounts(t, c, 32, 8, 0, 0, 0)
	tell(t, c, ids(first)[0], 1.5, ids(first)[1], -0.5, ids(second)[0], 0.25, ids(second)[1], 3.0)
	wantCounts(t, c, 30, 6, 4, 0, 0)
	third := ask(t, c, campaign.Ask{Rows: 8})
	if third.Kept || third.Trained != 4 || len(third.Rows[0].Predictions) != 1 || third.Model == "" {
		t.Errorf("the third batch is %+v", third)
	}
	audits := 0
	for _, b := range []*campaign.Batch{first, second, third} {
		for _, r := range b.Rows {
			if r.Audit {
				audits++
			}
		}
	}
	if audits != 3 {
		t.Errorf("%d of 24 rows are audit rows", audits)
	}
	if fourth := ask(t, c, campaign.Ask{Rows: 2}); !fourth.Kept {
		t.Error("a network was trained although no label is new")
	}
	now.pass(8 * 24 * time.Hour)
	wantCounts(t, c, 36, 0, 4, 0, 0)
	p, err := c.Predict(t.Context(), campaign.Ask{})
	if err != nil || len(p.Rows) != 36 || len(p.Predictions[0]) != 1 || !p.Kept || p.Trained != 4 {
		t.Errorf("predictions are %+v, %v", p, err)
	}
	tell(t, c, ids(third)[0], 9.0) // late
	outcomes := state(t, c).Outcomes()
	if len(outcomes) != 5 || outcomes[4].ID != ids(third)[0] || outcomes[4].Ask != 3 || outcomes[4].Label[0] != 9 ||
		outcomes[4].Predictions[0] != third.Rows[0].Predictions[0] {
		t.Errorf("outcomes are %+v", outcomes)
	}
}

func TestRepeatedRequests(t *testing.T) {
	c, _ := begin(t, 30, campaign.Settings{})
	by := campaign.By{Person: "bob", Request: "r1"}
	first, err := c.Ask(t.Context(), by, campaign.Ask{Rows: 3})
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Ask(t.Context(), by, campaign.Ask{Rows: 3})
	if err != nil || !again.Repeated || again.Seq != first.Seq || !slices.Equal(ids(again), ids(first)) ||
		!slices.Equal(again.Result.IDs, first.Result.IDs) {
		t.Errorf("the repeated ask gave %+v, %v; the first %+v", again, err, first)
	}
	wantCounts(t, c, 27, 3, 0, 0, 0)
	if _, err := c.Tell(t.Context(), by, campaign.Tell{Entries: entries("r001", 1.0)}); err == nil ||
		!strings.Contains(err.Error(), "another purpose") {
		t.Errorf("the same id for another purpose: %v", err)
	}
	for _, repeated := range []bool{false, true} {
		told, err := c.Tell(t.Context(), campaign.By{Request: "r2"},
			campaign.Tell{Entries: entries("r001", 1.0), Again: true})
		if err != nil || told.Repeated != repeated {
			t.Errorf("telling: %+v, %v", told, err)
		}
	}
	if m := state(t, c).Measurements(1); len(m) != 1 {
		t.Errorf("the row has the measurements %v", m)
	}
}

// A request id stands for one call of one person: anything else is refused and changes nothing.
func TestRequestsThatStandForSomethingElse(t *testing.T) {
	store := &storetest.Memory{}
	start := func(by campaign.By, rows int) (*campaign.Campaign, error) {
		return campaign.New(t.Context(), store, "c", campaign.Start{Table: pool(0, rows), IDColumn: "name",
			Targets: []string{"y"}, By: by})
	}
	by, other := campaign.By{Person: "bob", Request: "r"}, campaign.By{Person: "eve", Request: "r"}
	c, err := start(by, 30)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := start(by, 30); err != nil || again.Name() != "c" {
		t.Errorf("the campaign again: %v", err)
	}
	if _, err := start(campaign.By{Person: "bob"}, 30); !errors.Is(err, campaign.ErrExists) {
		t.Errorf("the campaign again, without an id: %v", err)
	}
	on := func(request string) campaign.By { return campaign.By{Person: "bob", Request: request} }
	share := 0.5
	calls := map[string][]func(campaign.By) error{ // the first is made and repeated, the others are refused
		"r": {
			func(by campaign.By) error { _, err := start(by, 30); return err },
			func(by campaign.By) error { _, err := start(by, 29); return err },
		},
		"tell": {
			func(by campaign.By) error {
				_, err := c.Tell(t.Context(), by, campaign.Tell{Entries: entries("r001", 1.0)})
				return err
			},
			func(by campaign.By) error {
				_, err := c.Tell(t.Context(), by, campaign.Tell{Entries: entries("r001", 2.0)})
				return err
			},
			func(by campaign.By) error {
				_, err := c.Tell(t.Context(), by, campaign.Tell{Entries: entries("r002", 1.0)})
				return err
			},
			func(by campaign.By) error {
				_, err := c.Tell(t.Context(), by, campaign.Tell{Entries: entries("r001", 1.0), Again: true})
				return err
			},
			func(by campaign.By) error { _, err := c.Undo(t.Context(), by, 2, ""); return err },
		},
		"ask": {
			func(by campaign.By) error { _, err := c.Ask(t.Context(), by, campaign.Ask{Rows: 3}); return err },
			func(by campaign.By) error { _, err := c.Ask(t.Context(), by, campaign.Ask{Rows: 4}); return err },
			func(by campaign.By) error {
				_, err := c.Ask(t.Context(), by, campaign.Ask{Rows: 3, Audit: &share})
				return err
			},
			func(by campaign.By) error {
				_, err := c.Ask(t.Context(), by, campaign.Ask{Rows: 3, Exclude: []string{"r005"}})
				return err
			},
			func(by campaign.By) error { return c.CheckRequest(t.Context(), by, campaign.Ask{Rows: 4}) },
		},
		"retire": {
			func(by campaign.By) error { _, err := c.Retire(t.Context(), by, []string{"r020"}, ""); return err },
			func(by campaign.By) error { _, err := c.Retire(t.Context(), by, []string{"r021"}, ""); return err },
			func(by campaign.By) error { _, err := c.Retire(t.Context(), by, []string{"r020"}, "lost"); return err },
		},
		"add": {
			func(by campaign.By) error { _, err := c.Add(t.Context(), by, pool(100, 3)); return err },
			func(by campaign.By) error { _, err := c.Add(t.Context(), by, pool(200, 3)); return err },
		},
		"settings": {
			func(by campaign.By) error {
				_, err := c.ChangeSettings(t.Context(), by, campaign.Settings{Batch: 5})
				return err
			},
			func(by campaign.By) error {
				_, err := c.ChangeSettings(t.Context(), by, campaign.Settings{Batch: 6})
				return err
			},
		},
	}
	for request, list := range calls {
		if err := list[0](on(request)); err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		before := state(t, c).Seq
		if err := list[0](on(request)); err != nil {
			t.Errorf("%s: repeated: %v", request, err)
		}
		for i, call := range list {
			who := on(request)
			if i == 0 {
				who.Person = other.Person
			}
			if wrong := (*campaign.RequestError)(nil); !errors.As(call(who), &wrong) {
				t.Errorf("%s: call %d by %s: %v", request, i, who.Person, call(who))
			}
		}
		if after := state(t, c).Seq; after != before {
			t.Errorf("%s: there are %d events, before %d", request, after, before)
		}
	}
	if then, err := c.Beginning(t.Context()); err != nil || then.Seq != 2 || then.Counts().Open != 30 {
		t.Errorf("the beginning: %+v %v", then, err)
	}
}

// Events of earlier versions have no digest: repeating their request returns them.
func TestRequestsOfEarlierVersions(t *testing.T) {
	store := &storetest.Memory{}
	first, err := campaign.New(t.Context(), store, "c", campaign.Start{Table: pool(0, 5), IDColumn: "name",
		Targets: []string{"y"}})
	if err != nil {
		t.Fatal(err)
	}
	by := campaign.By{Person: "bob", Request: "old"}
	label := campaign.Label{RowRef: campaign.RowRef{Row: 1, ID: "r001"}, Values: []fitted.Float{1}}
	old := campaign.Event{Seq: 3, Time: time.Now().UTC(), Person: by.Person, Request: by.Request,
		Told: &campaign.Told{Labels: []campaign.Label{label}}}
	if err := store.Append(t.Context(), "c", 2, []campaign.Event{old}, nil); err != nil {
		t.Fatal(err)
	}
	if told, err := first.Tell(t.Context(), by, campaign.Tell{Entries: entries("r001", 1.0)}); err != nil ||
		!told.Repeated || told.Seq != 3 {
		t.Errorf("%+v %v", told, err)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../x", "x/..", "a/./b", `..\x`, "/a", "a/", "a//b", "a\x00b", "a\nb",
		"\u0085", strings.Repeat("ä", 101), "\xff"} {
		if wrong := (*campaign.NameError)(nil); !errors.As(campaign.CheckName(name), &wrong) {
			t.Errorf("%q is taken", name)
		}
	}
	for _, name := range []string{"a", "...", ".a", "..a", "a/b", "a/..b/...", strings.Repeat("ä", 100)} {
		if err := campaign.CheckName(name); err != nil {
			t.Error(err)
		}
	}
}

func TestTellingTwiceChangesNothing(t *testing.T) {
	c, _ := begin(t, 5, campaign.Settings{})
	tell(t, c, "r001", 1.0, "r002", 2.0)
	if told := tell(t, c, "r001", 1.0, "r002", 2.0); told.Seq != 0 || told.Known != 2 {
		t.Errorf("telling the same again changed %+v", told)
	}
	if told := tell(t, c, "r001", 1.0, "r002", 2.0, "r003", 3.0, "r001", 2.0); told.Seq == 0 ||
		told.Known != 2 || len(told.Rows) != 2 {
		t.Errorf("telling more changed %+v", told)
	}
	if told := tell(t, c, "r003", 3.0, "r003", 3.0); told.Seq != 0 || told.Known != 2 {
		t.Errorf("a known measurement twice in a list changed %+v", told)
	}
	if told, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: entries("r003", 3.0), Again: true}); err != nil ||
		len(told.Rows) != 1 {
		t.Errorf("a further measurement of the same value: %+v, %v", told, err)
	}
	s := state(t, c)
	if got := s.Label(1)[0]; got != 1.5 {
		t.Errorf("the label is %v, want the mean 1.5", got)
	}
	if noise := s.Noise()[0]; noise.Freedom != 2 || math.Abs(float64(noise.Deviation)-0.5) > 1e-15 {
		t.Errorf("the noise is %+v, want sqrt(0.5/2) with 2 degrees of freedom", noise)
	}
	set := s.Settings
	set.Latest = true
	if _, err := c.ChangeSettings(t.Context(), ada, set); err != nil {
		t.Fatal(err)
	}
	if got := state(t, c).Label(1)[0]; got != 2 {
		t.Errorf("the label is %v, want the latest 2", got)
	}
}

func TestWrongLinesAreAllNamed(t *testing.T) {
	c, _ := begin(t, 10, campaign.Settings{})
	if _, err := c.Retire(t.Context(), ada, []string{"r009"}, "lost"); err != nil {
		t.Fatal(err)
	}
	table := mustTable(
		dataset.NewText("name", "r001", "nobody", "r002", "r003", "r004", "r009", "r005", "r006"),
		dataset.NewText("y", "1.5", "1", "abc", "NaN", "-Inf", "1", "", "7"),
		dataset.NewText("campaign", "", "", "", "", "", "", "", "another"),
	)
	list, _, err := c.Entries(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	before := state(t, c).Seq
	_, err = c.Tell(t.Context(), ada, campaign.Tell{Entries: list})
	wrong := (*campaign.TellError)(nil)
	if !errors.As(err, &wrong) || len(wrong.Faults) != 6 {
		t.Fatalf("the error is %v", err)
	}
	for i, line := range []int{1, 2, 3, 4, 5, 7} {
		if wrong.Faults[i].Line != line {
			t.Errorf("fault %d is %+v, want line %d", i, wrong.Faults[i], line)
		}
	}
	if after := state(t, c).Seq; after != before {
		t.Errorf("the refused file added events %d to %d", before+1, after)
	}
	told, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: list, Partial: true})
	if err != nil || len(told.Rows) != 1 || len(told.Faults) != 6 {
		t.Errorf("partly: %+v, %v", told, err)
	}
	foreign, _, err := c.Entries(t.Context(), mustTable(dataset.NewText("name", "r002"), dataset.NewText("y", "1"),
		dataset.NewNumeric("x", 99)))
	if err != nil || len(foreign) != 1 || !strings.Contains(foreign[0].Fault, `column "x" has "99"`) {
		t.Errorf("a line with other inputs: %+v, %v", foreign, err)
	}
}

func TestFailReturnRetireCorrect(t *testing.T) {
	c, _ := begin(t, 20, campaign.Settings{})
	batch := ids(ask(t, c, campaign.Ask{Rows: 5}))
	must := func(changed campaign.Changed, err error) {
		t.Helper()
		if err != nil || changed.Seq == 0 {
			t.Fatalf("%+v, %v", changed, err)
		}
	}
	must(c.Fail(t.Context(), ada, batch[:1], "broke", false))
	must(c.Fail(t.Context(), ada, batch[1:2], "spilt", true))
	must(c.Return(t.Context(), ada, batch[2:3], "no time"))
	must(c.Retire(t.Context(), ada, batch[3:4], "lost"))
	wantCounts(t, c, 17, 1, 0, 1, 1)
	tell(t, c, batch[0], 1.0) // it worked after all
	wantCounts(t, c, 17, 1, 1, 0, 1)
	if got, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: entries(batch[0], 2.0)}); err != nil ||
		got.Seq == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got := state(t, c).Measurements(state(t, c).With(campaign.StatusLabelled)[0].Row); len(got) != 1 ||
		got[0].Values[0] != 2 {
		t.Errorf("after the correction the measurements are %v", got)
	}
	for what, call := range map[string]func() error{
		"correct an open row": func() error {
			_, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: entries(batch[2], 1.0)})
			return err
		},
		"fail a labelled row":   func() error { _, err := c.Fail(t.Context(), ada, batch[:1], "", false); return err },
		"return a labelled row": func() error { _, err := c.Return(t.Context(), ada, batch[:1], ""); return err },
		"retire nobody":         func() error { _, err := c.Retire(t.Context(), ada, []string{"nobody"}, ""); return err },
	} {
		if wrong := (*campaign.TellError)(nil); !errors.As(call(), &wrong) {
			t.Errorf("%s: %v", what, call())
		}
	}
}

func TestUndo(t *testing.T) {
	c, _ := begin(t, 20, campaign.Settings{})
	batch := ask(t, c, campaign.Ask{Rows: 4})
	told := tell(t, c, ids(batch)[0], 1.0)
	undo := func(seq int64) (campaign.Changed, error) { return c.Undo(t.Context(), ada, seq, "a mistake") }
	first, err := undo(told.Seq)
	if err != nil {
		t.Fatal(err)
	}
	wantCounts(t, c, 16, 4, 0, 0, 0)
	if _, err := undo(first.Seq); err != nil { // the label is back
		t.Fatal(err)
	}
	wantCounts(t, c, 16, 3, 1, 0, 0)
	if _, err := c.Return(t.Context(), ada, ids(batch)[1:2], ""); err != nil {
		t.Fatal(err)
	}
	for seq, want := range map[int64]string{1: "created", 2: "depends on it", batch.Seq: "depends on it",
		99: "the log has the events", first.Seq: "already"} {
		if _, err := undo(seq); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("undoing event %d: %v, want %q", seq, err, want)
		}
	}
}

func TestRowsComeAndGo(t *testing.T) {
	c, _ := begin(t, 10, campaign.Settings{})
	more := pool(10, 5)
	kind := dataset.NewCategorical("kind")
	for i := range 5 {
		kind.Append(kind.AddLevel([]string{"acid", "salt"}[i%2]))
	}
	columns := more.Columns()
	added, err := c.Add(t.Context(), ada, mustTable(kind, columns[2], columns[0], columns[1],
		dataset.NewNumeric("y", math.NaN(), 4, math.NaN(), math.NaN(), math.NaN())))
	if err != nil || added.Rows != 5 || added.Labelled != 1 || !slices.Equal(added.NewLevels["kind"], []string{"salt"}) {
		t.Fatalf("added %+v, %v", added, err)
	}
	wantCounts(t, c, 14, 0, 1, 0, 0)
	if _, err := c.Add(t.Context(), ada, pool(8, 5)); err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("ids that exist: %v", err)
	}
	if _, err := c.Add(t.Context(), ada, mustTable(columns[0], columns[1],
		dataset.NewNumeric("w", 1, 2, 3, 4, 5))); err == nil || !strings.Contains(err.Error(), `"z"`) ||
		!strings.Contains(err.Error(), `"w"`) {
		t.Errorf("other columns: %v", err)
	}
	if _, err := c.Add(t.Context(), ada, pool(20, 5)); err != nil {
		t.Fatal(err)
	}
	last := state(t, c).Seq
	undone, err := c.Undo(t.Context(), ada, last, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Add(t.Context(), ada, pool(22, 5)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Undo(t.Context(), ada, undone.Seq, ""); err == nil ||
		!strings.Contains(err.Error(), "id was added since") {
		t.Errorf("rows with ids that exist came back: %v", err)
	}
	batch := ask(t, c, campaign.Ask{Rows: 19, Audit: new(0.0)})
	table, err := c.Inputs(t.Context(), []campaign.RowRef{{Row: 10, ID: "r010"}, {Row: 24, ID: "r026"}})
	if err != nil || table.Columns()[0].Format(0) != "r010" || table.Columns()[0].Format(1) != "r026" {
		t.Errorf("inputs are %v, %v", table, err)
	}
	if len(batch.Rows) != 19 {
		t.Errorf("the batch has %d rows", len(batch.Rows))
	}
	if _, err := c.Ask(t.Context(), ada, campaign.Ask{Rows: 1}); !errors.Is(err, campaign.ErrNothingOpen) {
		t.Errorf("an ask with nothing open: %v", err)
	}
}

// TestAskEqualsSelect compares an ask with a selection on the same rows.
func TestAskEqualsSelect(t *testing.T) {
	for _, method := range []string{"", "lcmd-tp:grad>sketch(8)", "maxdet-p:ll>train", "random", "kmeanspp-p:linear"} {
		c, _ := begin(t, 60, campaign.Settings{Spec: method, Audit: new(0.0)})
		columns := pool(0, 60).Columns()
		y := dataset.NewNumeric("y")
		for i := range 60 {
			if i%4 == 0 {
				y.Append(float64(i * i % 17))
				tell(t, c, fmt.Sprintf("r%03d", i), float64(i*i%17))
			} else {
				y.Append(math.NaN())
			}
		}
		out := ask(t, c, campaign.Ask{Rows: 5})
		got := ask(t, c, campaign.Ask{Rows: 6})
		r := nextbatch.Request{
			Input: tables.Input{Table: mustTable(append(slices.Clone(columns), y)...),
				TargetColumns: []string{"y"}, IDColumn: "name"},
			Ask: limits.Ask{Batch: 6, Pending: ids(out)}, Options: fitted.Options{Choices: fitted.Choices{Seed: got.Seed,
				Network: tiny()}}, KernelSeed: new(uint64),
		}
		if method != "" {
			r.Spec = spec.MustParse(method)
		}
		plan, err := r.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, err := plan.Select(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(ids(got), want.IDs) {
			t.Errorf("%q: asked for %v, selected %v", method, ids(got), want.IDs)
		}
		if got.Rows[0].Predictions == nil {
			t.Errorf("%q: no predictions", method)
		}
	}
}

func TestWithoutIDs(t *testing.T) {
	now := newClock()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "c.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	columns := pool(0, 12).Columns()[1:]
	start := campaign.Start{Table: mustTable(columns...), Targets: []string{"y"},
		Settings: campaign.Settings{Choices: fitted.Choices{Network: tiny()}}, Clock: now.Now}
	if _, err := campaign.New(context.Background(), store, "c", start); err != nil {
		t.Fatal(err)
	}
	if _, err := campaign.New(context.Background(), store, "c", start); !errors.Is(err, campaign.ErrExists) {
		t.Errorf("a second campaign: %v", err)
	}
	c, err := campaign.Open(t.Context(), store, "")
	if err != nil {
		t.Fatal(err)
	}
	tell(t, c, "0", 1.0, "11", 2.0, "7", 5.0)
	if _, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: entries("12", 1.0)}); err == nil {
		t.Error("row 12 of 12 was told")
	}
	batch := ask(t, c, campaign.Ask{Rows: 4})
	for _, r := range batch.Rows {
		if fmt.Sprint(r.Row) != r.ID {
			t.Errorf("row %d has the id %q", r.Row, r.ID)
		}
	}
	if _, err := c.Add(t.Context(), ada, mustTable(columns...)); err != nil {
		t.Fatal(err)
	}
	wantCounts(t, c, 17, 4, 3, 0, 0)
}

func TestSeveralTargets(t *testing.T) {
	now := newClock()
	columns := append(slices.Clone(pool(0, 30).Columns()), dataset.NewNumeric("y1", func() (list []float64) {
		for i := range 30 {
			list = append(list, []float64{math.NaN(), float64(i)}[i%2])
		}
		return list
	}()...))
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
		Table: mustTable(columns...), IDColumn: "name", Targets: []string{"y1", "y2"}, Clock: now.Now,
		Settings: campaign.Settings{Choices: fitted.Choices{Network: tiny()},
			Columns: tables.Columns{Weights: []float64{1, 2}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantCounts(t, c, 15, 0, 15, 0, 0)
	told := func(values ...float64) campaign.ToldRows {
		t.Helper()
		list := []campaign.Entry{{ID: "r001", Values: values}, {ID: "r002", Values: values}}
		result, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: list})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	told(1, 5) // the first row has its 1 already
	if s := state(t, c); len(s.Measurements(1)) != 2 || !math.IsNaN(s.Measurements(1)[1].Values[0]) ||
		!slices.Equal(s.Label(1), []float64{1, 5}) {
		t.Errorf("the measurements are %v, the label %v", s.Measurements(1), s.Label(1))
	}
	if again := told(1, 5); again.Seq != 0 || again.Known != 4 {
		t.Errorf("telling the same again changed %+v", again)
	}
	if _,
		err := c.Correct(t.Context(), ada,
		campaign.Tell{Entries: []campaign.Entry{{ID: "r002", Values: []float64{math.NaN(), 7}}}}); err != nil {
		t.Fatal(err)
	}
	if got := state(t, c).Label(2); !slices.Equal(got, []float64{1, 7}) {
		t.Errorf("after the correction of one target the label is %v", got)
	}
	batch := ask(t, c, campaign.Ask{Rows: 4})
	if len(batch.Rows[0].Predictions) != 2 || len(batch.Result.Targets) != 2 {
		t.Errorf("the batch is %+v", batch.Asked)
	}
	if next := ask(t, c, campaign.Ask{Rows: 4}); !next.Kept {
		t.Error("a network was trained although no label is new")
	}
	if p, err := c.Predict(t.Context(), campaign.Ask{}); err != nil || len(p.Predictions[0]) != 2 {
		t.Errorf("predictions are %+v, %v", p, err)
	}
	if _, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: entries("r003", 1.0)}); err == nil {
		t.Error("one value for two targets was told")
	}
}

// TestNumbersOutOfRange refuses labels and inputs that no network can be trained with, however
// they come, and takes labels that are only far from the others.
func TestNumbersOutOfRange(t *testing.T) {
	c, _ := begin(t, 40, campaign.Settings{Audit: new(0.0)})
	for i := range 20 {
		tell(t, c, fmt.Sprintf("r%03d", i), float64(i%7))
	}
	before := state(t, c)
	refused := func(what string, err error, words ...string) {
		t.Helper()
		for _, word := range words {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: the error is %v, without %q", what, err, word)
			}
		}
		if now := state(t, c); now.Seq != before.Seq {
			t.Errorf("%s: the log has grown", what)
		}
	}
	withLabels := func(first int, label, input float64) *dataset.Table {
		columns := pool(first, 1).Columns()
		x, y := dataset.NewNumeric("x"), dataset.NewNumeric("y")
		x.Append(input)
		y.Append(label)
		return mustTable(columns[0], x, columns[2], columns[3], y)
	}
	for _, v := range []float64{1e300, -1e200, math.Inf(1)} {
		_, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: entries("r030", v)})
		refused("tell", err, "r030", "label")
		_, err = c.Correct(t.Context(), ada, campaign.Tell{Entries: entries("r003", v)})
		refused("correct", err, "r003", "label")
		_, err = c.Add(t.Context(), ada, withLabels(100, v, 1))
		refused("add", err, "r100", `"y"`)
		_, err = campaign.New(t.Context(), &storetest.Memory{}, "d",
			campaign.Start{Table: withLabels(100, v, 1), IDColumn: "name", Targets: []string{"y"}})
		refused("new", err, "r100", `"y"`)
		_, err = c.Add(t.Context(), ada, withLabels(100, 1, v))
		refused("add an input", err, `column "x"`, "row 0")
		list, _, err := c.Entries(t.Context(), withLabels(30, v, 1))
		if err != nil || len(list) != 1 || list[0].Fault == "" {
			t.Errorf("entries are %+v, %v", list, err)
		}
	}
	// Whether this row is one of the validation rows or not, a network can be trained.
	for i, v := range []float64{1e149, -1e100, 1e39, 1e30} {
		tell(t, c, fmt.Sprintf("r%03d", 20+i), v)
		ask(t, c, campaign.Ask{Rows: 1})
		for _, seed := range []uint64{1, 2, 3} {
			settings := before.Settings
			settings.Network.Seed = seed
			if _, err := c.ChangeSettings(t.Context(), ada, settings); err != nil {
				t.Fatal(err)
			}
			ask(t, c, campaign.Ask{Rows: 1})
		}
	}
}

// TestKeptNetworkWithoutFailedRows asks again after rows have failed or were retired, one of
// which had a level and a value that no other row has: as no label is new, nothing is trained.
func TestKeptNetworkWithoutFailedRows(t *testing.T) {
	columns := pool(0, 40).Columns()
	x, kind, rare := dataset.NewNumeric("x"), dataset.NewCategorical("kind"), dataset.NewNumeric("rare")
	for row := range 40 {
		v, level, only := columns[1].(*dataset.Numeric).Float(row), columns[3].Format(row), 0.0
		switch row {
		case 30:
			v, level = 1e6, "salt"
		case 31:
			only = 1
		}
		x.Append(v)
		kind.Append(kind.AddLevel(level))
		rare.Append(only)
	}
	kind.SortLevels()
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
		Table: mustTable(columns[0], x, kind, rare), IDColumn: "name", Targets: []string{"y"},
		Settings: campaign.Settings{Choices: fitted.Choices{Network: tiny()}, Audit: new(0.0)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		tell(t, c, fmt.Sprintf("r%03d", i), float64(i%5))
	}
	first, err := c.Predict(t.Context(), campaign.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	predicted := map[string]fitted.Float{}
	for i, ref := range first.Rows {
		predicted[ref.ID] = first.Predictions[i][0].Value
	}
	if _, err := c.Fail(t.Context(), ada, []string{"r030"}, "broke", false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Retire(t.Context(), ada, []string{"r031", "r032"}, ""); err != nil {
		t.Fatal(err)
	}
	batch := ask(t, c, campaign.Ask{Rows: 4})
	if !batch.Kept || batch.Model != first.Model {
		t.Errorf("a network was trained although no label is new")
	}
	for _, r := range batch.Rows {
		if got, want := r.Predictions[0].Value, predicted[r.ID]; got != want {
			t.Errorf("row %s is predicted to be %v, and was before rows failed to be %v", r.ID, got, want)
		}
	}
	// A labelled row that is retired is a label less: the next network has not learnt from it.
	if _, err := c.Retire(t.Context(), ada, []string{"r003"}, ""); err != nil {
		t.Fatal(err)
	}
	if batch := ask(t, c, campaign.Ask{Rows: 2}); batch.Kept || batch.Trained != 11 {
		t.Errorf("after a labelled row was retired: kept %v, with %d labels", batch.Kept, batch.Trained)
	}
}

// An ask that is stopped while it trains resumes where it stopped: no epoch is repeated, and the batch is
// the one that it would have been.
func TestStoppedAskGoesOn(t *testing.T) {
	store := &storetest.Memory{}
	labelled := func() *campaign.Campaign {
		store = &storetest.Memory{}
		c, err := campaign.New(t.Context(), store, "c", campaign.Start{Table: pool(0, 60), IDColumn: "name",
			Targets: []string{"y"}, Settings: campaign.Settings{Choices: fitted.Choices{Network: tiny()}}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			tell(t, c, fmt.Sprintf("r%03d", i), float64(i%5))
		}
		return c
	}
	var want, got []network.Epoch
	record := func(list *[]network.Epoch) func(network.Epoch) {
		return func(e network.Epoch) { e.ValidRMSE = 0; *list = append(*list, e) }
	}
	whole := ask(t, labelled(), campaign.Ask{Rows: 5, Epoch: record(&want)})

	c := labelled()
	for stops := 3; len(got) < len(want)*stops/4; {
		ctx, cancel := context.WithCancel(t.Context())
		most := len(got) + len(want)/4
		_, err := c.Ask(ctx, campaign.By{Person: "ada", Request: "one"}, campaign.Ask{Rows: 5, Epoch: func(e network.Epoch) {
			if record(&got)(e); len(got) >= most {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if state, err := store.Blob(t.Context(), "c", "training"); err != nil || len(state) == 0 {
		t.Errorf("%d bytes of the training are kept, %v", len(state), err)
	}
	batch, err := c.Ask(t.Context(), campaign.By{Person: "ada", Request: "one"},
		campaign.Ask{Rows: 5, Epoch: record(&got)})
	if err != nil || !slices.Equal(ids(batch), ids(whole)) {
		t.Errorf("the batch is %v, not %v: %v", batch, whole, err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d epochs, want %d", len(got), len(want))
	}
	if state, err := store.Blob(t.Context(), "c", "training"); err != nil || len(state) != 0 {
		t.Errorf("%d bytes are left of the training, %v", len(state), err)
	}
}

// TestSpreadsheetsRoundNumbers: inputs and labels with fewer digits than the campaign has are the same.
func TestSpreadsheetsRoundNumbers(t *testing.T) {
	start := campaign.Start{Table: mustTable(dataset.NewText("name", "a", "b"),
		dataset.NewNumeric("x", 0.03469491615541852, 1), dataset.NewNumeric("y", 1.0/30, 2)),
		IDColumn: "name", Targets: []string{"y"}, By: ada}
	start.Settings.Network = tiny()
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", start)
	if err != nil {
		t.Fatal(err)
	}
	for x, known := range map[string]int{"0.0346949161554185": 1, "0.0346949162": 1, "0.034694916": 1, "0.0346949": 0} {
		list, _, err := c.Entries(t.Context(), mustTable(dataset.NewText("name", "a"), dataset.NewText("x", x),
			dataset.NewText("y", "0.033333333"))) // a CSV file of Excel
		if err != nil {
			t.Fatal(err)
		}
		told, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: list, Partial: true})
		if err != nil || told.Known != known || len(told.Rows) != 0 || len(told.Faults) != 1-known {
			t.Errorf("%s: %+v, %v", x, told, err)
		}
	}
	if told := tell(t, c, "a", 0.033333); told.Known != 0 || len(told.Rows) != 1 {
		t.Errorf("another label: %+v", told)
	}
}
