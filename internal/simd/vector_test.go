package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// primitive calls one primitive on slices of the same length. Its results are
// all slices afterwards, and the numbers that run returns.
type primitive[T Float] struct {
	name    string
	slices  int
	reduces bool // the error grows with the length
	inPlace bool // the first slice is only written, and may be one of the others
	run     func(s *Set[T], a [][]T) []T
}

func primitives[T Float]() []primitive[T] {
	step := &AdamStep[T]{Beta1: 0.9, Gain1: 0.1, Beta2: 0.999, Gain2: 0.001,
		Keep: 0.99, Rate: 0.003, Root: 1.5, Eps: 1e-8}
	return []primitive[T]{
		{name: "Dot", slices: 2, reduces: true, run: func(s *Set[T], a [][]T) []T { return []T{s.Dot(a[0], a[1])} }},
		{name: "Sum", slices: 1, reduces: true, run: func(s *Set[T], a [][]T) []T { return []T{s.Sum(a[0])} }},
		{name: "SumSquares", slices: 1, reduces: true, run: func(s *Set[T], a [][]T) []T { return []T{s.SumSquares(a[0])} }},
		{name: "Axpy", slices: 2, run: func(s *Set[T], a [][]T) []T { s.Axpy(a[0], a[1], 0.7); return nil }},
		{name: "ScaleAdd", slices: 2, run: func(s *Set[T], a [][]T) []T { s.ScaleAdd(a[0], a[1], -0.3, 1.7); return nil }},
		{name: "Mul", slices: 3, inPlace: true, run: func(s *Set[T], a [][]T) []T { s.Mul(a[0], a[1], a[2]); return nil }},
		{name: "Rotate", slices: 2, run: func(s *Set[T], a [][]T) []T { s.Rotate(a[0], a[1], 0.6, 0.8); return nil }},
		{name: "DotRows", slices: 2, reduces: true, run: func(s *Set[T], a [][]T) []T {
			dst := make([]T, 1)
			s.DotRows(dst, a[0], a[1], len(a[0]))
			return dst
		}},
		{name: "SqDistRows", slices: 2, reduces: true, run: func(s *Set[T], a [][]T) []T {
			dst := make([]T, 1)
			s.SqDistRows(dst, a[0], a[1], len(a[0]))
			return dst
		}},
		{name: "Min", slices: 1, run: func(s *Set[T], a [][]T) []T { return []T{s.Min(a[0])} }},
		{name: "ArgMax", slices: 1, run: func(s *Set[T], a [][]T) []T { return []T{T(s.ArgMax(a[0]))} }},
		{name: "MinLabel", slices: 2, run: runMinLabel[T]},
		{name: "AtMost", slices: 1, run: runAtMost[T]},
		{name: "ReLU", slices: 2, inPlace: true, run: func(s *Set[T], a [][]T) []T { s.ReLU(a[0], a[1]); return nil }},
		{name: "ReLUMask", slices: 3, inPlace: true,
			run: func(s *Set[T], a [][]T) []T { s.ReLUMask(a[0], a[1], a[2]); return nil }},
		{name: "SiLU", slices: 3, inPlace: true, run: func(s *Set[T], a [][]T) []T { s.SiLU(a[0], a[1], a[2]); return nil }},
		{name: "Tanh", slices: 2, inPlace: true, run: func(s *Set[T], a [][]T) []T { s.Tanh(a[0], a[1]); return nil }},
		{name: "Exp", slices: 2, inPlace: true, run: func(s *Set[T], a [][]T) []T { s.Exp(a[0], a[1]); return nil }},
		{name: "Adam", slices: 4, run: func(s *Set[T], a [][]T) []T { s.Adam(a[0], a[1], a[2], a[3], step); return nil }},
	}
}

// runMinLabel returns the labels as numbers, including labels beyond the end, which
// must not change.
func runMinLabel[T Float](s *Set[T], a [][]T) []T {
	label := make([]int32, len(a[0])+guardLen)
	for i := range label {
		label[i] = int32(i)
	}
	s.MinLabel(a[0], label[:len(a[0])], a[1], 1<<20)
	numbers := make([]T, len(label))
	for i, l := range label {
		numbers[i] = T(l)
	}
	return numbers
}

// runAtMost returns the list as numbers, including the end, which must not change.
func runAtMost[T Float](s *Set[T], a [][]T) []T {
	list := make([]int32, len(a[0])+guardLen)
	n := s.AtMost(list[:len(a[0])], a[0], 0.1)
	numbers := []T{T(n)}
	for _, i := range append(list[:n:n], list[len(a[0]):]...) {
		numbers = append(numbers, T(i))
	}
	return numbers
}

// TestPrimitives compares every primitive of every set with the Go loop that
// defines it.
func TestPrimitives(t *testing.T) {
	t.Run("float32", testPrimitives[float32])
	t.Run("float64", testPrimitives[float64])
}

func testPrimitives[T Float](t *testing.T) {
	special := []T{T(math.NaN()), T(math.Inf(1)), T(math.Inf(-1)), T(math.Copysign(0, -1)), 0}
	for _, p := range primitives[T]() {
		for _, s := range Available[T]()[1:] {
			t.Run(p.name+"/"+s.Name(), func(t *testing.T) {
				r := rand.New(rand.NewPCG(5, 6))
				for _, n := range testLengths(r) {
					args := p.randomArgs(r, n)
					p.compare(t, s, args)
					for _, v := range special {
						p.compareWith(t, s, args, v, r.IntN(n+1))
					}
				}
				for _, n := range []int{1, 7, 33, 67, 140} {
					args := p.randomArgs(r, n)
					for at := range n {
						p.compareWith(t, s, args, special[at%2], at)
					}
				}
			})
		}
	}
}

// testLengths is 0 to 67 and some random greater lengths.
func testLengths(r *rand.Rand) []int {
	var lengths []int
	for n := range 68 {
		lengths = append(lengths, n)
	}
	for range 10 {
		lengths = append(lengths, 68+r.IntN(1000))
	}
	return lengths
}

func (p primitive[T]) randomArgs(r *rand.Rand, n int) [][]T {
	args := make([][]T, p.slices)
	for i := range args {
		args[i] = random[T](r, n)
	}
	return args
}

// compareWith replaces one element of one slice after another.
func (p primitive[T]) compareWith(t *testing.T, s *Set[T], args [][]T, v T, at int) {
	t.Helper()
	for _, a := range args {
		if at < len(a) {
			old := a[at]
			a[at] = v
			p.compare(t, s, args)
			a[at] = old
		}
	}
}

func (p primitive[T]) compare(t *testing.T, s *Set[T], args [][]T) {
	t.Helper()
	n := len(args[0])
	want := make([][]T, len(args))
	got := make([][]T, len(args))
	guards := make([]guard[T], len(args))
	for i, a := range args {
		want[i] = append([]T(nil), a...)
		guards[i] = guarded(a)
		got[i] = guards[i].body
	}
	wantNumbers := p.run(Available[T]()[0], want)
	gotNumbers := p.run(s, got)
	for i, g := range guards {
		g.check(t)
		compareSlices(t, fmt.Sprintf("n = %d, slice %d", n, i), got[i], want[i], p.tolerance(n))
	}
	compareSlices(t, fmt.Sprintf("n = %d, result", n), gotNumbers, wantNumbers, p.tolerance(n))
}

// tolerance is for numbers of size one.
func (p primitive[T]) tolerance(n int) float64 {
	if p.reduces {
		return float64(n+8) * epsilon[T]()
	}
	return 16 * epsilon[T]()
}

// epsilon is the distance from 1 to the next larger number.
func epsilon[T Float]() float64 {
	if T(1)+1e-10 == 1 {
		return 0x1p-23
	}
	return 0x1p-52
}

func compareSlices[T Float](t *testing.T, what string, got, want []T, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !near(float64(got[i]), float64(want[i]), tol) {
			t.Fatalf("%s: [%d] = %v, want %v", what, i, got[i], want[i])
		}
	}
}

func near(got, want, tol float64) bool {
	if math.IsNaN(want) || math.IsInf(want, 0) {
		return got == want || got != got && want != want
	}
	return math.Abs(got-want) <= tol*(1+math.Abs(want))
}

// TestAlignment requires the same bits wherever the slices start.
func TestAlignment(t *testing.T) {
	t.Run("float32", testAlignment[float32])
	t.Run("float64", testAlignment[float64])
}

func testAlignment[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, p := range primitives[T]() {
		for _, s := range Available[T]() {
			args := p.randomArgs(r, 517)
			want := p.bitsAt(s, args, 0)
			for offset := 1; offset < 17; offset++ {
				got := p.bitsAt(s, args, offset)
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("%s of %s: different bits at offset %d", p.name, s.Name(), offset)
					}
				}
			}
		}
	}
}

// bitsAt runs on slices that start at different offsets, and returns the bits
// of all results.
func (p primitive[T]) bitsAt(s *Set[T], args [][]T, offset int) []uint64 {
	moved := make([][]T, len(args))
	for i, a := range args {
		start := (i + 1) * offset
		moved[i] = append(make([]T, start, start+len(a)), a...)[start:]
	}
	numbers := p.run(s, moved)
	var bits []uint64
	for _, a := range append(moved, numbers) {
		for _, v := range a {
			bits = append(bits, math.Float64bits(float64(v)))
		}
	}
	return bits
}

// TestInPlace lets the element-wise primitives overwrite their input.
func TestInPlace(t *testing.T) {
	t.Run("float32", testInPlace[float32])
	t.Run("float64", testInPlace[float64])
}

func testInPlace[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, p := range primitives[T]() {
		if !p.inPlace {
			continue
		}
		for _, s := range Available[T]() {
			args := p.randomArgs(r, 150)
			for over := 1; over < p.slices; over++ {
				apart := make([][]T, p.slices)
				for i, a := range args {
					apart[i] = append([]T(nil), a...)
				}
				same := append([][]T(nil), apart...)
				same[0] = append([]T(nil), args[over]...)
				same[over] = same[0]
				if p.name == "SiLU" && over == 1 {
					continue // two outputs
				}
				p.run(s, same)
				p.run(s, apart)
				compareSlices(t, fmt.Sprintf("%s of %s over slice %d", p.name, s.Name(), over), same[0], apart[0], 0)
			}
		}
	}
}
