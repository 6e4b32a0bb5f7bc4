package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestRange: a label outside the declared range is refused, and settings that leave out a label.
func TestRange(t *testing.T) {
	t.Parallel()
	v := newService(t)
	if status, body := v.do(t, "owner", "POST", small+"&range=0..1",
		sample(60)); status != http.StatusUnprocessableEntity || !strings.Contains(string(body),
		"is outside the declared range 0..1") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := v.do(t, "owner", "POST", small+"&range=0-1",
		sample(60)); status != http.StatusUnprocessableEntity || !strings.Contains(string(body), "write it as 0..100") {
		t.Errorf("%d %s", status, body)
	}
	made := must[Campaign](t, v, "owner", "POST", small+"&range=-1000..1000", sample(60))
	if made.Settings.Ranges.String() != "-1000..1000" {
		t.Errorf("the settings have %v", made.Settings.Ranges)
	}
	rows := []any{map[string]any{"id": "s50", "values": map[string]float64{"y": 1003}}}
	if status, body := v.do(t, "labeller", "POST", "/v1/campaigns/small/tells",
		map[string]any{"rows": rows}); status/100 != 4 || !strings.Contains(string(body),
		"the label 1003 is outside the declared range -1000..1000") {
		t.Errorf("%d %s", status, body)
	}
	for _, wrong := range []any{[]string{"0..0.001"}, []string{"0-1"}, []string{"0..1", "0..1"}} {
		if status, body := v.do(t, "owner", "PUT", "/v1/campaigns/small/settings",
			map[string]any{"range": wrong}); status/100 != 4 || !strings.Contains(string(body), "range") {
			t.Errorf("%v: %d %s", wrong, status, body)
		}
	}
}
