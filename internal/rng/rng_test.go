package rng

import (
	"errors"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The statistical tests have fixed seeds, so their outcome never changes. Their
// limits correspond to a false alarm in about one of a thousand seeds.

func TestNamesThatLookAlikeAreDifferentStreams(t *testing.T) {
	names := map[string]*Stream{
		"plain":              New(1, "a", 1),
		"other seed":         New(2, "a", 1),
		"other purpose":      New(1, "b", 1),
		"other index":        New(1, "a", 2),
		"no index":           New(1, "a"),
		"index zero":         New(1, "a", 0),
		"two zeros":          New(1, "a", 0, 0),
		"two indices":        New(1, "a", 1, 2),
		"swapped indices":    New(1, "a", 2, 1),
		"empty purpose":      New(1, "", 1),
		"zero byte":          New(1, "a\x00", 1),
		"count as purpose":   New(1, "a\x01\x00\x00\x00\x00\x00\x00\x00", 1),
		"index in purpose":   New(1, "a\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"),
		"seed and one":       New(1+1<<32, "a", 1),
		"upper case purpose": New(1, "A", 1),
	}
	first := map[uint64]string{}
	for name, s := range names {
		v := s.Uint64()
		if other, seen := first[v]; seen {
			t.Errorf("%s and %s begin with the same number", name, other)
		}
		first[v] = name
	}
}

func TestSameNameSameStream(t *testing.T) {
	a, b := New(7, "batches", 3, 1), New(7, "batches", 3, 1)
	New(7, "other").Uint64() // must not affect a and b
	for range 1000 {
		if x, y := a.Uint64(), b.Uint64(); x != y {
			t.Fatalf("%#x and %#x", x, y)
		}
	}
}

// TestIndicesAreIndependent uses neighbouring streams, as ensemble members do, and
// looks for bits that agree more or less often than half the time.
func TestIndicesAreIndependent(t *testing.T) {
	const streams, words = 16, 512
	for i := range uint64(streams) {
		for j := range i {
			a, b := New(11, "member", i), New(11, "member", j)
			agree := 0.0
			for range words {
				agree += float64(bits.OnesCount64(^(a.Uint64() ^ b.Uint64())))
			}
			n := float64(words * 64)
			if z := (agree - n/2) / math.Sqrt(n/4); math.Abs(z) > 4.3 {
				t.Errorf("streams %d and %d agree in %v of %v bits (z = %.2f)", i, j, agree, n, z)
			}
		}
	}
}

func TestIntNIsUniform(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 64, 100} {
		s, counts := New(3, "uniform", uint64(n)), make([]int, n)
		for range 1000 * n {
			counts[s.IntN(n)]++
		}
		expectChiSquare(t, "IntN", counts, slices.Repeat([]float64{1}, n))
	}
}

func TestFirstDrawsOverIndicesAreUniform(t *testing.T) {
	counts := make([]int, 32)
	for i := range uint64(32000) {
		counts[New(5, "first", i).IntN(32)]++
	}
	expectChiSquare(t, "first IntN", counts, slices.Repeat([]float64{1}, 32))
}

func TestFloat64IsUniform(t *testing.T) {
	s, counts := New(4, "uniform"), make([]int, 50)
	for range 50000 {
		v := s.Float64()
		if v < 0 || v >= 1 {
			t.Fatalf("%v is outside 0 … 1", v)
		}
		counts[int(v*50)]++
	}
	expectChiSquare(t, "Float64", counts, slices.Repeat([]float64{1}, 50))
}

// TestNormal compares distribution functions (Kolmogorov–Smirnov test).
func TestNormal(t *testing.T) {
	const n = 100000
	sample := make([]float64, n)
	FillNormal(New(6, "normal"), sample)
	slices.Sort(sample)
	worst := 0.0
	for i, v := range sample {
		p := 0.5 * math.Erfc(-v/math.Sqrt2)
		worst = max(worst, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
	}
	if limit := 1.95 / math.Sqrt(n); worst > limit {
		t.Errorf("distance to the normal distribution %.5f, limit %.5f", worst, limit)
	}
}

func TestFillNormalRoundsTheSameVariates(t *testing.T) {
	double, single := make([]float64, 1000), make([]float32, 1000)
	one := New(8, "fill")
	FillNormal(New(8, "fill"), double)
	FillNormal(New(8, "fill"), single)
	for i := range double {
		if v := one.NormFloat64(); double[i] != v || single[i] != float32(v) {
			t.Fatalf("number %d: %v, %v and %v", i, v, double[i], single[i])
		}
	}
}

func TestPermIsUniform(t *testing.T) {
	s, counts := New(9, "perm"), map[[4]int]int{}
	for range 24000 {
		counts[[4]int(s.Perm(4))]++
	}
	var seen []int
	for order, n := range counts {
		if !isPermutation(order[:]) {
			t.Fatalf("%v is not a permutation", order)
		}
		seen = append(seen, n)
	}
	if len(seen) != 24 {
		t.Fatalf("%d of 24 orders", len(seen))
	}
	expectChiSquare(t, "Perm", seen, slices.Repeat([]float64{1}, 24))
}

func TestPermuteIsPerm(t *testing.T) {
	for _, n := range []int{0, 1, 2, 17, 1000} {
		dst := slices.Repeat([]int{-5}, n)
		New(10, "perm").Permute(dst)
		want := New(10, "perm").Perm(n)
		if !reflect.DeepEqual(dst, want) || !isPermutation(dst) {
			t.Errorf("n = %d: %v and %v", n, dst, want)
		}
	}
}

func isPermutation(order []int) bool {
	sorted := slices.Sorted(slices.Values(order))
	for i, v := range sorted {
		if i != v {
			return false
		}
	}
	return true
}

func TestWeightedFollowsTheWeights(t *testing.T) {
	tests := [][]float64{
		{1},
		{1, 1, 1, 1},
		{0, 3, 0, 1, 2, 0},
		{1e-300, 2e-300, 3e-300},
		{1e300, 2e300, 3e300},
		{5, 0.5, 0.05},
	}
	for k, w := range tests {
		s, counts := New(12, "weighted", uint64(k)), make([]int, len(w))
		for range 60000 {
			counts[mustDraw(t, s, w)]++
		}
		expectChiSquare(t, "Weighted", counts, w)
	}
}

func TestWeightedSharesTheLine(t *testing.T) {
	tiny := math.SmallestNonzeroFloat64
	s := New(13, "subnormal")
	for range 1000 {
		if i := mustDraw(t, s, []float64{0, tiny, 0}); i != 1 {
			t.Fatalf("drew index %d of weight zero", i)
		}
	}
	for point, want := range map[float64]int{0: 1, 0.5: 1, 1: 2, 2.5: 2, 3: 2} {
		if i := find([]float64{0, 1, 2, 0}, point); i != want {
			t.Errorf("point %v belongs to index %d, want %d", point, i, want)
		}
	}
}

func TestWeightedRefuses(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		w    []float64
		want error
		word string
	}{
		{nil, ErrNoWeight, "no positive weight"},
		{[]float64{0, 0}, ErrNoWeight, "no positive weight"},
		{[]float64{1, -0.5, 2}, WeightError{Index: 1, Weight: -0.5}, "weight -0.5 at index 1"},
		{[]float64{1, 2, inf}, WeightError{Index: 2, Weight: inf}, "weight +Inf at index 2"},
		{[]float64{-inf}, WeightError{Index: 0, Weight: -inf}, "weight -Inf at index 0"},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, WeightError{Index: 1, Weight: math.MaxFloat64, Overflow: true},
			"overflows float64 at index 1"},
	}
	for _, test := range tests {
		s := New(14, "refused")
		_, err := s.Weighted(test.w)
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.word) {
			t.Errorf("%v: error %v, want %v", test.w, err, test.want)
		}
		if got, want := s.Uint64(), New(14, "refused").Uint64(); got != want {
			t.Errorf("%v: the refused draw took numbers from the stream", test.w)
		}
	}
	var bad WeightError
	if _, err := New(14, "refused").Weighted([]float64{1, 1, nan}); !errors.As(err, &bad) || bad.Index != 2 {
		t.Errorf("NaN: error %v", err)
	}
}

func TestMisusePanics(t *testing.T) {
	methods := map[string]func(s *Stream){
		"rng.Uint64":      func(s *Stream) { s.Uint64() },
		"rng.IntN":        func(s *Stream) { s.IntN(1) },
		"rng.Float64":     func(s *Stream) { s.Float64() },
		"rng.NormFloat64": func(s *Stream) { s.NormFloat64() },
		"rng.Perm":        func(s *Stream) { s.Perm(0) },
		"rng.Permute":     func(s *Stream) { s.Permute(nil) },
		"rng.Weighted":    func(s *Stream) { _, _ = s.Weighted(nil) },
		"rng.FillNormal":  func(s *Stream) { FillNormal[float32](s, nil) },
	}
	for op, f := range methods {
		for _, s := range []*Stream{nil, {}} {
			if got := caught(func() { f(s) }); got != (NilError{Op: op}) {
				t.Errorf("%s: panic value %v", op, got)
			}
		}
	}
	s := New(0, "misuse")
	for _, n := range []int{0, -1} {
		if got := caught(func() { s.IntN(n) }); got != (CountError{Op: "rng.IntN", N: n}) {
			t.Errorf("IntN(%d): panic value %v", n, got)
		}
	}
	if got := caught(func() { s.Perm(-1) }); got != (CountError{Op: "rng.Perm", N: -1}) {
		t.Errorf("Perm(-1): panic value %v", got)
	}
}

func TestNothingAllocatesWhileDrawing(t *testing.T) {
	s := New(15, "allocations")
	order, normal, w := make([]int, 100), make([]float32, 100), []float64{1, 2, 3}
	n := testing.AllocsPerRun(100, func() {
		s.Permute(order)
		FillNormal(s, normal)
		_, _ = s.Weighted(w)
	})
	if n != 0 {
		t.Errorf("%v allocations per round", n)
	}
}

func caught(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func mustDraw(t *testing.T, s *Stream, w []float64) int {
	t.Helper()
	i, err := s.Weighted(w)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// expectChiSquare compares counts with the shares that the weights call for. The
// limit is the normal approximation to the chi-square distribution (Wilson and
// Hilferty) at one in a thousand.
func expectChiSquare(t *testing.T, what string, counts []int, weights []float64) {
	t.Helper()
	total, drawn := 0.0, 0
	for i, w := range weights {
		total, drawn = total+w, drawn+counts[i]
	}
	chi, cells := 0.0, 0
	for i, w := range weights {
		expected := w / total * float64(drawn)
		if expected == 0 {
			if counts[i] != 0 {
				t.Errorf("%s: index %d of weight zero was drawn", what, i)
			}
			continue
		}
		cells++
		chi += (float64(counts[i]) - expected) * (float64(counts[i]) - expected) / expected
	}
	if limit := chiSquareLimit(cells - 1); chi > limit {
		t.Errorf("%s: chi-square %.1f over %d cells, limit %.1f", what, chi, cells, limit)
	}
}

func chiSquareLimit(freedom int) float64 {
	if freedom == 0 {
		return 0
	}
	k := float64(freedom)
	return k * math.Pow(1-2/(9*k)+3.09*math.Sqrt(2/(9*k)), 3)
}

// TestCumulatedIsWeighted checks that Cumulated draws from running sums what
// Weighted draws from weights.
func TestCumulatedIsWeighted(t *testing.T) {
	weights := map[string][]float64{
		"one": {3}, "zeros around": {0, 0, 2, 0, 0.5, 1e-300, 0}, "subnormal": {0, 5e-324, 0, 5e-324, 0},
		"many": make([]float64, 1000),
	}
	for i := range weights["many"] {
		weights["many"][i] = math.Sin(float64(i)) * math.Sin(float64(i))
	}
	for name, w := range weights {
		sums := make([]float64, len(w))
		if err := Cumulate(sums, w); err != nil {
			t.Fatal(err)
		}
		one, other := New(1, name), New(1, name)
		for range 2000 {
			want, err := one.Weighted(w)
			if got := other.Cumulated(sums); err != nil || got != want {
				t.Fatalf("%s: %d, want %d, error %v", name, got, want, err)
			}
		}
	}
	for _, w := range [][]float64{{}, {0, 0}, {1, -1}, {math.NaN()}, {math.MaxFloat64, math.MaxFloat64}} {
		_, want := New(1, "bad").Weighted(w)
		if got := Cumulate(make([]float64, len(w)), w); got == nil || got.Error() != want.Error() {
			t.Errorf("%v: %v, want %v", w, got, want)
		}
	}
}
