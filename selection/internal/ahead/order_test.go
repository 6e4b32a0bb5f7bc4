package ahead

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/fileorder"
)

// TestNoFileUsesALaterOne: groups and runs know the batch alone, and the search of runs its parts, not the other way.
func TestNoFileUsesALaterOne(t *testing.T) {
	t.Parallel()
	fileorder.Check(t, "tally.go", "groups.go", "cells.go", "values.go", "flow.go", "choices.go", "runs.go")
}
