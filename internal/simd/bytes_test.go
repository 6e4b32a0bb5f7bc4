package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDotBytes requires the integers of the Go loop, even where they wrap around.
func TestDotBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, s := range Available[float32]() {
		for width := 0; width <= 10*ByteBlock; width += ByteBlock {
			for n := range 14 {
				q, rows := make([]int16, width), make([]int8, n*width)
				for i := range q {
					q[i] = int16(r.IntN(1<<16) + math.MinInt16)
				}
				for i := range rows {
					rows[i] = int8(r.IntN(1<<8) + math.MinInt8)
				}
				mustBeSums(t, s, q, rows, n)
			}
		}
		mustBeSums(t, s, slices.Repeat([]int16{math.MinInt16}, 512), slices.Repeat([]int8{math.MinInt8}, 5*512), 5)
	}
}

func mustBeSums(t *testing.T, s *Set[float32], q []int16, rows []int8, n int) {
	t.Helper()
	got, want := make([]int32, n+2), make([]int32, n+2)
	for i := range got {
		got[i], want[i] = guardValue, guardValue
	}
	s.DotBytes(got[1:n+1], q, rows)
	dotBytesLoop(want[1:n+1], q, rows)
	if !slices.Equal(got, want) {
		t.Fatalf("%s, %d rows of %d: %v, want %v", s.Name(), n, len(q), got, want)
	}
	p, gotP, wantP := slices.Clone(q), make([]int32, n+2), make([]int32, n+2)
	slices.Reverse(p)
	s.DotBytesPair(got[1:n+1], gotP[1:n+1], q, p, rows)
	dotBytesLoop(wantP[1:n+1], p, rows)
	if !slices.Equal(got, want) || !slices.Equal(gotP, wantP) {
		t.Fatalf("%s, %d rows of %d and two vectors: %v and %v, want %v and %v", s.Name(), n, len(q), got, gotP, want, wantP)
	}
}

func TestDotBytesOutside(t *testing.T) {
	for _, s := range Available[float64]() {
		mustPanic(t, "half a block", func() { s.DotBytes(make([]int32, 1), make([]int16, 32), make([]int8, 32)) })
		mustPanic(t, "a row too few", func() { s.DotBytes(make([]int32, 3), make([]int16, 64), make([]int8, 191)) })
		mustPanic(t, "a shorter second vector", func() {
			s.DotBytesPair(make([]int32, 1), make([]int32, 1), make([]int16, 128), make([]int16, 64), make([]int8, 128))
		})
	}
}

// TestRoundBytes compares with rounding by the standard library.
func TestRoundBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 36))
	for _, s := range Available[float64]() {
		for n := range 100 {
			row, step := random[float64](r, n), math.Ldexp(1+r.Float64(), r.IntN(40)-20)
			largest := 0.0
			for _, v := range row {
				largest = max(largest, math.Abs(v))
			}
			for i := range row {
				row[i] *= 127 * step / largest
			}
			if n > 2 {
				row[1], row[2] = 2.5*step, -0.4*step
			}
			got := slices.Repeat([]int8{99}, n+2)
			rest, want := s.RoundBytes(got[1:n+1], row, 1/step, step), 0.0
			for i, v := range row {
				near := math.RoundToEven(v * (1 / step))
				if float64(got[i+1]) != near {
					t.Fatalf("%s: number %d of %d is %g steps and became %d", s.Name(), i, n, v/step, got[i+1])
				}
				want += (v - near*step) * (v - near*step)
			}
			if got[0] != 99 || got[n+1] != 99 || !(math.Abs(rest-want) <= 1e-12*want) {
				t.Fatalf("%s, %d numbers: the rest is %g, not %g, around it %d and %d", s.Name(), n, rest, want, got[0], got[n+1])
			}
		}
		mustPanic(t, "too few bytes", func() { s.RoundBytes(make([]int8, 8), make([]float64, 9), 1, 1) })
	}
}
