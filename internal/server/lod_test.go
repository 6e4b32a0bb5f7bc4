package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestLabelsBelowALimit: previews, new campaigns and further rows take the limit of detection, and name the parameter
// without it.
func TestLabelsBelowALimit(t *testing.T) {
	t.Parallel()
	v := newService(t)
	lines := strings.Split(sample(60), "\n")
	cells := strings.Split(lines[1], ",")
	for _, mark := range []string{"<LOD", "n.d."} {
		cells[len(cells)-1] = mark
		lines[1] = strings.Join(cells, ",")
		table := strings.Join(lines, "\n")
		for _, path := range []string{small, "/v1/previews?target=y&id=name"} {
			if status, body := v.do(t, "owner", "POST", path, table); status != http.StatusUnprocessableEntity ||
				!strings.Contains(string(body), "give it: lod=0.5") || strings.Contains(string(body), "--") {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
		if status, body := v.do(t, "owner", "POST", small+"&lod=0,5", table); status != http.StatusUnprocessableEntity ||
			!strings.Contains(string(body), "lod must be a number") {
			t.Errorf("%d %s", status, body)
		}
		must[Preview](t, v, "owner", "POST", "/v1/previews?target=y&id=name&lod=0.5", table)
	}
	made := must[Campaign](t, v, "owner", "POST", small+"&lod=0.5", strings.Join(lines, "\n"))
	if made.Settings.Lod != "0.5" {
		t.Errorf("%+v", made.Settings)
	}
	row := must[Row](t, v, "labeller", "GET", "/v1/campaigns/small/rows/0", nil)
	if row.Labels["y"] == nil || *row.Labels["y"] != 0.5 || row.Censored["y"] != -1 {
		t.Errorf("%+v", row)
	}
}
