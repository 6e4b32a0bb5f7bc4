package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestLabelsThatHardlyDifferAreRefused: a table whose labels differ by too little to compute with makes no campaign,
// and the answer says what to do.
func TestLabelsThatHardlyDifferAreRefused(t *testing.T) {
	t.Parallel()
	v := newService(t)
	table := "a,y\n1,1e-200\n2,2e-200\n3,3e-200\n4,\n5,\n"
	status, raw := v.do(t, "owner", "POST", "/v1/campaigns?name=tiny&target=y&learner=gp", table)
	if status != http.StatusUnprocessableEntity || !strings.Contains(string(raw), "multiply them by a power of ten") {
		t.Errorf("%d %s", status, raw)
	}
	if status, _ := v.do(t, "owner", "GET", "/v1/campaigns/tiny", nil); status != http.StatusNotFound {
		t.Errorf("the campaign: %d", status)
	}
}
