package spec_test

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/spec"
)

// TestRegisteredPartsMayNeedFloat64: a part without a maker for float32 makes the spec compute in float64.
func TestRegisteredPartsMayNeedFloat64(t *testing.T) {
	for text, want := range map[string]bool{
		"test-own-tp:linear>test-power(3)":  true,
		"test-own-p:test-rbf(0.5)":          true,
		"lcmd-p:ll>sketch(8)>test-power(1)": true,
		"lcmd-p:ll>sketch(8)":               false,
	} {
		if s := spec.MustParse(text); needs.Double(s) != want {
			t.Errorf("%s in float64: %v", text, needs.Double(s))
		}
	}
}
