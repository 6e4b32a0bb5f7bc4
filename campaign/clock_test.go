package campaign_test

import (
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/fitted"
)

// jumped is a campaign whose clock the test sets.
func jumped(t *testing.T) (*campaign.Campaign, *clock, campaign.Store) {
	t.Helper()
	now, store := newClock(), &storetest.Memory{}
	c, err := campaign.New(t.Context(), store, "c", campaign.Start{
		Table: pool(0, 40), IDColumn: "name", Targets: []string{"y"}, By: ada, Clock: now.Now,
		Settings: campaign.Settings{Choices: fitted.Choices{Network: tiny()}, Spec: "random"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, now, store
}

// wantOut requires that n rows are out.
func wantOut(t *testing.T, c *campaign.Campaign, when string, want int64) {
	t.Helper()
	if got := state(t, c).Counts().Asked; got != want {
		t.Errorf("%s: %d rows are out, want %d", when, got, want)
	}
}

// wantOrder requires that the times of events are in order and that the log can be read.
func wantOrder(t *testing.T, c *campaign.Campaign, store campaign.Store) {
	t.Helper()
	log, err := c.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(log); i++ {
		if log[i].Time.Before(log[i-1].Time) {
			t.Errorf("event %d is of %v, the one before of %v", log[i].Seq, log[i].Time, log[i-1].Time)
		}
	}
	if _, err := campaign.Open(t.Context(), store, "c"); err != nil {
		t.Error(err)
	}
}

const day = 24 * time.Hour

// A clock that was years ahead for a while costs the leases that were given meanwhile, and
// no others: those of before are there again, and those of later end when they should.
func TestClockWasAhead(t *testing.T) {
	c, now, store := jumped(t)
	ask(t, c, campaign.Ask{Rows: 10, Lease: day})
	now.pass(3650 * day)
	wantOut(t, c, "years ahead", 0)
	taken := map[string]bool{}
	for _, id := range ids(ask(t, c, campaign.Ask{Rows: 5, Lease: day})) {
		taken[id] = true
	}
	now.pass(-3650*day + time.Hour)
	out := state(t, c).With(campaign.StatusAsked)
	kept := 0
	for _, row := range out {
		if !taken[row.ID] {
			kept++
		}
	}
	if kept+len(taken) != len(out) || kept < 5 {
		t.Errorf("%d rows are out, %d of them from before", len(out), kept)
	}
	third := ask(t, c, campaign.Ask{Rows: 4, Lease: day})
	if want := now.Now().Add(day); !third.LeaseEnd.Equal(want) {
		t.Errorf("a lease ends %v, want %v", third.LeaseEnd, want)
	}
	now.pass(day + time.Minute)
	wantOut(t, c, "a day later", int64(len(taken))) // until somebody gives them back
	for id := range taken {
		if _, err := c.Return(t.Context(), ada, []string{id}, "a wrong clock"); err != nil {
			t.Fatal(err)
		}
	}
	wantOut(t, c, "given back", 0)
	tell(t, c, ids(third)[0], 1.5)
	wantOrder(t, c, store)
}

// A clock that is set back makes no lease longer than it was asked for, and events stay in order.
func TestClockWasSetBack(t *testing.T) {
	c, now, store := jumped(t)
	ask(t, c, campaign.Ask{Rows: 4, Lease: 2 * time.Hour})
	now.pass(-5 * time.Hour)
	wantOut(t, c, "set back", 4)
	second := ask(t, c, campaign.Ask{Rows: 4, Lease: time.Hour})
	if want := now.Now().Add(time.Hour); !second.LeaseEnd.Equal(want) {
		t.Errorf("a lease ends %v, want %v", second.LeaseEnd, want)
	}
	wantOut(t, c, "asked again", 8)
	now.pass(time.Hour + time.Minute)
	wantOut(t, c, "an hour later", 4)
	ask(t, c, campaign.Ask{Rows: 36, Lease: time.Hour}) // all that are open
	wantOut(t, c, "all", 40)
	tell(t, c, ids(second)[0], 1.5)
	if _, err := c.Undo(t.Context(), ada, state(t, c).Seq, "a mistake"); err != nil {
		t.Fatal(err)
	}
	wantOrder(t, c, store)
}
