package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/wire"
)

// A labeller takes back what they did themselves, and nothing else.
func TestLabellersUndoTheirOwn(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	tell := func(who, id string) Told {
		return must[Told](t, v, who, "POST", "/v1/campaigns/small/tells", map[string]any{
			"rows": []any{map[string]any{"id": id, "values": map[string]float64{"y": 1}}},
		})
	}
	own, other := tell("labeller", "s50"), tell("owner", "s51")
	undo := func(event int64) map[string]any { return map[string]any{"event": event} }
	status, body := v.do(t, "labeller", "POST", "/v1/campaigns/small/undo", undo(other.Event))
	if status != http.StatusForbidden || !strings.Contains(string(body), "not yours") {
		t.Errorf("somebody else's event: %d %s", status, body)
	}
	if status, body := v.do(t, "labeller", "POST", "/v1/campaigns/small/undo", undo(99)); status != http.StatusConflict {
		t.Errorf("an event that is not there: %d %s", status, body)
	}
	must[wire.Changed](t, v, "labeller", "POST", "/v1/campaigns/small/undo", undo(own.Event))
	must[wire.Changed](t, v, "owner", "POST", "/v1/campaigns/small/undo", undo(other.Event))
	if s := must[Campaign](t, v, "viewer", "GET", "/v1/campaigns/small", nil); s.Labelled != 12 {
		t.Errorf("%d rows are labelled after both were undone", s.Labelled)
	}
}
