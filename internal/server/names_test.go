package server

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
)

// The description states which names a new campaign can have, and the service takes no other.
func TestNamesOfCampaigns(t *testing.T) {
	t.Parallel()
	v := newService(t)
	var pattern *regexp.Regexp
	for _, p := range v.server.api.OpenAPI().Paths["/v1/campaigns"].Post.Parameters {
		if p.Name == "name" {
			pattern = regexp.MustCompile(p.Schema.Pattern)
		}
	}
	for _, name := range []string{
		"a", "..a", ".a", "...", "a/b", "a.b/c..", "ä ö", "../x", "x/../y", "..", ".", "/etc", "a/", "a//b", `a\b`, `..\x`,
		"a/.", "a\x00", "a\nb", "\u0085",
	} {
		taken := campaign.CheckName(name) == nil
		if pattern.MatchString(name) != taken {
			t.Errorf("%q: the pattern of the description says %v", name, !taken)
		}
		address := "/v1/campaigns?target=y&id=name&name=" + url.QueryEscape(name)
		status, body := v.do(t, "owner", "POST", address, sample(20))
		if want := map[bool]int{true: http.StatusCreated, false: http.StatusUnprocessableEntity}[taken]; status != want {
			t.Errorf("%q: %d %s", name, status, body)
		}
		if !taken && !strings.Contains(string(body), "no part between slashes is empty, . or ..") {
			t.Errorf("%q: %s", name, body)
		}
	}
}
