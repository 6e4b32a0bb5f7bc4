package campaign_test

import (
	"context"
	"errors"
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
	"github.com/nextbatch/nextbatch/learner"
)

// watched returns a campaign with enough labels, 0 to 6, for a second look at others.
func watched(t *testing.T, settings campaign.Settings) (*campaign.Campaign, *clock) {
	t.Helper()
	c, now := begin(t, 120, settings)
	for i := range 40 {
		tell(t, c, fmt.Sprintf("r%03d", i), float64(i%7))
	}
	return c, now
}

// waitingIDs returns the rows whose numbers wait, the oldest first.
func waitingIDs(list []campaign.Waiting) (ids []string) {
	for _, w := range list {
		ids = append(ids, w.ID)
	}
	return ids
}

func wantWaiting(t *testing.T, c *campaign.Campaign, ids ...string) {
	t.Helper()
	if got := waitingIDs(state(t, c).Waiting()); !slices.Equal(got, ids) {
		t.Errorf("labels of %q wait, not of %q", got, ids)
	}
}

func confirm(t *testing.T, c *campaign.Campaign, ids ...string) campaign.Changed {
	t.Helper()
	changed, err := c.Confirm(t.Context(), ada, ids, "measured twice")
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func TestLabelsWait(t *testing.T) {
	t.Parallel()
	c, now := watched(t, campaign.Settings{})
	told := tell(t, c, "r050", 3.0, "r051", 30000.0)
	if len(told.Rows) != 2 || !slices.Equal(waitingIDs(told.Waiting), []string{"r051"}) {
		t.Fatalf("%+v", told)
	}
	if w := told.Waiting[0]; w.Target != "y" || w.Value != 30000 || w.Event != told.Seq || w.Person != "ada" ||
		w.Doubt.High < 6 || w.Doubt.High > 1000 {
		t.Errorf("%+v", w)
	}
	now.pass(3 * time.Hour)
	s := state(t, c)
	if counts := s.Counts(); counts.Labelled != 41 || counts.Waiting != 1 || counts.Open != 78 ||
		s.Status(51) != campaign.StatusWaiting {
		t.Errorf("%+v, the row is %s", counts, s.Status(51))
	}
	if label := s.Label(51)[0]; !math.IsNaN(label) || len(s.Measurements(51)) != 1 {
		t.Errorf("the label is %v, of %v", label, s.Measurements(51))
	}
	if w := s.Waiting(); len(w) != 1 || s.Now.Sub(w[0].Since) != 3*time.Hour {
		t.Errorf("%+v", w)
	}
	// The same number again changes nothing, and the answer repeats that it waits.
	if again := tell(t, c, "r051", 30000.0); again.Seq != 0 || again.Known != 1 || len(again.Waiting) != 1 {
		t.Errorf("%+v", again)
	}
	// A row that waits is not asked for, cannot fail, and is not out.
	if batch := ask(t, c, campaign.Ask{Rows: 78}); len(batch.Rows) != 78 || slices.Contains(ids(batch), "r051") {
		t.Errorf("%d rows: %v", len(batch.Rows), ids(batch))
	}
	wrong := (*campaign.TellError)(nil)
	if _, err := c.Fail(t.Context(), ada, []string{"r051"}, "", false); !errors.As(err, &wrong) ||
		!strings.Contains(err.Error(), "second look") {
		t.Errorf("%v", err)
	}
	if _, err := c.Return(t.Context(), ada, []string{"r051"}, ""); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	c, _ := watched(t, campaign.Settings{})
	told := tell(t, c, "r050", -9000.0, "r051", 30000.0)
	confirmed := confirm(t, c, "r051", "r050", "r051")
	if s := state(t, c); len(confirmed.Rows) != 2 || s.Label(51)[0] != 30000 || s.Counts().Labelled != 42 ||
		len(s.Waiting()) != 0 {
		t.Errorf("%+v: %+v", confirmed, s.Counts())
	}
	if again := confirm(t, c, "r051", "r001"); again.Seq != 0 {
		t.Errorf("rows of which nothing waits were confirmed: %+v", again)
	}
	wrong := (*campaign.TellError)(nil)
	if _, err := c.Confirm(t.Context(), ada, []string{"r099", "none"}, ""); !errors.As(err, &wrong) ||
		len(wrong.Faults) != 2 {
		t.Errorf("%v", err)
	}
	depends := (*campaign.UndoError)(nil)
	if _, err := c.Undo(t.Context(), ada, told.Seq, ""); !errors.As(err, &depends) {
		t.Errorf("labels that were confirmed were undone: %v", err)
	}
	for _, seq := range []int64{confirmed.Seq, told.Seq} {
		if _, err := c.Undo(t.Context(), ada, seq, ""); err != nil {
			t.Fatal(err)
		}
		if seq == confirmed.Seq {
			wantWaiting(t, c, "r050", "r051")
		}
	}
	wantWaiting(t, c)
	wantCounts(t, c, 80, 0, 40, 0, 0)
}

// TestConfirmTwice: a request that is made again confirms once, and one that tells again answers as before.
func TestConfirmTwice(t *testing.T) {
	t.Parallel()
	c, _ := watched(t, campaign.Settings{})
	by := func(request string) campaign.By { return campaign.By{Person: "ada", Request: request} }
	for i := range 2 {
		told, err := c.Tell(t.Context(), by("tell"), campaign.Tell{Entries: entries("r050", 5000.0)})
		if err != nil || told.Repeated != (i == 1) || len(told.Waiting) != 1 {
			t.Errorf("%+v, %v", told, err)
		}
	}
	for i := range 2 {
		changed, err := c.Confirm(t.Context(), by("confirm"), []string{"r050"}, "")
		if err != nil || changed.Repeated != (i == 1) || len(changed.Rows) != 1 {
			t.Errorf("%+v, %v", changed, err)
		}
	}
	other := (*campaign.RequestError)(nil)
	if _, err := c.Tell(t.Context(), by("tell"), campaign.Tell{Entries: entries("r050", 5000.0),
		Accept: true}); !errors.As(err, &other) {
		t.Errorf("a request with another option counts as the same: %v", err)
	}
}

func TestCorrectWhatWaits(t *testing.T) {
	t.Parallel()
	c, _ := watched(t, campaign.Settings{})
	tell(t, c, "r051", 30000.0)
	correct := func(value float64, accept bool) campaign.ToldRows {
		told, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: entries("r051", value), Accept: accept})
		if err != nil {
			t.Fatal(err)
		}
		return told
	}
	// A correction gets a second look, too; the number that waits already is known.
	if told := correct(30000, false); told.Seq != 0 || told.Known != 1 || len(told.Waiting) != 1 {
		t.Errorf("%+v", told)
	}
	second := correct(3000, false)
	if len(second.Waiting) != 1 || second.Waiting[0].Value != 3000 || len(state(t, c).Waiting()) != 1 {
		t.Errorf("%+v", second)
	}
	third := correct(3, false)
	if s := state(t, c); len(third.Waiting) != 0 || s.Label(51)[0] != 3 || len(s.Waiting()) != 0 {
		t.Errorf("%+v, the label is %v", third, s.Label(51))
	}
	for _, seq := range []int64{third.Seq, second.Seq} {
		if _, err := c.Undo(t.Context(), ada, seq, ""); err != nil {
			t.Fatal(err)
		}
	}
	if w := state(t, c).Waiting(); len(w) != 1 || w[0].Value != 30000 {
		t.Errorf("%+v", w)
	}
	if told := correct(4000, true); len(told.Waiting) != 0 || state(t, c).Label(51)[0] != 4000 {
		t.Errorf("%+v", told)
	}
}

// TestReplicatesThatWait: of several measurements of a row, those that do not wait are its label.
func TestReplicatesThatWait(t *testing.T) {
	t.Parallel()
	for _, latest := range []bool{false, true} {
		c, _ := watched(t, campaign.Settings{Latest: latest})
		tell(t, c, "r001", 500.0)
		tell(t, c, "r001", 2.0)
		s := state(t, c)
		want := map[bool]float64{false: 1.5, true: 2}[latest] // 1 and 2
		if s.Label(1)[0] != want || s.Status(1) != campaign.StatusLabelled || s.Noise()[0].Freedom != 1 ||
			s.Counts().Waiting != 0 {
			t.Errorf("latest %v: %v, %s, %v", latest, s.Label(1), s.Status(1), s.Noise())
		}
		wantWaiting(t, c, "r001")
		confirm(t, c, "r001")
		if s := state(t, c); s.Noise()[0].Freedom != 2 || !latest && s.Label(1)[0] != 503.0/3 {
			t.Errorf("latest %v: %v, %v", latest, s.Label(1), s.Noise())
		}
	}
}

// TestTargetsWaitAlone: one number of a row waits while the other counts.
func TestTargetsWaitAlone(t *testing.T) {
	t.Parallel()
	y, z := dataset.NewNumeric("a"), dataset.NewNumeric("b")
	for i := range 60 {
		missing := i >= 40
		for _, column := range []*dataset.Numeric{y, z} {
			if missing {
				column.Append(math.NaN())
			} else {
				column.Append(float64(i % 7))
			}
		}
	}
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
		Table: mustTable(append(pool(0, 60).Columns(), y, z)...), IDColumn: "name", Targets: []string{"a", "b"}, By: ada,
	})
	if err != nil {
		t.Fatal(err)
	}
	told,
		err := c.Tell(t.Context(), ada, campaign.Tell{Entries: []campaign.Entry{{ID: "r050", Values: []float64{3, 3000}},
		{ID: "r051", Values: []float64{math.NaN(), -3000}}}})
	if err != nil || len(told.Waiting) != 2 || told.Waiting[0].Target != "b" {
		t.Fatalf("%+v, %v", told, err)
	}
	s := state(t, c)
	if label := s.Label(50); label[0] != 3 || !math.IsNaN(label[1]) || s.Status(50) != campaign.StatusLabelled ||
		s.Status(51) != campaign.StatusWaiting {
		t.Errorf("%v, %s and %s", label, s.Status(50), s.Status(51))
	}
	confirm(t, c, "r050")
	if label := state(t, c).Label(50); label[1] != 3000 {
		t.Errorf("%v", label)
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	c, _ := watched(t, campaign.Settings{})
	told, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: entries("r050", 30000.0), Accept: true})
	if err != nil || len(told.Waiting) != 0 || state(t, c).Label(50)[0] != 30000 {
		t.Errorf("%+v, %v", told, err)
	}
}

// TestWaitingTeachesNothing: a label that waits changes neither the model nor an estimate.
func TestWaitingTeachesNothing(t *testing.T) {
	t.Parallel()
	c, _ := watched(t, campaign.Settings{RandomStart: true})
	first := ask(t, c, campaign.Ask{Rows: 8, Audit: new(1.0)})
	before := standing(t, c, "")
	tell(t, c, first.Rows[0].ID, 50000.0)
	after := standing(t, c, "")
	if before.Targets[0].Curve.RMSE != after.Targets[0].Curve.RMSE || after.Targets[0].Labels != 40 || after.Waiting != 1 {
		t.Errorf("%+v, %+v", before.Targets[0].Curve, after.Targets[0])
	}
	if next := ask(t, c, campaign.Ask{Rows: 1}); !next.Kept || next.Model != first.Model {
		t.Error("a label that waits changed the model")
	}
	confirm(t, c, first.Rows[0].ID)
	if now := standing(t, c,
		"").Targets[0]; !(now.Curve.RMSE.Value > 10*before.Targets[0].Curve.RMSE.Value) {
		t.Errorf("after the confirmation: %+v", now.Curve)
	}
	if next := ask(t, c, campaign.Ask{Rows: 1}); next.Kept {
		t.Error("the model did not learn from the label that was confirmed")
	}
}

// TestAddedLabelsWait: labels of rows that are added get a second look; those that a campaign begins with count.
func TestAddedLabelsWait(t *testing.T) {
	t.Parallel()
	c, _ := watched(t, campaign.Settings{})
	y := dataset.NewNumeric("y")
	for _, v := range []float64{3, 70000, math.NaN()} {
		y.Append(v)
	}
	added, err := c.Add(t.Context(), ada, mustTable(append(pool(200, 3).Columns(), y)...))
	if err != nil || added.Labelled != 2 || !slices.Equal(waitingIDs(added.Waiting), []string{"r201"}) {
		t.Errorf("%+v, %v", added, err)
	}
	wantWaiting(t, c, "r201")
	if _, err := c.Retire(t.Context(), ada, []string{"r201"}, ""); err != nil {
		t.Fatal(err)
	}
	wantWaiting(t, c)
}

// TestFirstLabelsAreComparedWithEachOther: a list that is told at once needs no labels before it.
func TestFirstLabelsAreComparedWithEachOther(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 60, campaign.Settings{})
	var list []any
	for i := range 40 {
		value := float64(i % 7)
		if i == 17 {
			value = 40000
		}
		list = append(list, fmt.Sprintf("r%03d", i), value)
	}
	if told := tell(t, c, list...); !slices.Equal(waitingIDs(told.Waiting), []string{"r017"}) {
		t.Errorf("%+v", told.Waiting)
	}
}

// TestStandingNamesItsModel: once labels that the model learnt from have changed, a standing says so until the next
// ask.
func TestStandingNamesItsModel(t *testing.T) {
	t.Parallel()
	c, _ := watched(t, campaign.Settings{RandomStart: true})
	if m := standing(t, c, "").Model; m != nil {
		t.Errorf("before the first ask: %+v", m)
	}
	batch := ask(t, c, campaign.Ask{Rows: 2})
	tell(t, c, batch.Rows[0].ID, 3.0) // a label that is new has not changed
	check := func(what string, changed int) {
		t.Helper()
		m := standing(t, c, "").Model
		if m == nil || m.Ask != batch.Ask || m.Trained != batch.Trained || m.Changed != changed ||
			(m.Note().String() == "") != (changed == 0) {
			t.Errorf("%s: %+v: %s", what, m, m.Note())
		}
	}
	check("a new label", 0)
	corrected, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: entries("r001", 2.0)})
	if err != nil {
		t.Fatal(err)
	}
	check("a correction", 1)
	if _, err := c.Undo(t.Context(), ada, 10, ""); err != nil { // the label of r007
		t.Fatal(err)
	}
	check("an undone label", 2)
	tell(t, c, "r002", 900.0)
	check("a measurement that waits", 2)
	confirm(t, c, "r002")
	check("its confirmation", 3)
	if _, err := c.Undo(t.Context(), ada, corrected.Seq, ""); err != nil {
		t.Fatal(err)
	}
	check("an undone correction", 2)
	batch = ask(t, c, campaign.Ask{Rows: 2})
	check("the next ask", 0)
}

// TestCorrectionsChangeEstimates: the label of an audit row counts as it is now.
func TestCorrectionsChangeEstimates(t *testing.T) {
	t.Parallel()
	c, _ := watched(t, campaign.Settings{})
	batch := ask(t, c, campaign.Ask{Rows: 16, Audit: new(1.0)})
	for i, r := range batch.Rows {
		tell(t, c, r.ID, float64(i%7))
	}
	rmse := func() float64 { return standing(t, c, "").Targets[0].Curve.RMSE.Value }
	before := rmse()
	corrected, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: entries(batch.Rows[3].ID, 90.0), Accept: true})
	if err != nil {
		t.Fatal(err)
	}
	if now := rmse(); !(now > 2*before) {
		t.Errorf("the error was %v, and is %v after the correction of an audit row", before, now)
	}
	if _, err := c.Undo(t.Context(), ada, corrected.Seq, ""); err != nil {
		t.Fatal(err)
	}
	if now := rmse(); now != before {
		t.Errorf("the error was %v, and is %v after the correction was undone", before, now)
	}
}

// TestRunAndWhatWaits: labels of an oracle get a second look, too; a run goes on, and they count for its limit.
func TestRunAndWhatWaits(t *testing.T) {
	t.Parallel()
	oracle := func(_ context.Context, q campaign.Question) ([]float64, error) {
		if q.Row%2 == 0 {
			return []float64{1e6}, nil
		}
		return []float64{3}, nil
	}
	for _, accept := range []bool{false, true} {
		c, _ := watched(t, campaign.Settings{Spec: "random"})
		reported := 0
		result := runLoop(t, c, campaign.Run{Oracle: oracle, MaxLabels: 60, Accept: accept, Ask: campaign.Ask{Rows: 5},
			Report: func(r campaign.Report) { reported += len(r.Doubts) }})
		counts := state(t, c).Counts()
		if result.Told != 20 || result.End != campaign.EndEnough || counts.Labelled+counts.Waiting != 60 {
			t.Errorf("accept %v: %+v, %+v", accept, result, counts)
		}
		if waiting := int(counts.Waiting); waiting != result.Waiting || waiting != reported || (waiting == 0) != accept {
			t.Errorf("accept %v: %d rows wait, %d reported: %+v", accept, waiting, reported, result)
		}
	}
}

// TestArchivesKeepWhatWaits exports and imports a campaign in which labels wait.
func TestArchivesKeepWhatWaits(t *testing.T) {
	t.Parallel()
	c, now := watched(t, campaign.Settings{})
	tell(t, c, "r050", 30000.0, "r051", -30000.0)
	confirm(t, c, "r050")
	moved, err := importInto(t, &storetest.Memory{}, "", export(t, c))
	if err != nil {
		t.Fatal(err)
	}
	moved.Clock = now.Now
	want, got := state(t, c), state(t, moved)
	if describe(want) != describe(got) || len(got.Waiting()) != 1 {
		t.Errorf("the state is\n%s, not\n%s", describe(got), describe(want))
	}
}

// TestUnlikely: labels that a table came with do not wait, but those that look like slips are named.
func TestUnlikely(t *testing.T) {
	t.Parallel()
	y := dataset.NewNumeric("y")
	for i := range 60 {
		y.Append(map[bool]float64{true: 30000, false: float64(i % 7)}[i == 17])
	}
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
		Table: mustTable(append(pool(0, 60).Columns(), y)...), IDColumn: "name", Targets: []string{"y"}, By: ada,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := state(t, c)
	if got := s.Unlikely(); len(s.Waiting()) != 0 || !slices.Equal(waitingIDs(got), []string{"r017"}) ||
		got[0].Value != 30000 {
		t.Errorf("%+v", got)
	}
}

// TestFirstModelNamesSlips: the first ask with a network names labels of the start that it finds far off; the next does
// not. A Gaussian process is fitted without them, and one warning says both.
func TestFirstModelNamesSlips(t *testing.T) {
	t.Parallel()
	table := pool(0, 80)
	x, err := table.Numeric("x")
	if err != nil {
		t.Fatal(err)
	}
	y := dataset.NewNumeric("y")
	for i := range 80 {
		switch {
		case i == 17:
			y.Append(1000 * (50 + x.Float(i)))
		case i < 40:
			y.Append(50 + x.Float(i))
		default:
			y.Append(math.NaN())
		}
	}
	for kind, want := range map[learner.Kind][]string{
		learner.NetworkAlone: {"like a slip (r017: ", ""},
		learner.GaussianOnly: {"of row r017, which looks like a slip, was left out of the fit", ""},
	} {
		c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
			Table: mustTable(append(table.Columns(), y)...), IDColumn: "name", Targets: []string{"y"}, By: ada,
			Settings: campaign.Settings{Choices: fitted.Choices{Learner: kind}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for number, text := range want {
			got := ask(t, c, campaign.Ask{Rows: 4})
			named := slices.DeleteFunc(slices.Clone(got.Result.Warnings),
				func(w string) bool { return !strings.Contains(w, "r017") })
			if text == "" && len(named) > 0 || text != "" && (len(named) != 1 || !strings.Contains(named[0], text)) {
				t.Errorf("%s, ask %d: %q", kind, number, got.Result.Warnings)
			}
			tell(t, c, got.Rows[0].ID, 50.0)
		}
	}
}
