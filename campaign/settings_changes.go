package campaign

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// SettingChange is a setting that an event changed.
type SettingChange struct {
	Setting string `json:"setting" doc:"its name in the JSON of settings, with dots between the names of objects and their parts"`
	From    any    `json:"from" doc:"null: it had its default"`
	To      any    `json:"to" doc:"null: it has its default"`
}

// SettingsChanges returns what the events of a log changed in the settings, by their numbers. Each is compared with the
// settings that were in effect before it, without events that have been undone since.
func (s *State) SettingsChanges(log []Event) map[int64][]SettingChange {
	found := map[int64][]SettingChange{}
	before := map[string]any{}
	for _, e := range log {
		var now map[string]any
		switch {
		case e.Created != nil:
			now = e.Created.Settings.flat()
		case e.Settings != nil:
			now = e.Settings.flat()
			found[e.Seq] = changesOf(before, now)
		}
		if now != nil && !s.Undone(e.Seq) {
			before = now
		}
	}
	return found
}

func changesOf(before, now map[string]any) []SettingChange {
	all := maps.Clone(before)
	maps.Copy(all, now)
	list := []SettingChange{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if from, to := before[name], now[name]; !reflect.DeepEqual(from, to) {
			list = append(list, SettingChange{name, from, to})
		}
	}
	return list
}

// flat returns the settings by their names, without those that are not set.
func (s Settings) flat() map[string]any {
	raw, err := json.Marshal(s)
	var tree map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &tree)
	}
	if err != nil { // checked settings can be written and read
		panic(err)
	}
	list := map[string]any{}
	flatten(list, "", tree)
	return list
}

func flatten(list map[string]any, prefix string, tree map[string]any) {
	for name, v := range tree {
		switch v := v.(type) {
		case nil:
		case map[string]any:
			flatten(list, prefix+name+".", v)
		default:
			list[prefix+name] = v
		}
	}
}
