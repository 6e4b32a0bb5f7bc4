package nextbatch_test

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/fileorder"
)

// TestNoFileUsesALaterOne: the order is that of ARCHITECTURE.md, from the bottom.
func TestNoFileUsesALaterOne(t *testing.T) {
	t.Parallel()
	fileorder.Check(t, "version.go", "problem.go", "select.go", "features.go", "rows.go", "request.go", "fit.go",
		"plan.go", "forecast.go", "result.go")
}
