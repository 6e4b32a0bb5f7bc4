package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// with returns the settings of tests with further ones.
func with(more map[string]any) map[string]any {
	all := map[string]any{"spec": "random", "audit": 0}
	for _, list := range []map[string]any{settings, more} {
		for name, v := range list {
			all[name] = v
		}
	}
	return all
}

func rowPath(row int64) string { return fmt.Sprint("/v1/campaigns/small/rows/", row) }

// Measurements are handed out, told, corrected, failed and listed one by one.
func TestReplicatesOverHTTP(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings",
		with(map[string]any{"replicate_share": "1/4", "plate": "4x6", "controls": []string{"A1", "6"}}))
	about := must[Campaign](t, v, "viewer", "GET", "/v1/campaigns/small", nil)
	if about.Settings.ReplicateShare != 0.25 || about.Settings.Plate != "4x6" {
		t.Errorf("the settings are %+v", about.Settings)
	}
	j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
		map[string]any{"rows": 8, "replicates": 2}))
	if j.State != wire.Done {
		t.Fatalf("the job ended as %+v", j)
	}
	batch := must[Batch](t, v, "viewer", "GET", "/v1/campaigns/small/asks/1", nil)
	if batch.Plate != "4x6" || !slices.Equal(batch.Controls, []string{"A1", "6"}) {
		t.Errorf("the plates of the batch are %s with the controls %v", batch.Plate, batch.Controls)
	}
	var repeats []Picked
	wells := map[string]bool{}
	for _, r := range batch.Rows {
		if r.Repeat {
			repeats = append(repeats, r)
		}
		if r.Reason == "" || r.Plate != 1 || r.Well == "" || r.Well == "A1" ||
			strings.HasSuffix(r.Well, "6") || wells[r.Well] {
			t.Errorf("measurement %+v", r)
		}
		wells[r.Well] = true
	}
	if len(batch.Rows) != 8 || len(repeats) != 2 || repeats[0].Replicate != 2 || repeats[0].Status != "labelled" ||
		batch.Rows[0].ID != batch.Rows[1].ID || batch.Rows[1].Replicate != 2 {
		t.Fatalf("batch %+v", batch)
	}
	queue := must[Queue](t, v, "labeller", "GET", "/v1/campaigns/small/queue", nil)
	if len(queue.Rows) != 8 || queue.Rows[6].Labels["y"] != nil {
		t.Errorf("the queue is %+v", queue)
	}
	if !slices.IsSortedFunc(queue.Rows, func(a, b QueueRow) int { return plate.Compare(a.Well, b.Well) }) {
		t.Errorf("the wells of the queue are not in their order: %+v", queue.Rows)
	}
	row := batch.Rows[0]
	measured := func(id string, replicate int, y float64) map[string]any {
		one := map[string]any{"id": id, "values": map[string]float64{"y": y}}
		if replicate > 0 {
			one["replicate"] = replicate
		}
		return map[string]any{"rows": []any{one}}
	}
	for _, replicate := range []int{1, 2} { // the same number twice
		if told := must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells",
			measured(row.ID, replicate, 1)); len(told.Rows) != 1 {
			t.Errorf("replicate %d: %+v", replicate, told)
		}
	}
	must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/corrections", measured(row.ID, 2, 2))
	must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells", measured(repeats[0].ID, 0, 1.25))
	must[wire.Changed](t, v, "labeller", "POST", "/v1/campaigns/small/failures",
		map[string]any{"ids": []string{batch.Rows[2].ID + "#2"}})
	if status, body := v.do(t, "labeller", "POST", "/v1/campaigns/small/returns",
		map[string]any{"ids": []string{batch.Rows[2].ID + "#2"}}); status != http.StatusUnprocessableEntity ||
		!strings.Contains(string(body), "replicate 2 of the row is not out") {
		t.Errorf("%d %s", status, body)
	}
	history := must[RowHistory](t, v, "viewer", "GET", rowPath(row.Row.Row), nil)
	if m := history.Measurements; len(m) != 2 || history.Measured != 2 || *history.Labels["y"] != 1.5 ||
		m[1].Well != batch.Rows[1].Well || m[1].Ask != 1 || m[1].Replicate != 2 || len(history.Out) != 0 {
		t.Errorf("the row is %+v", history)
	}
	if history = must[RowHistory](t, v, "viewer", "GET", rowPath(batch.Rows[2].Row.Row), nil); len(history.Out) != 1 ||
		history.Out[0].Replicate != 1 || history.Out[0].Person != "leo" || history.Failures != 1 {
		t.Errorf("a row that is out is %+v", history)
	}
	if history = must[RowHistory](t, v, "viewer", "GET", rowPath(repeats[0].Row.Row), nil); history.Measured != 2 ||
		!history.Measurements[1].Repeat {
		t.Errorf("a repeated row is %+v", history)
	}
	_, export := v.ask(t, "GET", "/v1/campaigns/small/rows/export?search="+row.ID, "", "Authorization",
		"Bearer "+v.secrets["viewer"])
	if !strings.Contains(export, "measured,wells") || !strings.Contains(export, "1.5,2,1:"+batch.Rows[0].Well+
		" 1:"+batch.Rows[1].Well) {
		t.Errorf("the export is %s", export)
	}
	standing := must[campaign.Standing](t, v, "viewer", "GET", "/v1/campaigns/small/standing", nil)
	if noise := standing.Targets[0].Noise; noise.Rows != 2 || noise.Freedom != 2 || standing.Repeats != 1 {
		t.Errorf("the standing is %+v", standing)
	}
}

// A labeller may correct their own measurement of a row that others have measured, too.
func TestLabellersCorrectTheirOwnReplicates(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	one := func(replicate int, y float64) map[string]any {
		return map[string]any{"rows": []any{map[string]any{"id": "s50", "replicate": replicate,
			"values": map[string]float64{"y": y}}}}
	}
	must[Told](t, v, "owner", "POST", "/v1/campaigns/small/tells", one(1, 1))
	must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells", one(2, 1))
	for _, replicate := range []int{0, 1} {
		if status, body := v.do(t, "labeller", "POST", "/v1/campaigns/small/corrections",
			one(replicate, 2)); status != http.StatusForbidden {
			t.Errorf("replicate %d: %d %s", replicate, status, body)
		}
	}
	if told := must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/corrections", one(2, 2)); len(told.Rows) != 1 {
		t.Errorf("corrected %+v", told)
	}
}

// Runs share values, and what cannot be met names the constraints that conflict.
func TestConstraintsOverHTTP(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings",
		with(map[string]any{"same": []string{"colour"}, "audit": 0.25}))
	j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
		map[string]any{"rows": 8, "runs": 2}))
	if j.State != wire.Done {
		t.Fatalf("the job ended as %+v", j)
	}
	batch := must[Batch](t, v, "viewer", "GET", "/v1/campaigns/small/asks/1", nil)
	colours, audits := map[int][]any{}, 0
	for _, r := range batch.Rows {
		colours[r.Run] = append(colours[r.Run], r.Shared["colour"])
		if r.Shared["colour"] != r.Inputs["colour"] {
			t.Errorf("measurement %+v", r)
		}
		if r.Audit {
			audits++
		}
	}
	for run, list := range colours {
		if len(list) != 4 || slices.ContainsFunc(list, func(c any) bool { return c != list[0] }) {
			t.Errorf("run %d has the colours %v", run, list)
		}
	}
	if len(colours) != 2 || audits != 2 {
		t.Errorf("the batch has %d runs and %d audit rows", len(colours), audits)
	}
	for _, c := range []struct {
		what   string
		body   map[string]any
		wanted []string
	}{
		{"runs without columns", map[string]any{"rows": 8, "same": []string{}, "runs": 2}, []string{"runs", "same"}},
		{"an unknown column", map[string]any{"rows": 8, "same": []string{"size"}}, []string{`no column \"size\"`}},
		{"a part of a row", map[string]any{"rows": 7, "replicates": 2}, []string{"replicates 2", "6 or 8"}},
		{"a share of nothing", map[string]any{"rows": 8, "replicate_share": "1/x"}, []string{"1/x"}},
		{"no plate", map[string]any{"rows": 8, "plate": "huge"}, []string{"plate", "8x12"}},
		{"no group", map[string]any{"rows": 8, "min_per_group": 2}, []string{"group_column", "min_per_group"}},
	} {
		status, body := v.do(t, "labeller", "POST", "/v1/campaigns/small/asks", c.body)
		if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", c.what, status, body)
		}
		for _, text := range c.wanted {
			if !strings.Contains(string(body), text) {
				t.Errorf("%s: %s does not say %q", c.what, body, text)
			}
		}
	}
	j = v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
		map[string]any{"rows": 60}))
	if j.State != wire.Failed || !strings.Contains(j.Problem, "same colour and rows 60") {
		t.Errorf("a run with too many rows: %+v", j)
	}
	if status, body := v.do(t, "owner", "PUT", "/v1/campaigns/small/settings",
		with(map[string]any{"same": []string{"size"}})); status != http.StatusUnprocessableEntity {
		t.Errorf("settings with an unknown column: %d %s", status, body)
	}
}
