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
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/limits"
)

// tellReplicates tells measurements with their numbers.
func tellReplicates(t *testing.T, c *campaign.Campaign, list ...campaign.Entry) campaign.ToldRows {
	t.Helper()
	told, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: list})
	if err != nil {
		t.Fatal(err)
	}
	return told
}

func replicate(id string, number int, value float64) campaign.Entry {
	return campaign.Entry{ID: id, Replicate: number, Values: []float64{value}}
}

// numbers returns the numbers of the measurements of a row that are out.
func numbers(s *campaign.State, row int64) (list []int) {
	for _, h := range s.Out(row) {
		list = append(list, h.Pick.Number())
	}
	return list
}

func TestReplicatesAreHandedOutAndTold(t *testing.T) {
	c, now := begin(t, 12, campaign.Settings{Spec: "random", Audit: new(0.0),
		Limits: limits.Limits{Replicates: 3}, Batch: 6})
	batch := ask(t, c, campaign.Ask{})
	if list := ids(batch); len(list) != 6 || list[0] != list[1] || list[0] != list[2] || list[2] == list[3] ||
		len(batch.Result.IDs) != 2 || len(batch.Result.Lines()) != 6 {
		t.Fatalf("the batch is %v", list)
	}
	wantCounts(t, c, 10, 2, 0, 0, 0)
	id, row := batch.Rows[0].ID, batch.Rows[0].Row
	tellReplicates(t, c, replicate(id, 2, 5))
	s := state(t, c)
	if s.Status(row) != campaign.StatusLabelled || s.Label(row)[0] != 5 || !slices.Equal(numbers(s, row), []int{1, 3}) ||
		s.Counts().Repeats != 2 || s.Measured(row) != 1 {
		t.Errorf("after one of three: %s, %v, out %v", s.Status(row), s.Label(row), numbers(s, row))
	}
	// The same number as another measurement of the row is a further one, and telling it again changes nothing.
	if told := tellReplicates(t, c, replicate(id, 1, 5)); told.Seq == 0 {
		t.Error("the first replicate has the same number as the second, and was not taken")
	}
	if told := tellReplicates(t, c, replicate(id, 1, 5), replicate(id, 2, 5)); told.Seq != 0 || told.Known != 2 {
		t.Errorf("told again: %+v", told)
	}
	// Another value of the same measurement is a mistake, unless somebody else has told it or it is said to be a further
	// one.
	changed := campaign.Tell{Entries: []campaign.Entry{replicate(id, 2, 5.5)}}
	if _, err := c.Tell(t.Context(), ada, changed); err == nil ||
		!strings.Contains(err.Error(), "replicate 2 of the row has the label 5 already; correct it") {
		t.Errorf("a changed label was told: %v", err)
	}
	changed.Partial = true
	if told, err := c.Tell(t.Context(), ada, changed); err != nil || len(told.Faults) != 1 || told.Seq != 0 {
		t.Errorf("a changed label was skipped: %+v, %v", told, err)
	}
	tell(t, c, id, 8.0) // without a number, it is the one that is out
	s = state(t, c)
	if m := s.Measurements(row); len(m) != 3 || m[2].Replicate != 3 || m[2].Ask != batch.Ask ||
		s.Label(row)[0] != 6 || len(s.Out(row)) != 0 {
		t.Errorf("three measurements are %+v, the label %v", m, s.Label(row))
	}
	if noise := s.Noise()[0]; noise.Rows != 1 || noise.Freedom != 2 ||
		!strings.Contains(noise.Text().String(), "too few rows to tell") {
		t.Errorf("the noise is %+v: %v", noise, noise)
	}
	// Late labels are taken, also of rows that are open again.
	now.pass(30 * 24 * time.Hour)
	tellReplicates(t, c, replicate(batch.Rows[3].ID, 3, 2))
	if m := state(t, c).Measurements(batch.Rows[3].Row); len(m) != 1 || m[0].Replicate != 3 || m[0].Ask != batch.Ask {
		t.Errorf("a late label is %+v", m)
	}
}

func TestReplicatesAreCorrectedFailedAndReturnedOneByOne(t *testing.T) {
	c, _ := begin(t, 12, campaign.Settings{Spec: "random", Audit: new(0.0)})
	batch := ask(t, c, campaign.Ask{Rows: 8, Overrides: campaign.Overrides{Replicates: new(4)}})
	id, row := batch.Rows[0].ID, batch.Rows[0].Row
	tellReplicates(t, c, replicate(id, 1, 1), replicate(id, 2, 200))
	if _, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: []campaign.Entry{replicate(id, 2, 2)}}); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Label(row)[0] != 1.5 || !slices.Equal(numbers(s, row), []int{3, 4}) {
		t.Errorf("corrected: %v, out %v", s.Label(row), numbers(s, row))
	}
	_, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: []campaign.Entry{replicate(id, 3, 2)}})
	if err == nil || !strings.Contains(err.Error(), "replicate 3 of the row has no label that could be corrected") {
		t.Errorf("a measurement that is out was corrected: %v", err)
	}
	if _, err := c.Fail(t.Context(), ada, []string{id + "#3"}, "broke", false); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Status(row) != campaign.StatusLabelled ||
		!slices.Equal(numbers(s, row), []int{4}) || s.Failures(row) != 1 {
		t.Errorf("one failed: %s, out %v", s.Status(row), numbers(s, row))
	}
	if _, err := c.Fail(t.Context(), ada, []string{id + "#3"}, "broke", false); err == nil ||
		!strings.Contains(err.Error(), "replicate 3 of the row is not out") {
		t.Errorf("failed twice: %v", err)
	}
	if _, err := c.Return(t.Context(), ada, []string{id + "#4"}, ""); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); len(s.Out(row)) != 0 || s.Status(row) != campaign.StatusLabelled {
		t.Errorf("returned: %s, out %v", s.Status(row), numbers(s, row))
	}
	// A row fails once the last of its measurements has.
	other := batch.Rows[4]
	for k := range 4 {
		if s := state(t, c); s.Status(other.Row) != campaign.StatusAsked {
			t.Errorf("after %d failures, the row is %s", k, s.Status(other.Row))
		}
		if _, err := c.Fail(t.Context(), ada, []string{fmt.Sprintf("%s#%d", other.ID, k+1)}, "broke", false); err != nil {
			t.Fatal(err)
		}
	}
	if s := state(t, c); s.Status(other.Row) != campaign.StatusFailed || s.Failures(other.Row) != 4 {
		t.Errorf("after all failures, the row is %s", s.Status(other.Row))
	}
	log, err := c.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Undo(t.Context(), ada, log[len(log)-1].Seq, ""); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Status(other.Row) != campaign.StatusAsked || !slices.Equal(numbers(s, other.Row), []int{4}) {
		t.Errorf("undone: %s, out %v", s.Status(other.Row), numbers(s, other.Row))
	}
	// Without a number, all measurements of a row are corrected, as ever.
	if _, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: entries(id, 7.0)}); err != nil {
		t.Fatal(err)
	}
	if m := state(t, c).Measurements(row); len(m) != 1 || m[0].Values[0] != 7 || m[0].Replicate != 1 || m[0].Pick == nil {
		t.Errorf("all corrected: %+v", m)
	}
}

// TestRepeatsOfLabelledRows: a share of the batch measures labelled rows again, those first that were measured least.
func TestRepeatsOfLabelledRows(t *testing.T) {
	c, _ := begin(t, 40, campaign.Settings{Spec: "random", Audit: new(0.0), Batch: 16,
		Limits: limits.Limits{ReplicateShare: 0.25}})
	tell(t, c, "r000", 1.0, "r001", 2.0, "r002", 3.0, "r003", 4.0, "r004", 5.0)
	tellReplicates(t, c, replicate("r004", 2, 5.5))
	batch := ask(t, c, campaign.Ask{})
	var repeats []string
	for i, r := range batch.Rows {
		if r.Repeat {
			repeats = append(repeats, r.ID)
			if r.Number() != 2 || r.Predictions != nil || i < 12 ||
				!strings.Contains(batch.Result.Lines()[i].Reason, "measured 1 time") {
				t.Errorf("a repeat is %+v: %+v", r, batch.Result.Lines()[i])
			}
		}
	}
	if slices.Sort(repeats); !slices.Equal(repeats, []string{"r000", "r001", "r002", "r003"}) || len(batch.Rows) != 16 {
		t.Errorf("%d rows with the repeats %v", len(batch.Rows), repeats)
	}
	if counts := state(t, c).Counts(); counts.Repeats != 4 || counts.Asked != 12 || counts.Labelled != 5 {
		t.Errorf("counts are %+v", counts)
	}
	// The label of a repeat is not a conflict, also if it is the same number, and the first ask of a row stays what it
	// was.
	tellReplicates(t, c, replicate("r000", 2, 1), replicate("r001", 2, 2.5), replicate("r002", 2, 3.5),
		replicate("r003", 2, 4.5))
	s := state(t, c)
	if s.Counts().Repeats != 0 || s.Label(1)[0] != 2.25 || s.Measured(0) != 2 {
		t.Errorf("after the repeats: %+v, %v", s.Counts(), s.Label(1))
	}
	if noise := s.Noise()[0]; noise.Rows != 5 || noise.Freedom != 5 ||
		!strings.Contains(noise.Text().String(), "5 rows measured twice or more") ||
		math.Abs(float64(noise.Deviation)-math.Sqrt(0.5/5)) > 1e-12 {
		t.Errorf("the noise is %+v: %v", noise, noise)
	}
	if _, asked := s.AskOf(1); asked != nil || len(s.Outcomes()) != 0 {
		t.Errorf("a repeat counts as a prediction: %+v, %v", asked, s.Outcomes())
	}
}

func TestRepeatsTakeTheirPartOfTheBudget(t *testing.T) {
	c, _ := begin(t, 40, campaign.Settings{Spec: "random", Audit: new(0.0), Batch: 16,
		Limits: limits.Limits{CostColumn: "z", Budget: new(16.0), Replicates: 2, ReplicateShare: 0.25}})
	tell(t, c, "r000", 1.0, "r001", 2.0, "r002", 3.0, "r003", 4.0, "r004", 5.0, "r005", 6.0)
	batch := ask(t, c, campaign.Ask{})
	table, err := c.Inputs(t.Context(), refs(batch))
	if err != nil {
		t.Fatal(err)
	}
	costs, err := table.Numeric("z")
	if err != nil {
		t.Fatal(err)
	}
	sum, repeats := 0.0, 0
	for i, r := range batch.Rows {
		sum += costs.Float(i)
		if r.Repeat {
			repeats++
		}
	}
	if sum > 16 || repeats == 0 || len(batch.Rows) == repeats {
		t.Errorf("%d measurements with %d repeats cost %v", len(batch.Rows), repeats, sum)
	}
	if cost := batch.Result.Metrics.Cost; cost == nil || math.Abs(float64(*cost)-sum) > 1e-9 {
		t.Errorf("the answer says that they cost %v, not %v", *cost, sum)
	}
}

// TestConflictsOfAnAskCountMeasurements: messages have the numbers that people have given, not those for each
// replicate.
func TestConflictsOfAnAskCountMeasurements(t *testing.T) {
	c, _ := begin(t, 40, campaign.Settings{Spec: "random", Batch: 36,
		Limits: limits.Limits{CostColumn: "z", Budget: new(5.0), Replicates: 3, Same: []string{"kind"}, Runs: 2}})
	for _, test := range []struct {
		ask  campaign.Ask
		want string
	}{
		{campaign.Ask{}, "same kind, runs 2, budget 5 and batch 36 with replicates 3 cannot hold together"},
		{campaign.Ask{Rows: 42}, "same kind, runs 2, budget 5 and rows 42 with replicates 3 cannot hold together"},
		{campaign.Ask{Rows: 6, Overrides: campaign.Overrides{Runs: new(3)}},
			"runs is 3, but the batch has 2 rows (rows 6 with replicates 3)"},
	} {
		if _, err := c.Ask(t.Context(), ada, test.ask); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// TestConflictsBesideRepeats: nor are they the numbers that labelled rows leave which are measured once more.
func TestConflictsBesideRepeats(t *testing.T) {
	c, _ := begin(t, 40, campaign.Settings{Spec: "random", Audit: new(0.0), Batch: 16, Limits: limits.Limits{
		CostColumn: "z", Budget: new(4.0), GroupColumn: "kind", MinPerGroup: 7, MaxGroups: 1, Replicates: 2,
		ReplicateShare: 0.125}})
	tell(t, c, "r000", 1.0, "r001", 2.0, "r002", 3.0, "r003", 4.0, "r004", 5.0, "r005", 6.0)
	_, err := c.Ask(t.Context(), ada, campaign.Ask{})
	if want := "min_per_group 7 and budget 4 with replicate_share 1/8 cannot both hold"; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestBudgetsOfAuditRowsAreDecimal: three times 0.1 is 0.3, for rows that are drawn as for those that are picked.
func TestBudgetsOfAuditRowsAreDecimal(t *testing.T) {
	cost := dataset.NewNumeric("cost")
	table := pool(0, 40)
	for range table.Rows() {
		cost.Append(0.1)
	}
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
		Table: mustTable(append(table.Columns(), cost)...), IDColumn: "name", Targets: []string{"y"},
		By: ada, Clock: newClock().Now,
		Settings: campaign.Settings{Spec: "random", Audit: new(1.0), Batch: 8,
			Limits: limits.Limits{CostColumn: "cost", Budget: new(0.3)}}})
	if err != nil {
		t.Fatal(err)
	}
	audits := 0
	for _, row := range ask(t, c, campaign.Ask{}).Rows {
		if row.Audit {
			audits++
		}
	}
	if audits != 3 {
		t.Errorf("%d audit rows", audits)
	}
}

// TestMapsNeedNoBatch: limits on the whole batch say nothing about a map.
func TestMapsNeedNoBatch(t *testing.T) {
	for name, limits := range map[string]limits.Limits{
		"replicates": {Replicates: 3}, "share": {ReplicateShare: 0.25}, "runs": {Same: []string{"kind"}, Runs: 2},
		"groups": {GroupColumn: "kind", MinPerGroup: 2}, "most groups": {GroupColumn: "kind", MaxGroups: 1, MinPerGroup: 3},
	} {
		c, _ := begin(t, 40, campaign.Settings{Spec: "lcmd-tp:linear", Batch: 12, Limits: limits})
		tell(t, c, "r000", 1.0, "r001", 2.0)
		if m, err := c.Map(t.Context(), campaign.Ask{}, 100); err != nil || len(m.Rows) != 40 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// TestGroupsOfPlatesAlone: groups may be there only to be kept apart on plates.
func TestGroupsOfPlatesAlone(t *testing.T) {
	settings := campaign.Settings{Spec: "random", Audit: new(0.0), Batch: 4, Limits: limits.Limits{GroupColumn: "kind"},
		Layout: plate.Layout{Plate: "4x6"}}
	c, _ := begin(t, 40, settings)
	batch := ask(t, c, campaign.Ask{})
	if batch.Rows[0].Well == "" || len(batch.Rows) != 4 {
		t.Errorf("%+v", batch.Rows)
	}
	if plain := ask(t, c, campaign.Ask{Overrides: campaign.Overrides{Plate: new("")}}); plain.Rows[0].Well != "" {
		t.Errorf("%+v", plain.Rows)
	}
	settings.Layout = plate.Layout{}
	if err := settings.Check(); err == nil || !strings.Contains(err.Error(),
		"group_column alone changes nothing: limit the groups with per_group") {
		t.Error(err)
	}
}

func TestBatchesAreMultiplesOfReplicates(t *testing.T) {
	c, _ := begin(t, 12, campaign.Settings{Spec: "random"})
	_, err := c.Ask(t.Context(), ada, campaign.Ask{Rows: 7, Overrides: campaign.Overrides{Replicates: new(3)}})
	if err == nil || !strings.Contains(err.Error(), "6") || !strings.Contains(err.Error(), "9") ||
		!strings.Contains(err.Error(), "replicates") {
		t.Errorf("7 measurements with 3 replicates: %v", err)
	}
	if err := (campaign.Settings{Batch: 10, Limits: limits.Limits{Replicates: 3}}).Check(); err == nil ||
		!strings.Contains(err.Error(), "9 or 12") {
		t.Errorf("settings: %v", err)
	}
}

// TestFilesOfReplicates tells a batch file with the column of replicates.
func TestFilesOfReplicates(t *testing.T) {
	c, _ := begin(t, 12, campaign.Settings{Spec: "random", Audit: new(0.0)})
	batch := ask(t, c, campaign.Ask{Rows: 4, Overrides: campaign.Overrides{Replicates: new(2)}})
	file := func(numbers []string, values ...float64) *dataset.Table {
		names, replicates := dataset.NewText("name"), dataset.NewText("replicate")
		for i := range values {
			names.Append([]byte(batch.Rows[i].ID))
			replicates.Append([]byte(numbers[i]))
		}
		return mustTable(names, replicates, dataset.NewNumeric("y", values...))
	}
	for _, step := range []struct {
		values    []float64
		new, know int
	}{{[]float64{1, math.NaN(), 2, math.NaN()}, 2, 0}, {[]float64{1, 1, 2, 3}, 2, 2}, {[]float64{1, 1, 2, 3}, 0, 4}} {
		list, _, err := c.Entries(t.Context(), file([]string{"1", "2", "1", "2"}, step.values...))
		if err != nil {
			t.Fatal(err)
		}
		if told := tellReplicates(t, c, list...); len(told.Rows) != step.new || told.Known != step.know {
			t.Errorf("telling %v: %+v", step.values, told)
		}
	}
	if s := state(t, c); s.Label(batch.Rows[2].Row)[0] != 2.5 || s.Counts().Repeats != 0 {
		t.Errorf("labels %v, counts %+v", s.Label(batch.Rows[2].Row), s.Counts())
	}
	list, _, err := c.Entries(t.Context(), file([]string{"first", "1.5", "0", "2"}, 1, 1, 1, 1))
	if err != nil || !strings.Contains(list[0].Fault, `the replicate "first" is not a whole number`) ||
		list[1].Fault == "" || list[2].Fault == "" || list[3].Fault != "" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestWellsSurviveTell: the well of a measurement is part of the log.
func TestWellsSurviveTell(t *testing.T) {
	settings := campaign.Settings{Spec: "random", Audit: new(0.0),
		Layout: plate.Layout{Plate: "2x3", Controls: []string{"A1"}}}
	c, _ := begin(t, 20, settings)
	batch := ask(t, c, campaign.Ask{Rows: 8, Overrides: campaign.Overrides{Replicates: new(2)}})
	seen := map[string]bool{}
	for _, r := range batch.Rows {
		well := fmt.Sprint(r.Plate, r.Well)
		if r.Plate < 1 || r.Plate > 2 || r.Well == "" || r.Well == "A1" || seen[well] {
			t.Errorf("a measurement is in well %q of plate %d", r.Well, r.Plate)
		}
		seen[well] = true
	}
	second := batch.Rows[1]
	tellReplicates(t, c, replicate(second.ID, 2, 4))
	if m := state(t, c).Measurements(second.Row); len(m) != 1 || m[0].Pick == nil || m[0].Pick.Well != second.Well ||
		m[0].Pick.Plate != second.Plate {
		t.Errorf("the measurement of well %s is %+v", second.Well, m)
	}
	settings.Controls = []string{"K1"}
	settings.Network = tiny()
	if _, err := c.ChangeSettings(t.Context(), ada, settings); err == nil ||
		!strings.Contains(err.Error(), "the plate has no row K") {
		t.Errorf("a control outside of the plate: %v", err)
	}
	none := ask(t, c, campaign.Ask{Rows: 2, Overrides: campaign.Overrides{Plate: new("")}})
	if none.Rows[0].Well != "" || none.Rows[0].Plate != 0 {
		t.Errorf("without a plate: %+v", none.Rows[0])
	}
}

// TestRunsMeasureReplicates: an oracle measures each replicate, and a run that is interrupted resumes those that are
// left.
func TestRunsMeasureReplicates(t *testing.T) {
	c, _ := begin(t, 10, campaign.Settings{Spec: "random", Audit: new(0.0), Batch: 6,
		Limits: limits.Limits{Replicates: 3}})
	calls := make(chan string, 100)
	oracle := func(_ context.Context, q campaign.Question) ([]float64, error) {
		calls <- fmt.Sprintf("%s#%d", q.ID, q.Replicate)
		if q.Replicate == 2 {
			return nil, errors.New("spilt")
		}
		return []float64{float64(q.Replicate)}, nil
	}
	result, err := c.Run(t.Context(), campaign.Run{Oracle: oracle, Parallel: 2, MaxLabels: 4})
	if err != nil {
		t.Fatal(err)
	}
	close(calls)
	seen := map[string]bool{}
	for name := range calls {
		if seen[name] {
			t.Errorf("%s was measured twice", name)
		}
		seen[name] = true
	}
	s := state(t, c)
	if len(seen) != 12 || result.Told != 8 || result.Failed != 4 || s.Counts().Labelled != 4 || s.Counts().Failed != 0 ||
		s.Counts().Repeats != 0 {
		t.Errorf("%d measurements, %+v, %+v", len(seen), result, s.Counts())
	}
	for _, ref := range s.With(campaign.StatusLabelled) {
		if s.Label(ref.Row)[0] != 2 || s.Measured(ref.Row) != 2 {
			t.Errorf("row %s has the label %v of %d measurements", ref.ID, s.Label(ref.Row), s.Measured(ref.Row))
		}
	}
}

// replicatedTable has rows with the same ids, in lines of a file.
func replicatedTable(t *testing.T, lines ...string) *dataset.Table {
	t.Helper()
	table, err := source.ReadCSV(t.Context(), strings.NewReader("name,a,b,y\n"+strings.Join(lines, "\n")+"\n"),
		source.Options{RowNames: "name"})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestRowsThatCameWithSeveralLabels: lines with the same id and labels are measurements of one row, as they are for
// select. Lines that contradict each other, and ids that name several rows, are named as the file counts.
func TestRowsThatCameWithSeveralLabels(t *testing.T) {
	t.Parallel()
	begin := func(lines ...string) (*campaign.Campaign, error) {
		return campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
			Table: replicatedTable(t, lines...), IDColumn: "name", Targets: []string{"y"}, By: ada, Clock: newClock().Now,
		})
	}
	lines := []string{"r0,1,,10", "r1,2,5,20", "r0,1,7,14", "r2,3,6,", "r1,2,5,20", "r3,4,6,30"}
	c, err := begin(lines...)
	if err != nil {
		t.Fatal(err)
	}
	s := state(t, c)
	if counts := s.Counts(); counts.Rows != 4 || counts.Labelled != 3 || s.Measured(0) != 2 ||
		s.Measured(1) != 2 || s.Measured(3) != 1 {
		t.Errorf("%+v, and rows 0 and 1 were measured %d and %d times", counts, s.Measured(0), s.Measured(1))
	}
	if label := s.Label(0)[0]; label != 12 {
		t.Errorf("the label of r0 is %v, not the mean 12", label)
	}
	view, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := view.Table.Numeric("b"); err != nil || b.Float(0) != 7 || view.ID(2) != "r2" {
		t.Errorf("the table lacks inputs that one of the lines has, or rows are mixed up: %v", err)
	}
	if _, err := c.Add(t.Context(), ada, replicatedTable(t, "r9,1,1,10", "r9,1,1,12", "r8,1,2,")); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Measured(4) != 2 || s.Label(4)[0] != 11 || s.Total() != 6 {
		t.Errorf("of %d rows, the first that was added has the label %v", s.Total(), s.Label(4))
	}
	for want, lines := range map[string][]string{
		`column "name", line 4: line 2 has the same id, "r0"`:    {"r0,1,2,10", "r1,2,5,20", "r0,1,2,"},
		`column "name", line 3: line 2 has the same id, "r0"`:    {"r0,1,2,", "r0,1,2,"},
		`column "name", line 3: the id is missing`:               {"r0,1,2,", ",1,2,"},
		`line 2 and line 4 have labels but differ in column "a"`: {"r0,1,2,10", "r1,2,5,20", "r0,3,2,11"},
	} {
		if _, err := begin(lines...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

// TestIdenticalLines: identical lines of a list are one measurement, unless the caller or what is out says otherwise.
func TestIdenticalLines(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 20, campaign.Settings{})
	list := entries("r001", 1.0, "r002", 2.0, "r001", 1.0, "r001", 3.0)
	told, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: list})
	if err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Measured(1) != 2 || s.Measured(2) != 1 || told.Known != 1 || s.Label(1)[0] != 2 {
		t.Errorf("%d measurements with the mean %v, %d known", s.Measured(1), s.Label(1), told.Known)
	}
	if told, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: list}); err != nil ||
		told.Seq != 0 || told.Known != 4 {
		t.Errorf("the second time: %+v, %v", told, err)
	}
	if _, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: list, Again: true}); err != nil ||
		state(t, c).Measured(1) != 5 {
		t.Errorf("%d measurements after all lines were told again, %v", state(t, c).Measured(1), err)
	}
	limit := entries("r003", 1.0, "r003", 1.0)
	limit[1].Censored = campaign.Censored{-1}
	if _, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: limit}); err != nil || state(t, c).Measured(3) != 2 {
		t.Errorf("a limit and a label are %d measurements, %v", state(t, c).Measured(3), err)
	}
	c, _ = begin(t, 20, campaign.Settings{Spec: "random", Audit: new(0.0), Limits: limits.Limits{Replicates: 2}})
	batch := ask(t, c, campaign.Ask{Rows: 4})
	id := batch.Rows[0].ID
	for range 2 { // the second time, both are known
		tell(t, c, id, 5.0, id, 5.0, id, 5.0)
	}
	if n := state(t, c).Measured(batch.Rows[0].Row); n != 2 {
		t.Errorf("of two measurements that were out, %d came", n)
	}
}
