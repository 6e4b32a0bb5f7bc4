package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// A labeller corrects what they measured themselves, and nothing else. The row says who measured what.
func TestLabellersCorrectTheirOwn(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	rows := func(value float64, ids ...string) map[string]any {
		var list []any
		for _, id := range ids {
			list = append(list, map[string]any{"id": id, "values": map[string]float64{"y": value}})
		}
		return map[string]any{"rows": list}
	}
	must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells", rows(1, "s50"))
	must[Told](t, v, "owner", "POST", "/v1/campaigns/small/tells", rows(1, "s51"))
	for _, ids := range [][]string{{"s51"}, {"s50", "s51"}, {"s0"}} {
		status, body := v.do(t, "labeller", "POST", "/v1/campaigns/small/corrections", rows(2, ids...))
		if status != http.StatusForbidden || !strings.Contains(string(body), "not yours") {
			t.Errorf("%v: %d %s", ids, status, body)
		}
	}
	corrected := must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/corrections", rows(2, "s50"))
	must[Told](t, v, "owner", "POST", "/v1/campaigns/small/corrections", rows(3, "s50", "s51"))
	must[wire.Changed](t, v, "owner", "POST", "/v1/campaigns/small/undo", map[string]any{"event": corrected.Event + 1})
	row := must[RowHistory](t, v, "viewer", "GET", "/v1/campaigns/small/rows/50", nil)
	if m := row.Measurements; len(m) != 1 || m[0].Event != corrected.Event || m[0].Person != "leo" ||
		m[0].Values["y"] != 2 || *row.Labels["y"] != 2 {
		t.Errorf("the row is %+v", row)
	}
	if row := must[RowHistory](t, v, "viewer", "GET", "/v1/campaigns/small/rows/55", nil); row.Measurements == nil ||
		len(row.Measurements) != 0 {
		t.Errorf("a row without a label is %+v", row)
	}
}

// A new campaign takes its lease, whether it starts with random labels, and columns to skip, as a preview does; the log
// says what a later change changed.
func TestChoicesOfANewCampaign(t *testing.T) {
	t.Parallel()
	v := newService(t)
	const query = "&target=y&id=name&ignore=b&lease=36h&random_start=true"
	made := must[Campaign](t, v, "owner", "POST", "/v1/campaigns?name=small"+query, sample(40))
	if s := made.Settings; time.Duration(s.Lease) != 36*time.Hour || !s.RandomStart || len(made.Columns) != 2 ||
		made.Columns[0].Name != "a" {
		t.Errorf("the campaign is %+v", made)
	}
	if p := must[Preview](t, v, "owner", "POST", "/v1/previews?target=y&ignore=b", sample(40)); len(p.Columns) != 4 {
		t.Errorf("the preview has %+v", p.Columns)
	}
	for query, want := range map[string]string{"&lease=soon": `lease \"soon\" must be a time such as 36h`,
		"&ignore=x": "no such column: x"} {
		if status, body := v.do(t, "owner", "POST", "/v1/campaigns?name=other&target=y"+query,
			sample(40)); status != http.StatusUnprocessableEntity || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	settings := made.Settings
	settings.Batch, settings.RandomStart = 8, false
	changed := must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settings)
	log := must[[]wire.LogEvent](t, v, "viewer", "GET", "/v1/campaigns/small/events", nil)
	last := log[len(log)-1]
	want := []campaign.SettingChange{{Setting: "batch", To: 8.0}, {Setting: "random_start", From: true}}
	if last.Event != changed.Event || len(last.Changes) != 2 || last.Changes[0] != want[0] || last.Changes[1] != want[1] ||
		log[0].Changes != nil {
		t.Errorf("the log ends with %+v", last)
	}
}
