package cli

import (
	"io"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestArrayAsTable reads one of several arrays as a table.
func TestArrayAsTable(t *testing.T) {
	const file = "../../../internal/source/formats/testdata/python/several.npz"
	var f columnFlags
	table, err := f.read(t.Context(), file+":X", false)
	if err != nil || table.Names()[0] != "c0" {
		t.Fatalf("%v, %v", table, err)
	}
	if _, err := f.read(t.Context(), file, false); err == nil {
		t.Error("no array is named, but one was read")
	}
}

// TestEveryFlagHasWords: a bad value of any flag is explained.
func TestEveryFlagHasWords(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if wantedOf(f) == "" {
				t.Errorf("%s --%s: no words for a %s", c.CommandPath(), f.Name, f.Value.Type())
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(io.Discard, io.Discard))
}
