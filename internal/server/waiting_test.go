package server

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// A label that is far from the others waits, wherever one looks at it, until it is confirmed or corrected.
func TestLabelsThatWait(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	tell := func(who, path string, accept bool, pairs map[string]float64) Told {
		t.Helper()
		var rows []any
		for id, value := range pairs {
			rows = append(rows, map[string]any{"id": id, "values": map[string]float64{"y": value}})
		}
		return must[Told](t, v, who, "POST", "/v1/campaigns/small/"+path, map[string]any{"rows": rows, "accept": accept})
	}
	usual := map[string]float64{}
	for i := 12; i < 40; i++ {
		usual[fmt.Sprintf("s%d", i)] = 1 + float64(i%9)/4
	}
	if told := tell("labeller", "tells", false, usual); len(told.Waiting) != 0 {
		t.Fatalf("usual labels wait: %+v", told.Waiting)
	}
	told := tell("labeller", "tells", false, map[string]float64{"s50": 210})
	if len(told.Waiting) != 1 || told.Waiting[0].ID != "s50" ||
		!strings.HasPrefix(told.Waiting[0].Why.String(), "210; expected ") || told.Waiting[0].Person != "leo" {
		t.Fatalf("told %+v", told)
	}
	counts := func() campaign.Counts {
		return must[Campaign](t, v, "viewer", "GET", "/v1/campaigns/small", nil).Counts
	}
	if c := counts(); c.Waiting != 1 || c.Labelled != 40 {
		t.Errorf("while it waits: %+v", c)
	}
	row := must[RowHistory](t, v, "viewer", "GET", "/v1/campaigns/small/rows/50", nil)
	if row.Status != "waiting" || row.Labels["y"] != nil || len(row.Waiting) != 1 || row.Waiting[0].Value != 210 ||
		len(row.Measurements) != 1 {
		t.Errorf("the row is %+v", row)
	}
	if page := must[RowPage](t, v, "viewer", "GET", "/v1/campaigns/small/rows?status=waiting", nil); page.Total != 1 ||
		page.Rows[0].ID != "s50" {
		t.Errorf("rows that wait: %+v", page)
	}
	if page := must[RowPage](t, v, "viewer", "GET", "/v1/campaigns/small/rows?status=open&limit=1000",
		nil); page.Total != 19 {
		t.Errorf("%d rows are open", page.Total)
	}
	if s := must[campaign.Standing](t, v, "viewer", "GET", "/v1/campaigns/small/standing", nil); len(s.Doubtful) != 1 ||
		s.Doubtful[0].ID != "s50" {
		t.Errorf("the standing has %+v", s.Doubtful)
	}
	ids := map[string]any{"ids": []string{"s50"}, "reason": "measured twice"}
	if status, _ := v.do(t, "viewer", "POST", "/v1/campaigns/small/confirmations", ids); status != http.StatusForbidden {
		t.Errorf("a viewer confirms: %d", status)
	}
	confirmed := must[wire.Changed](t, v, "labeller", "POST", "/v1/campaigns/small/confirmations", ids)
	if c := counts(); c.Waiting != 0 || c.Labelled != 41 {
		t.Errorf("once it is confirmed: %+v", c)
	}
	must[wire.Changed](t, v, "labeller", "POST", "/v1/campaigns/small/undo", map[string]any{"event": confirmed.Event})
	if corrected := tell("labeller", "corrections", false, map[string]float64{"s50": 2.1}); len(corrected.Waiting) != 0 ||
		corrected.Event == 0 {
		t.Errorf("the correction is %+v", corrected)
	}
	if told := tell("labeller", "tells", true, map[string]float64{"s51": 210}); len(told.Waiting) != 0 {
		t.Errorf("a label that was accepted waits: %+v", told.Waiting)
	}
	if c := counts(); c.Waiting != 0 || c.Labelled != 42 {
		t.Errorf("in the end: %+v", c)
	}
	if status, body := v.do(t, "owner", "POST", "/v1/campaigns/small/confirmations",
		map[string]any{"ids": []string{"s55", "x"}}); status != http.StatusUnprocessableEntity ||
		!strings.Contains(string(body), "no label that could be confirmed") {
		t.Errorf("rows without a label: %d %s", status, body)
	}
}

// The labels of a campaign are audited by a job; what it finds says whether a label has changed since.
func TestAudit(t *testing.T) {
	t.Parallel()
	v := newService(t)
	table := strings.Builder{}
	table.WriteString("name,a,b,y\n")
	for i := range 90 {
		a, b := math.Sin(float64(i)), math.Cos(1.7*float64(i))
		y := a + 2*b
		if i == 17 {
			y += 4 // wrong, but not so much that it waits
		}
		fmt.Fprintf(&table, "s%d,%.4f,%.4f,%.4f\n", i, a, b, y)
	}
	table.WriteString("s90,0.5,0.5,\n")
	must[Campaign](t, v, "owner", "POST", "/v1/campaigns?name=small&target=y&id=name&learner=gp", table.String())
	if none := must[LastAudit](t, v, "viewer", "GET", "/v1/campaigns/small/audit", nil); none.Audit != nil {
		t.Errorf("before: %+v", none.Audit)
	}
	j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/audits", map[string]any{}))
	if j.Kind != "audit" || j.State != wire.Done || j.Progress.Stage != "auditing" {
		t.Fatalf("the job is %+v", j)
	}
	found := func() wire.AuditTarget {
		t.Helper()
		made := must[LastAudit](t, v, "viewer", "GET", "/v1/campaigns/small/audit", nil).Audit
		if made == nil || made.Labelled != 90 || len(made.Targets) != 1 || len(made.Targets[0].Findings) != 20 {
			t.Fatalf("the audit is %+v", made)
		}
		return made.Targets[0]
	}
	y := found()
	if worst := y.Findings[0]; y.Answer != "1 label of 90 looks wrong, with a p-value of at most 0.05." ||
		worst.ID != "s17" || worst.Row != 17 || worst.P == nil || worst.Changed || y.Findings[19].P != nil {
		t.Errorf("found %+v", y)
	}
	must[Told](t, v, "owner", "POST", "/v1/campaigns/small/corrections",
		map[string]any{"rows": []any{map[string]any{"id": "s17", "values": map[string]float64{"y": 1}}}})
	if y := found(); !y.Findings[0].Changed || y.Findings[1].Changed {
		t.Errorf("after a correction: %+v", y.Findings[:2])
	}
}
