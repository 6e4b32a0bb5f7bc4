package campaign_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// TestSettingsAsTheyAreStored: logs hold settings in this form, which structs that they share with requests must not
// change.
func TestSettingsAsTheyAreStored(t *testing.T) {
	t.Parallel()
	config, err := json.Marshal(network.Config{})
	if err != nil {
		t.Fatal(err)
	}
	all := campaign.Settings{
		Spec: "random", Choices: fitted.Choices{Members: 2, Seed: 3}, Batch: 4, Audit: new(0.5), Lease: -1,
		Latest: true, RandomStart: true,
		Columns: tables.Columns{Weights: []float64{1, 2}, Ranges: dataset.Ranges{{Low: 0, High: 1}, {Low: 0, High: 100}},
			Categorical: []string{"a"}, Keep: []string{"b"}}, Missing: "drop",
		Limits: limits.Limits{CostColumn: "c", Budget: new(6.0), PerCost: true, GroupColumn: "d",
			PerGroup: 7, GroupIsInput: true},
	}
	for want, s := range map[string]campaign.Settings{
		`{"network":` + string(config) + `,"seed":0}`: {},
		`{"spec":"random","network":` + string(config) +
			`,"members":2,"seed":3,"batch":4,"audit":0.5,"lease":"-1ns","latest":true,"random_start":true,` +
			`"weights":[1,2],"range":["0..1","0..100"],"categorical":["a"],"keep":["b"],"missing":"drop","cost_column":"c",` +
			`"budget":6,"per_cost":true,"group_column":"d","per_group":7,"group_is_input":true}`: all,
	} {
		if got, err := json.Marshal(s); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// TestSettingsChanges: each change is compared with the settings that were in effect before it.
func TestSettingsChanges(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 20, campaign.Settings{Batch: 16})
	change := func(edit func(*campaign.Settings)) int64 {
		t.Helper()
		settings := state(t, c).Settings
		edit(&settings)
		changed, err := c.ChangeSettings(t.Context(), ada, settings)
		if err != nil {
			t.Fatal(err)
		}
		return changed.Seq
	}
	first := change(func(s *campaign.Settings) { s.Batch, s.Network.Training.Epochs = 32, 77 })
	if _, err := c.Undo(t.Context(), ada, first, ""); err != nil {
		t.Fatal(err)
	}
	second := change(func(s *campaign.Settings) { s.Batch, s.RandomStart, s.Keep = 0, true, []string{"x"} })
	log, err := c.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(state(t, c).SettingsChanges(log))
	want := fmt.Sprintf(
		`{"%d":[{"setting":"batch","from":16,"to":32},{"setting":"network.training.epochs","from":%d,"to":77}],`+
			`"%d":[{"setting":"batch","from":16,"to":null},{"setting":"keep","from":null,"to":["x"]},`+
			`{"setting":"random_start","from":null,"to":true}]}`,
		first, tiny().Training.Epochs, second)
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}

// TestSettingsNameColumns: settings that name a column which the rows do not have are rejected, when they change and
// when a campaign begins. The id and the targets may be categories, as in tables.
func TestSettingsNameColumns(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 20, campaign.Settings{})
	before := state(t, c).Settings
	for want, edit := range map[string]func(*campaign.Settings){
		`categorical: the rows have no column "nope"`: func(s *campaign.Settings) { s.Categorical = []string{"x", "nope"} },
		`keep: the rows have no column "name"`:        func(s *campaign.Settings) { s.Keep = []string{"name"} },
		`ordered: the rows have no column "nope"`: func(s *campaign.Settings) {
			s.Ordered = map[string][]string{"nope": {"low", "high"}}
		},
		`the rows have no column "hours"`: func(s *campaign.Settings) {
			s.CostColumn,
				s.Budget = "hours", new(9.0)
		},
		`the rows have no column "site"`: func(s *campaign.Settings) { s.GroupColumn, s.PerGroup = "site", 1 },
		`the rows have no column "oven"`: func(s *campaign.Settings) { s.Same = []string{"oven"} },
		"": func(s *campaign.Settings) {
			s.Categorical,
				s.Keep = []string{"z", "name", "y"}, []string{"x"}
		},
	} {
		settings := before
		edit(&settings)
		_, err := c.ChangeSettings(t.Context(), ada, settings)
		_, fresh := campaign.New(t.Context(), &storetest.Memory{}, "d", campaign.Start{
			Table: pool(0, 20), IDColumn: "name", Targets: []string{"y"}, Settings: settings, By: ada, Clock: newClock().Now,
		})
		for _, err := range []error{err, fresh} {
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
}
