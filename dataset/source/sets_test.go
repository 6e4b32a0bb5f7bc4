package source

import (
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/golden"
)

// TestSetsHaveThePapersCounts prepares the real files.
func TestSetsHaveThePapersCounts(t *testing.T) {
	dir := golden.Data(t)
	for _, set := range Sets() {
		t.Run(set.Name, func(t *testing.T) {
			start := time.Now()
			r, err := LoadSet(set.Name, dir)
			if err != nil {
				t.Fatal(err)
			}
			split, err := dataset.NewSplit(r.X.Rows, dataset.PaperSizes(r.X.Rows), 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(split.Pool) != set.Pool || len(split.Test) != set.Test || r.X.Cols != set.Features {
				t.Errorf("pool %d, test %d, features %d; the paper has %d, %d, %d",
					len(split.Pool), len(split.Test), r.X.Cols, set.Pool, set.Test, set.Features)
			}
			t.Logf("%d x %d in %v", r.X.Rows, r.X.Cols, time.Since(start))
		})
	}
}
