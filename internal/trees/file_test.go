package trees

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

func TestSaveAndLoad(t *testing.T) {
	d := simulated(100, 1)
	for name, fit := range kindsOfModel {
		m := fit(t, d, 1)
		var loaded Model
		if err := loaded.UnmarshalBinary(saved(t, m)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(predict(t, &loaded, d.Inputs), predict(t, m, d.Inputs)) {
			t.Errorf("%s: the loaded model predicts something else", name)
		}
		if !slices.Equal(loaded.Columns(), d.Columns) {
			t.Errorf("%s: the loaded model has the columns %v", name, loaded.Columns())
		}
	}
}

// TestDamagedModels changes a saved model in ways that would loop or panic.
func TestDamagedModels(t *testing.T) {
	m := must(FitExtraTrees(context.Background(), numeric(20, 2, 1), ExtraConfig{Trees: 2}, 1))(t)
	damage := map[string]func(m *Model){
		"its nodes are not trees":            func(m *Model) { m.nodes[0].next = 0 },
		"its nodes are not trees ":           func(m *Model) { m.nodes[0].next = 1 << 30 },
		"its nodes are not trees  ":          func(m *Model) { m.nodes[0].split = 4 },
		"its nodes are not trees   ":         func(m *Model) { m.nodes[0].split = -2 },
		"its nodes are not trees    ":        func(m *Model) { m.nodes[len(m.nodes)-1].split = 0 },
		"its nodes are not trees     ":       func(m *Model) { m.nodes[len(m.nodes)-1].next++ },
		"its nodes are not trees      ":      func(m *Model) { m.roots[1]++ },
		"not finite":                         func(m *Model) { m.nodes[1].value = nan },
		"unit of the labels is not positive": func(m *Model) { m.scale.unit = 0 },
		"a feature is of an unknown kind":    func(m *Model) { m.encoder.features[0].kind = kinds },
		"a feature is of an unknown kind ":   func(m *Model) { m.encoder.features[1].column = 2 },
		"a feature is of an unknown level":   func(m *Model) { m.encoder.features[1].kind = indicator },
		"levels of a feature are incomplete": func(m *Model) { m.encoder.features[1].kind = statistic },
		"a categorical column is used":       func(m *Model) { m.encoder.columns[1].Levels = 3 },
		"too many levels":                    func(m *Model) { m.encoder.columns[1].Levels = maxLevels + 1 },
	}
	for want, change := range damage {
		var broken Model
		if err := broken.UnmarshalBinary(saved(t, m)); err != nil {
			t.Fatal(err)
		}
		change(&broken)
		mustReject(t, saved(t, &broken), strings.TrimSpace(want))
	}
	whole := saved(t, m)
	for n := range whole {
		mustReject(t, whole[:n], "")
	}
	mustReject(t, append(slices.Clone(whole), 0), "")
	newer := slices.Clone(whole)
	binary.LittleEndian.PutUint32(newer[len(magic):], 2)
	mustReject(t, newer, "version 2")
}

func mustReject(t *testing.T, data []byte, want string) {
	t.Helper()
	var m Model
	if err := m.UnmarshalBinary(data); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error for %d bytes is %v, want one with %q", len(data), err, want)
	}
}

// FuzzLoad checks that whatever loads also predicts, and saves to the same bytes.
func FuzzLoad(f *testing.F) {
	for _, d := range []Data{simulated(30, 1), numeric(10, 2, 1)} {
		m, err := FitExtraTrees(context.Background(), d, ExtraConfig{Trees: 2, MinLeaf: 3}, 1)
		if err != nil {
			f.Fatal(err)
		}
		data, err := m.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Model
		if m.UnmarshalBinary(data) != nil || len(m.Columns()) > 1000 {
			return
		}
		rows := numeric(3, len(m.Columns()), 1).Inputs
		rows.Data[0] = nan
		predict(t, &m, rows)
		must(m.Leaves(context.Background(), rows))(t)
		if !slices.Equal(saved(t, &m), data) {
			t.Error("the loaded model saves to other bytes")
		}
	})
}
