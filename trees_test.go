package nextbatch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/learner"
)

// TestTreesPickDifferentRowsAmongEqualOnes: trees cannot tell apart rows with levels that no labelled row has. A batch
// of their default method is diverse among these, too.
func TestTreesPickDifferentRowsAmongEqualOnes(t *testing.T) {
	t.Parallel()
	const bases = 12
	var b strings.Builder
	b.WriteString("halide,base,y\n")
	for halide := range 16 {
		for base := range bases {
			fmt.Fprintf(&b, "h%02d,b%02d,", halide, base)
			if halide < 4 && base%6 == halide%2 {
				fmt.Fprint(&b, 10*halide+base)
			}
			b.WriteString("\n")
		}
	}
	table, err := source.ReadCSV(t.Context(), strings.NewReader(b.String()), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(6) {
		var r nextbatch.Request
		r.Table, r.TargetColumns, r.Batch, r.Seed, r.Learner = table, []string{"y"}, 8, seed, learner.TreesOnly
		got := mustResult(t, r)
		halides := map[int]bool{}
		for _, row := range got.Indices {
			halides[row/bases] = true
		}
		if len(halides) < 8 {
			t.Errorf("seed %d: %s picks rows %v, of %d halides", seed, got.Spec, got.Indices, len(halides))
		}
	}
}
