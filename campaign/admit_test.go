package campaign_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
)

// labelledCampaign returns a campaign with enough labels for a network and for the gain meter.
func labelledCampaign(t *testing.T, settings campaign.Settings) *campaign.Campaign {
	t.Helper()
	settings.Audit = new(1.0)
	c, _ := begin(t, 120, settings)
	for range 2 {
		batch := ask(t, c, campaign.Ask{Rows: 50})
		var labels []any
		for i, id := range ids(batch) {
			labels = append(labels, id, float64(i%7))
		}
		tell(t, c, labels...)
	}
	return c
}

// TestEverythingIsAdmitted: whatever trains or embeds asks whether there is memory for it, with
// a forecast that includes the settings, and names these as users do.
func TestEverythingIsAdmitted(t *testing.T) {
	c := labelledCampaign(t, campaign.Settings{Spec: "lcmd-tp:grad>sketch(8)"})
	most := int64(0)
	a := campaign.Ask{Rows: 2, Admit: func(bytes int64, less ...string) error {
		most = max(most, bytes)
		if bytes < 1<<30 {
			return nil
		}
		return errors.New("no memory; try " + strings.Join(less, ", or "))
	}}
	kinds := map[string]func() error{
		"ask":     func() error { _, err := c.Ask(t.Context(), ada, a); return err },
		"predict": func() error { _, err := c.Predict(t.Context(), a); return err },
		"map":     func() error { _, err := c.Map(t.Context(), a, 1000); return err },
		"gain":    func() error { return c.MeasureGain(t.Context(), a) },
	}
	for kind, do := range kinds {
		if most = 0; do() != nil || most == 0 {
			t.Errorf("%s: admitted for %d bytes, %v", kind, most, do())
		}
	}
	change := func(change func(*campaign.Settings)) {
		s := state(t, c).Settings
		change(&s)
		if _, err := c.ChangeSettings(t.Context(), ada, s); err != nil {
			t.Fatal(err)
		}
	}
	change(func(s *campaign.Settings) { s.Network.Architecture.Hidden = []int{1000000, 1000000} })
	for kind, do := range kinds {
		err := do()
		if err == nil || !strings.Contains(err.Error(), "narrower layers (hidden)") {
			t.Errorf("%s with wide layers: %v", kind, err)
		}
	}
	change(func(s *campaign.Settings) {
		s.Network, s.Spec = tiny(), "lcmd-tp:grad>sketch(1048576)>sketch(1048576)"
	})
	for _, kind := range []string{"ask", "map"} {
		if err := kinds[kind](); err == nil || !strings.Contains(err.Error(), "a smaller sketch") {
			t.Errorf("%s with large sketches: %v", kind, err)
		}
	}
	for _, kind := range []string{"predict", "gain"} {
		if err := kinds[kind](); err != nil {
			t.Errorf("%s computes no features, but: %v", kind, err)
		}
	}
}

func TestSettingsAreLimitedAndNamed(t *testing.T) {
	for wanted, s := range map[string]campaign.Settings{
		"members must be from 0 to 1000, not 2000000000":       {Choices: fitted.Choices{Members: 2_000_000_000}},
		"budget needs the costs: name their column with cost_": {Limits: limits.Limits{Budget: new(3.0)}},
		"per_cost needs cost_column":                           {Limits: limits.Limits{PerCost: true}},
		"2000000000 epochs, but from 1 to 1073741824 are possible": {Choices: fitted.Choices{
			Network: network.Config{Training: network.Training{Epochs: 2_000_000_000}}}},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%v, want %s", err, wanted)
		}
	}
	named := func(field string, value ...string) string { return "--" + strings.ToLower(field) }
	if err := (campaign.Settings{Choices: fitted.Choices{Members: -1}}).CheckNamed(named); err == nil ||
		!strings.Contains(err.Error(), "--members") {
		t.Error(err)
	}
	if _, err := campaign.New(t.Context(), nil, "c", campaign.Start{
		Table: pool(0, 3), IDColumn: "name", Targets: []string{"y"},
		Settings: campaign.Settings{Choices: fitted.Choices{Members: 1001}},
	}); err == nil || !strings.Contains(err.Error(), "members") {
		t.Errorf("a new campaign: %v", err)
	}
}

// TestStoredSettingsBeyondTheLimit: a log of an earlier version stays readable, though its settings
// would be refused today.
func TestStoredSettingsBeyondTheLimit(t *testing.T) {
	c, _ := begin(t, 3, campaign.Settings{Choices: fitted.Choices{Members: 999}, Spec: "lcmd-tp:grad"})
	log, err := c.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]campaign.Settings{
		"many members":          {Choices: fitted.Choices{Members: 2_000_000_000}},
		"more runs than rows":   {Batch: 4, Limits: limits.Limits{Same: []string{"kind"}, Runs: 9}},
		"the same column twice": {Limits: limits.Limits{Same: []string{"kind", "kind"}}},
		"members below 0":       {Choices: fitted.Choices{Members: -1}},
		"many epochs": {Choices: fitted.Choices{
			Network: network.Config{Training: network.Training{Epochs: 2_000_000_000}}}},
		"many transformations":   {Spec: "lcmd-tp:grad" + strings.Repeat(">scale(2)", 33)},
		"a spec of 5000 letters": {Spec: "lcmd-tp:grad" + strings.Repeat(" ", 5000)},
	} {
		if s.Check() == nil {
			t.Errorf("%s: new settings may have them", name)
		}
		log[0].Created.Settings = s
		raw, err := json.Marshal(log[0])
		if err != nil {
			t.Fatal(err)
		}
		event, err := new(campaign.EventDecoder).Decode(raw)
		if err != nil || !reflect.DeepEqual(event.Created.Settings, s) {
			t.Errorf("%s: %v, %v", name, event.Created, err)
		}
	}
}
