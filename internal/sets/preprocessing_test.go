package sets

import (
	"fmt"
	"testing"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestPublishedPreprocessing follows the published code from raw inputs to the
// network's inputs.
func TestPublishedPreprocessing(t *testing.T) {
	t.Parallel()
	raw := golden.Matrix(t, "preprocess/X_raw.npy")
	for _, id := range []uint32{0, 3} {
		name := func(part string) string { return fmt.Sprintf("preprocess/split%d_%s.npy", id, part) }
		split, err := PublishedSplit(raw.Rows, Sizes{Train: 40, Valid: 60, Test: 80}, id)
		if err != nil {
			t.Fatal(err)
		}
		for part, got := range map[string][]int{"train": split.Train, "valid": split.Valid,
			"pool": split.Pool, "test": split.Test} {
			mustEqual(t, name(part), got, golden.Ints(t, name(part+"_idxs")))
		}
		s, err := encode.FitScaler(raw, encode.Sample, split.Train, split.Pool)
		if err != nil {
			t.Fatal(err)
		}
		x := matrix.New[float64](raw.Rows, raw.Cols)
		encode.Scale(x, raw, s)
		golden.MustMatch(t, "float64", x, golden.Matrix(t, name("X")), 1e-6)
		single := matrix.Converted[float32](raw)
		encode.Scale(single, single, s)
		golden.MustMatch(t, "float32, in place", matrix.Converted[float64](single), golden.Matrix(t, name("X")), 1e-6)
	}
}
