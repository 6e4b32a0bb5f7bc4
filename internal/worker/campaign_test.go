package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// inMemory is a server whose one store, "memory", outlives its requests.
func inMemory(store *storetest.Memory) Server {
	return Server{
		Version: "test",
		OpenStore: func(_ context.Context, address string) (campaign.Store, error) {
			if address != "memory" {
				return nil, errors.New(address + " does not exist")
			}
			return store, nil
		},
		NewStore: func(string) campaign.Store { return store },
	}
}

const quickSettings = `{"learner":"network","network":{"architecture":{"hidden":[8],"activation":"relu"},` +
	`"training":{"epochs":2},"seed":5},"seed":5}`

// newCampaignFrame begins a campaign with the table of exampleSelect.
func newCampaignFrame(name string) Frame {
	f := exampleSelect(40, 1)
	var old struct {
		Table json.RawMessage `json:"table"`
	}
	if err := json.Unmarshal(f.Body, &old); err != nil {
		panic(err)
	}
	return request("campaign_new", map[string]any{
		"store": "memory", "name": name, "person": "ada", "id": "name", "targets": []string{"y"}, "table": old.Table,
		"settings": json.RawMessage(quickSettings),
	}, f.Data...)
}

// does sends a request about the campaign and decodes its result.
func (c *client) does(kind string, body map[string]any, into any) Frame {
	c.t.Helper()
	body["store"] = "memory"
	answer := c.ask(request(kind, body))
	if answer.Kind != "result" {
		c.t.Fatalf("%s: %s", kind, answer.Body)
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		c.t.Fatal(err)
	}
	return answer
}

func TestCampaignsAreThoseOfTheLibrary(t *testing.T) {
	c := newClientOf(t, inMemory(&storetest.Memory{}))
	begun := c.ask(newCampaignFrame("plates"))
	if begun.Kind != "result" {
		t.Fatalf("%s", begun.Body)
	}
	own := &storetest.Memory{}
	var settings campaign.Settings
	if err := json.Unmarshal([]byte(quickSettings), &settings); err != nil {
		t.Fatal(err)
	}
	want, err := campaign.New(t.Context(), own, "plates", campaign.Start{Table: sameTable(t, 40), IDColumn: "name",
		Targets: []string{"y"}, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := want.Ask(t.Context(), campaign.By{}, campaign.Ask{Rows: 6})
	if err != nil {
		t.Fatal(err)
	}

	var asked handedOut
	c.does("campaign_ask", map[string]any{"rows": 6, "lease": "-1s", "request": "plate 1"}, &asked)
	ids := func(b handedOut) (list []string) {
		for _, r := range b.Rows {
			list = append(list, r.ID)
		}
		return list
	}
	var wantIDs []string
	for i, r := range wanted.Rows {
		wantIDs = append(wantIDs, r.ID)
		if got := asked.Rows[i]; got.Audit != r.Audit || got.Predictions["y"].Value != r.Predictions[0].Value ||
			got.Reason != wanted.Result.Reasons[i] {
			t.Errorf("pick %d is %+v, the library's %+v", i, got, r)
		}
	}
	if !slices.Equal(ids(asked), wantIDs) || asked.LeaseEnd != nil || asked.Rows[0].Inputs["a"] == nil {
		t.Errorf("asked %+v, want the rows %v without an end of the lease", asked, wantIDs)
	}
	var again handedOut
	if c.does("campaign_ask", map[string]any{"rows": 6, "lease": "-1s", "request": "plate 1"},
		&again); again.Event != asked.Event || !slices.Equal(ids(again), wantIDs) {
		t.Errorf("the repeated request handed out %v as event %d", ids(again), again.Event)
	}

	var done wire.Told
	c.does("campaign_tell",
		map[string]any{"rows": []map[string]any{{"id": wantIDs[0], "values": map[string]float64{"y": 1.5}}}}, &done)
	if len(done.Rows) != 1 || done.Rows[0].ID != wantIDs[0] {
		t.Errorf("told %+v", done)
	}
	var change wire.Changed
	c.does("campaign_fail", map[string]any{"ids": wantIDs[1:2], "reason": "broke"}, &change)
	c.does("campaign_return", map[string]any{"ids": wantIDs[2:3]}, &change)
	c.does("campaign_retire", map[string]any{"ids": wantIDs[3:4]}, &change)
	retired := change.Event
	c.does("campaign_undo", map[string]any{"event": retired, "reason": "a mistake"}, &change)
	c.does("campaign_settings", map[string]any{"settings": settings}, &change)
	var s status
	c.does("campaign_status", map[string]any{"stop": "rmse<0.5"}, &s)
	if s.Labelled != 21 || s.Failed != 1 || s.Asked != 3 || s.Retired != 0 || s.Name != "plates" || s.Standing == nil {
		t.Errorf("the status is %+v", s)
	}
	var log []wire.LogEvent
	if c.does("campaign_history", map[string]any{"after": 3}, &log); len(log) != 7 || log[0].Kind != "asked" ||
		!log[4].Undone || log[4].Event != retired {
		t.Errorf("the history is %+v", log)
	}
	var about predictedHeader
	answer := c.does("campaign_predict", map[string]any{}, &about)
	if len(answer.Data) != 6 || int64(len(answer.Data[0].Int64)) != s.Open ||
		answer.Data[3].Dims[1] != 1 || about.Trained != 21 {
		t.Errorf("predicted %v of %d open rows, %+v", answer.Arrays, s.Open, about)
	}
}

func TestRowsForAServiceAreParquet(t *testing.T) {
	c := newClient(t)
	f := newCampaignFrame("plates")
	f.Kind = "campaign_encode"
	answer := c.ask(f)
	if answer.Kind != "result" {
		t.Fatalf("%s", answer.Body)
	}
	got, err := source.ReadParquet(t.Context(), bytes.NewReader(answer.Data[0].Uint8), source.Options{ID: "name"})
	if err != nil {
		t.Fatal(err)
	}
	want := sameTable(t, 40)
	for _, column := range want.Columns() {
		there, err := got.Column(column.Name())
		if err != nil || there.Kind() != column.Kind() {
			t.Fatalf("column %s: %v, %v", column.Name(), there, err)
		}
		for row := range column.Len() {
			if there.Missing(row) != column.Missing(row) || !column.Missing(row) && there.Format(row) != column.Format(row) {
				t.Errorf("column %s, row %d: %q, want %q", column.Name(), row, there.Format(row), column.Format(row))
			}
		}
	}
}

func TestErrorsOfCampaigns(t *testing.T) {
	c := newClientOf(t, inMemory(&storetest.Memory{}))
	for _, name := range []string{"one", "two"} {
		if answer := c.ask(newCampaignFrame(name)); answer.Kind != "result" {
			t.Fatalf("%s", answer.Body)
		}
	}
	broken := newCampaignFrame("three")
	broken.Body = bytes.Replace(broken.Body, []byte(`"epochs":2`), []byte(`"epochs":-2`), 1)
	for name, test := range map[string]struct {
		frame      Frame
		kind, word string
	}{
		"taken":    {newCampaignFrame("one"), "request", "exists already"},
		"settings": {broken, "request", "epochs"},
		"no store": {request("campaign_status", map[string]any{"store": "elsewhere"}), "request",
			"elsewhere does not exist"},
		"no name": {request("campaign_status", map[string]any{"store": "memory"}), "request",
			"there are 2 campaigns; name one of them: one, two"},
		"no campaign": {request("campaign_status", map[string]any{"store": "memory", "name": "four"}),
			"request", "no such campaign"},
		"stop rule": {request("campaign_status", map[string]any{"store": "memory", "name": "one", "stop": "rmse"}),
			"request", "rmse"},
		"lease": {request("campaign_ask", map[string]any{"store": "memory", "name": "one", "lease": "soon"}),
			"request", `lease "soon"`},
		"rows": {request("campaign_ask", map[string]any{"store": "memory", "name": "one", "rows": -1}),
			"request", "at least one row"},
		"undo": {request("campaign_undo", map[string]any{"store": "memory", "name": "one", "event": 1}), "request",
			"event 1"},
		"ids": {request("campaign_retire", map[string]any{"store": "memory", "name": "one",
			"ids": []string{"r1", "x"}}), "data", "row 1 (from 0, id x)"},
		"target": {request("campaign_tell", map[string]any{"store": "memory", "name": "one",
			"rows": []map[string]any{{"id": "r1", "values": map[string]any{"z": 1}}}}),
			"data", `"z" is not a target`},
	} {
		answer := c.ask(test.frame)
		var f wire.Failure
		if err := json.Unmarshal(answer.Body, &f); err != nil || answer.Kind != "error" || f.Error != test.kind ||
			!strings.Contains(f.Message, test.word) {
			t.Errorf("%s: %s %s, want %s with %q", name, answer.Kind, answer.Body, test.kind, test.word)
		}
		if (f.Error == "data") != (len(f.Rows) == 1) {
			t.Errorf("%s: the rows that are wrong are %v", name, f.Rows)
		}
	}
}

// TestRowsOfACampaign: the rows of a store and those that a service writes as Parquet are the same columns.
func TestRowsOfACampaign(t *testing.T) {
	store := &storetest.Memory{}
	c := newClientOf(t, inMemory(store))
	if begun := c.ask(newCampaignFrame("plates")); begun.Kind != "result" {
		t.Fatalf("%s", begun.Body)
	}
	var asked struct{ Rows []campaign.RowRef }
	c.does("campaign_ask", map[string]any{"rows": 3, "person": "ben"}, &asked)
	var got rowsOf
	here := c.does("campaign_rows", map[string]any{}, &got)
	camp, err := campaign.Open(t.Context(), store, "plates")
	if err != nil {
		t.Fatal(err)
	}
	v, err := camp.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := v.RowTable([]int{0, v.At(asked.Rows[0].Row)})
	if err != nil {
		t.Fatal(err)
	}
	if person, err := want.Column("person"); err != nil || person.Format(0) != "ada" || person.Format(1) != "ben" {
		t.Errorf("%v, %v", person, err)
	}
	every := make([]int, v.Table.Rows())
	for i := range every {
		every[i] = i
	}
	all, err := v.RowTable(every)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := source.WriteParquet(&file, all); err != nil {
		t.Fatal(err)
	}
	there := c.ask(request("campaign_decode", map[string]any{"id": v.Created.IDColumn, "targets": v.Created.Targets,
		"columns": v.Created.Columns},
		Array{Shape: Shape{"uint8", []int{file.Len()}}, Uint8: file.Bytes()}))
	if there.Kind != "result" || !bytes.Equal(there.Body, here.Body) || len(here.Data) < len(got.Columns) {
		t.Fatalf("%s\n%s", here.Body, there.Body)
	}
	for i := range here.Data {
		a, b := here.Data[i], there.Data[i]
		same := func(x, y float64) bool { return x == y || x != x && y != y }
		if !slices.Equal(a.Int64, b.Int64) || !bytes.Equal(a.Uint8, b.Uint8) ||
			!slices.EqualFunc(a.Float64, b.Float64, same) {
			t.Errorf("array %d: %v, %v", i, a, b)
		}
	}
}

// TestAuditOfLabelledRowsAlone: a campaign in which nothing is left to pick from is audited, too.
func TestAuditOfLabelledRowsAlone(t *testing.T) {
	store := &storetest.Memory{}
	c := newClientOf(t, inMemory(store))
	if begun := c.ask(newCampaignFrame("plates")); begun.Kind != "result" {
		t.Fatalf("%s", begun.Body)
	}
	var rows rowsOf
	answer := c.does("campaign_rows", map[string]any{}, &rows)
	at := slices.IndexFunc(rows.Columns, func(one frameColumn) bool { return one.Name == "y" })
	var tells []wire.Measured
	names, _ := sameTable(t, 40).Column("name")
	for i, y := range answer.Data[rows.Columns[at].Arrays[0]].Float64 {
		if y != y {
			tells = append(tells, wire.Measured{ID: names.Format(i), Values: map[string]float64{"y": float64(i % 5)}})
		}
	}
	var told wire.Told
	c.does("campaign_tell", map[string]any{"rows": tells, "accept": true}, &told)
	var found wire.Audit
	if c.does("campaign_audit", map[string]any{}, &found); found.Labelled != 40 || len(found.Targets) != 1 ||
		len(found.Targets[0].Findings) != 20 {
		t.Errorf("%+v", found)
	}
}
