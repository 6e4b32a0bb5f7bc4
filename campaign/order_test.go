package campaign_test

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/fileorder"
)

// TestNoFileUsesALaterOne: a campaign and its log come first, and asking, telling and runs build on them.
func TestNoFileUsesALaterOne(t *testing.T) {
	t.Parallel()
	fileorder.Check(t, "doc.go", "settings.go",
		"store.go event.go earlier.go chosen.go censored.go units.go rows.go rowmap.go replicates.go waiting.go "+
			"standing_model.go state.go checks.go fold.go campaign.go sampled.go",
		"settings_changes.go", "ask_request.go", "entry.go", "new.go", "add.go", "changes.go", "view.go", "rowtable.go",
		"measurements.go candidates.go fresh.go", "model.go", "archive.go", "ask.go", "entries.go", "tell.go own.go",
		"fail.go",
		"labelled.go", "map.go", "standing.go", "run.go run_loop.go")
}
