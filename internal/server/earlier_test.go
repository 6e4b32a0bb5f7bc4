package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/wire"
)

// TestEarlierData: an owner adds labelled rows of another instrument, which the log names; what cannot be used is
// rejected, and the answer names the table.
func TestEarlierData(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	const path = "/v1/campaigns/small/earlier?name=old.csv"
	table := "a,b,y\n"
	for i := range 20 {
		table += fmt.Sprintf("0.%d,0.%d,%d\n", i, 20-i, 100+3*i)
	}
	if status, _ := v.do(t, "labeller", "POST", path, table); status != 403 {
		t.Error("a labeller gets", status)
	}
	changed := must[wire.Changed](t, v, "owner", "POST", path, table)
	events := must[[]wire.LogEvent](t, v, "viewer", "GET", fmt.Sprintf("/v1/campaigns/small/events?after=%d",
		changed.Event-1), nil)
	if len(events) != 1 || events[0].Kind != "earlier" {
		t.Errorf("the log has %+v", events)
	}
	for text, want := range map[string]string{
		"a,b\n1,2\n":     `old.csv: column \"y\" is not in the table`,
		"a,y\n1,2\n3,\n": "old.csv: 1 row has a label; earlier data need at least 5",
	} {
		if status, body := v.do(t, "owner", "POST", path, text); status != 422 || !strings.Contains(string(body), want) {
			t.Error(status, string(body))
		}
	}
}
