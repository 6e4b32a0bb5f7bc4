package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/learner"
)

// TestLearners: a new campaign blends, unless the request names another learner; its standing says what was chosen, and
// settings that do not name a learner keep it.
func TestLearners(t *testing.T) {
	t.Parallel()
	v := newService(t)
	made := must[Campaign](t, v, "owner", "POST", "/v1/campaigns?name=blend&target=y&id=name", sample(60))
	if made.Settings.Learner != learner.Auto {
		t.Errorf("a new campaign has the learner %q", made.Settings.Learner)
	}
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/blend/settings", settings)
	if now := must[Campaign](t, v, "viewer", "GET", "/v1/campaigns/blend", nil); now.Settings.Learner != learner.Auto ||
		now.Settings.Seed != 1 {
		t.Errorf("the settings are %+v", now.Settings)
	}
	j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/blend/asks",
		map[string]any{"rows": 8}))
	if j.State != wire.Done {
		t.Fatalf("the ask ended as %+v", j)
	}
	standing := must[campaign.Standing](t, v, "viewer", "GET", "/v1/campaigns/blend/standing", nil)
	if found := standing.Targets[0].Learners; standing.Learner != learner.Auto || len(found) != 1 || found[0].Ask != 1 ||
		found[0].Weights().String() == "" || len(found[0].Candidates) < 2 {
		t.Errorf("the standing has %q, %+v", standing.Learner, found)
	}
	for kind, path := range map[string]string{"predict": "predictions", "map": "maps"} {
		if j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/blend/"+path,
			map[string]any{})); j.State != wire.Done {
			t.Errorf("%s ended as %+v", kind, j)
		}
	}
	other := map[string]any{"learner": "gp"}
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/blend/settings", other)
	v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/blend/asks",
		map[string]any{"rows": 2}))
	if found := must[campaign.Standing](t, v, "viewer", "GET", "/v1/campaigns/blend/standing",
		nil).Targets[0].Learners; len(found) != 2 || found[1].Weights().String() != "1.00 gp" {
		t.Errorf("with another learner: %+v", found)
	}
	for _, kind := range learner.Kinds() {
		path := "/v1/campaigns?name=a-" + string(kind) + "&target=y&id=name&learner=" + string(kind)
		must[Campaign](t, v, "owner", "POST", path, sample(20))
	}
	for what, path := range map[string]string{"POST": "/v1/campaigns?name=x&target=y&learner=forest",
		"PUT": "/v1/campaigns/blend/settings"} {
		body := any(sample(20))
		if what == "PUT" {
			body = map[string]any{"learner": "forest"}
		}
		if status, raw := v.do(t, "owner", what, path, body); status != http.StatusUnprocessableEntity ||
			!strings.Contains(string(raw), "gp") {
			t.Errorf("%s with an unknown learner: %d %s", what, status, raw)
		}
	}
}

// TestNetworksSayNothingOfLearners: the standing of a campaign with networks alone is as it was before there were
// others.
func TestNetworksSayNothingOfLearners(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(40))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settings)
	v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
		map[string]any{"rows": 4}))
	standing := must[map[string]json.RawMessage](t, v, "viewer", "GET", "/v1/campaigns/small/standing", nil)
	if _, there := standing["learner"]; there || strings.Contains(string(standing["targets"]), "learner") {
		t.Errorf("the standing is %s", standing)
	}
}
