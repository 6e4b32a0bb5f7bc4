package nextbatch_test

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/fileorder"
)

// TestNoFileUsesALaterOne: the order is that of ARCHITECTURE.md, from the bottom.
func TestNoFileUsesALaterOne(t *testing.T) {
	t.Parallel()
	fileorder.Check(t, "doc.go", "version.go", "float.go", "problem.go", "select.go", "features.go", "rows.go", "request.go", "doubtful.go", "plan.go", "needs.go", "limits.go", "limits_batch.go",
		"result.go", "replicates.go", "layout.go", "plan_request.go")
}
