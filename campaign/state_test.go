package campaign_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
)

// describe prints all that a state says about the rows.
func describe(s *campaign.State) string {
	text := fmt.Sprintln(s.Seq, s.Settings.Spec, s.Settings.Latest, s.Counts(), len(s.Asks), s.Noise())
	for _, status := range []campaign.Status{campaign.StatusAsked, campaign.StatusLabelled, campaign.StatusWaiting,
		campaign.StatusFailed, campaign.StatusRetired} {
		text += fmt.Sprintln(status, s.With(status))
	}
	for row := range s.Numbers() {
		text += fmt.Sprintln(row, s.Status(row), s.Failures(row), s.Label(row), s.LeaseEnd(row))
		for _, m := range s.Measurements(row) {
			text += fmt.Sprintln(m.Seq, m.Time, m.Person, m.Values, m.Doubts != nil, m.Replicate, m.Ask, m.Pick != nil)
		}
		for _, h := range s.Out(row) {
			text += fmt.Sprintln("out", h.Ask, h.Person, h.Pick.Number(), h.Pick.Repeat)
		}
	}
	text += fmt.Sprintln(s.Waiting())
	for _, o := range s.Outcomes() {
		text += fmt.Sprintln(o.RowRef, o.Ask, o.Audit, o.Trained, o.Label)
	}
	return text
}

// remembered is states with what they said when they were new.
type remembered struct {
	states []*campaign.State
	said   []string
}

// check requires that a state is the one that the whole log folds to.
func (r *remembered) check(t *testing.T, c *campaign.Campaign) {
	t.Helper()
	s := state(t, c)
	log, err := c.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := campaign.Fold(log, s.Now)
	if err != nil {
		t.Fatal(err)
	}
	said := describe(s)
	if want := describe(plain); said != want {
		t.Errorf("event by event, the state is\n%s, but the log folds to\n%s", said, want)
	}
	r.states, r.said = append(r.states, s), append(r.said, said)
}

// unchanged requires that no state has changed since.
func (r *remembered) unchanged(t *testing.T) {
	t.Helper()
	for i, s := range r.states {
		if now := describe(s); now != r.said[i] {
			t.Errorf("the state after event %d has changed: it was\n%s, and is\n%s", s.Seq, r.said[i], now)
		}
	}
}

// TestStateWhileOthersTell reads states of one handle while its goroutines and those of
// another handle tell labels.
func TestStateWhileOthersTell(t *testing.T) {
	const tellers, each = 4, 25
	store := &storetest.Memory{}
	start := campaign.Start{Table: pool(0, tellers*each), IDColumn: "name", Targets: []string{"y"},
		Settings: campaign.Settings{Choices: fitted.Choices{Network: tiny()}}}
	first, err := campaign.New(t.Context(), store, "c", start)
	if err != nil {
		t.Fatal(err)
	}
	second, err := campaign.Open(t.Context(), store, "c")
	if err != nil {
		t.Fatal(err)
	}
	handles := []*campaign.Campaign{first, second}
	var telling, reading sync.WaitGroup
	done := make(chan struct{})
	for i := range tellers {
		telling.Go(func() {
			for j := range each {
				id := fmt.Sprintf("r%03d", i*each+j)
				by := campaign.By{Person: "ada", Request: id}
				if _, err := handles[i%2].Tell(t.Context(), by, campaign.Tell{Entries: entries(id, float64(j))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		reading.Go(func() {
			var seen int64
			for {
				s, err := first.State(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				counts := s.Counts()
				if counts.Labelled != s.Seq-2 || int64(len(s.With(campaign.StatusLabelled))) != counts.Labelled || s.Seq < seen {
					t.Errorf("after event %d (before, %d) there are %+v", s.Seq, seen, counts)
				}
				seen = s.Seq
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	telling.Wait()
	close(done)
	reading.Wait()
	wantCounts(t, first, 0, 0, tellers*each, 0, 0)
	wantCounts(t, second, 0, 0, tellers*each, 0, 0)
}

// TestTellCostsTheSameInLongLogs compares the memory that a Tell takes at the beginning of
// a campaign and after thousands of others.
func TestTellCostsTheSameInLongLogs(t *testing.T) {
	const rows, part = 6000, 200
	x := dataset.NewNumeric("x")
	ids := dataset.NewText("name")
	for i := range rows {
		x.Append(float64(i))
		ids.Append(fmt.Appendf(nil, "r%03d", i))
	}
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
		Table: mustTable(ids, x), IDColumn: "name", Targets: []string{"y"},
		Settings: campaign.Settings{Choices: fitted.Choices{Network: tiny()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tell(t, c, "r000", 1.0) // reads the ids
	var bytes []uint64
	for first := 0; first < rows; first += part {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := first; i < first+part; i++ {
			tell(t, c, fmt.Sprintf("r%03d", i), 1.0)
		}
		runtime.ReadMemStats(&after)
		bytes = append(bytes, after.TotalAlloc-before.TotalAlloc)
	}
	// The log itself, which grows by doubling, is why some parts take more.
	var early, late uint64
	for i := range 5 {
		early, late = early+bytes[i], late+bytes[len(bytes)-1-i]
	}
	if late > 2*early {
		t.Errorf("%d tells take %d kB at first, and %d kB after %d others", 5*part, early>>10, late>>10, rows-5*part)
	}
	t.Logf("%d tells take %d kB at first, and %d kB after %d others", 5*part, early>>10, late>>10, rows-5*part)
}
