package campaign_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/tables"
)

// TestLeaks: a column that is measured together with the label is not an input of a campaign, from the beginning on or
// since rows with labels were added, unless a setting keeps it. Rows may lack it even where rows that lack an input are
// dropped.
func TestLeaks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ column, why string }{
		"conversion": {"conversion",
			`column "conversion" is not used: it has values in 24 of 24 labelled rows and in 0 of 96 others`},
		"renamed": {"outcome", `column "outcome" is not used: it equals the label in all 24 rows that have both`},
		"notes":   {"notes", `column "notes" is not used: it has values in 19 of 24 labelled rows and in 0 of 276 others`},
	} {
		path := filepath.Join("..", "tables", "testdata", "leaks", name+".csv")
		table, err := source.ReadFile(t.Context(), path, source.Options{ID: "id"}.WithLabels([]string{"yield"}))
		if err != nil {
			t.Fatal(err)
		}
		labelled := tables.AnyLabel(table, []string{"yield"})
		var with, without []int
		for row := range table.Rows() {
			if labelled(row) {
				with = append(with, row)
			} else {
				without = append(without, row)
			}
		}
		settings := campaign.Settings{Choices: fitted.Choices{Network: tiny()}, Missing: "drop"}
		begin := func(name string, rows []int, s campaign.Settings) *campaign.Campaign {
			start := campaign.Start{Table: table.Select(rows), IDColumn: "id", Targets: []string{"yield"}, Settings: s}
			c, err := campaign.New(t.Context(), &storetest.Memory{}, name, start)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		says := func(texts []string) bool {
			return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, want.why) })
		}
		whole := begin("whole", slices.Concat(with, without), settings)
		grown := begin("grown", without, settings)
		added, err := grown.Add(t.Context(), campaign.By{}, table.Select(with))
		if err != nil {
			t.Fatal(err)
		}
		if leaks, err := grown.NewLeaks(t.Context(), added, campaign.Ask{}); err != nil || !says(leaks) {
			t.Errorf("%s, added: %q, %v", name, leaks, err)
		}
		for _, c := range []*campaign.Campaign{whole, grown} {
			s, err := c.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if leaks, err := c.Leaks(t.Context(), s, campaign.Ask{}); err != nil || !says(leaks) ||
				!strings.Contains(leaks[0], "keep=[\""+want.column+"\"] makes") {
				t.Errorf("%s: %q, %v", name, leaks, err)
			}
			b, err := c.Ask(t.Context(), campaign.By{}, campaign.Ask{Rows: 8})
			if err != nil {
				t.Fatal(err)
			}
			audits := 0
			for _, row := range b.Rows {
				if row.Audit {
					audits++
				}
			}
			if !says(b.Result.Warnings) || len(b.Rows) != 8 || audits != 1 {
				t.Errorf("%s: %d rows, %d of them audit rows, %q", name, len(b.Rows), audits, b.Result.Warnings)
			}
		}
		settings.Keep, settings.Missing = []string{want.column}, ""
		b, err := begin("kept", slices.Concat(with, without), settings).Ask(t.Context(), campaign.By{}, campaign.Ask{Rows: 4})
		if err != nil || says(b.Result.Warnings) {
			t.Errorf("%s, kept: %q, %v", name, b.Result.Warnings, err)
		}
	}
}
