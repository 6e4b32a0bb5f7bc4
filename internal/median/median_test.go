package median

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMedian compares with sorting, also on orders that are hard for pivots.
func TestMedian(t *testing.T) {
	t.Parallel()
	g := rand.New(rand.NewPCG(1, 2))
	orders := map[string]func(i, n int) float64{
		"random": func(int, int) float64 { return g.NormFloat64() },
		"equal":  func(int, int) float64 { return 3 },
		"few":    func(int, int) float64 { return float64(g.IntN(3)) },
		"rising": func(i, _ int) float64 { return float64(i) },
		"organ":  func(i, n int) float64 { return float64(min(i, n-i)) },
	}
	for name, order := range orders {
		for _, n := range []int{1, 2, 3, 4, 7, 100, 1001, 20000} {
			values := make([]float64, n)
			for i := range values {
				values[i] = order(i, n)
			}
			sorted := slices.Sorted(slices.Values(values))
			want := (sorted[(n-1)/2] + sorted[n/2]) / 2
			if got := Of(values); got != want {
				t.Errorf("%s, %d values: %v, want %v", name, n, got, want)
			}
		}
	}
}
