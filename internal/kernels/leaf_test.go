package kernels_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestLeafCounts compares the kernel with a plain count.
func TestLeafCounts(t *testing.T) {
	t.Parallel()
	trees, rows := kerneltest.NewStumps(5, 60, 4), someRows[float32](31, 5)
	got := matrix.New[float32](31, 31)
	if err := must(kernels.NewLeaf[float32](trees)).Cross(t.Context(), got, rows, rows); err != nil {
		t.Fatal(err)
	}
	for i := range 31 {
		for j := range 31 {
			same := 0
			for tree := range 60 {
				if trees.Leaf(tree, rows.Row(i)) == trees.Leaf(tree, rows.Row(j)) {
					same++
				}
			}
			if want := float32(same) / 60; got.At(i, j) != want {
				t.Fatalf("rows %d and %d: %v, want %v", i, j, got.At(i, j), want)
			}
		}
	}
}

// TestPredictionsAreCentred compares the kernel with the covariance over the members.
func TestPredictionsAreCentred(t *testing.T) {
	t.Parallel()
	members, rows := kerneltest.NewStumps(5, 11, 6), someRows[float32](31, 5)
	got := matrix.New[float64](31, 31)
	double := matrix.Converted[float64](rows)
	if err := must(kernels.NewPredictions[float64](members)).Cross(t.Context(), got, double, double); err != nil {
		t.Fatal(err)
	}
	predictions := must(members.Predictions(t.Context(), rows))
	mean := func(f func(member int) float64) float64 {
		sum := 0.0
		for member := range 11 {
			sum += f(member)
		}
		return sum / 11
	}
	at := func(row int) func(member int) float64 {
		return func(member int) float64 { return float64(predictions.At(row, member)) }
	}
	for i := range 31 {
		for j := range 31 {
			want := mean(func(m int) float64 { return at(i)(m) * at(j)(m) }) - mean(at(i))*mean(at(j))
			if math.Abs(got.At(i, j)-want) > 1e-11 {
				t.Fatalf("rows %d and %d: %v, want %v", i, j, got.At(i, j), want)
			}
		}
	}
}

// wrongTrees return too few leaves, or leaves that do not exist.
type wrongTrees struct {
	*kerneltest.Stumps
	leaves []int32
}

func (w wrongTrees) Leaves(context.Context, matrix.Dense[float32]) ([]int32, error) {
	return w.leaves, nil
}

func TestLeafRefuses(t *testing.T) {
	t.Parallel()
	if _, err := kernels.NewLeaf[float32](kerneltest.NewStumps(5, 0, 2)); err == nil {
		t.Error("no tree is enough")
	}
	if _, err := kernels.NewPredictions[float32](kerneltest.NewStumps(5, 1, 2)); err == nil {
		t.Error("one member is enough")
	}
	for want, leaves := range map[string][]int32{
		"3 leaves instead of 4": {0, 1, 0}, "leaf 2 of tree 1, which has 2": {0, 1, 0, 2}, "leaf -1 of tree 0": {0, 1, -1, 0},
	} {
		k := must(kernels.NewLeaf[float32](wrongTrees{kerneltest.NewStumps(5, 2, 2), leaves}))
		if err := k.Diag(t.Context(), make([]float32, 2), someRows[float32](2, 5)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
