package spec_test

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/fileorder"
)

// TestNoFileUsesALaterOne: the order is that of the package comment.
func TestNoFileUsesALaterOne(t *testing.T) {
	t.Parallel()
	fileorder.Check(t, "error.go", "text.go", "parameter.go", "registry.go", "method.go", "kernel.go", "transform.go",
		"spec.go", "check.go", "preset.go", "published.go", "register.go", "parse.go")
}
