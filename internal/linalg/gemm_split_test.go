package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

func requireSplits(t *testing.T) {
	t.Helper()
	if !simd.For[float32]().Splits() {
		t.Skip("the set in use does not multiply split numbers")
	}
}

// splitShapes are numbers of rows, products and columns at and around the ends of
// blocks, of steps and of groups of panels.
var splitShapes = [][3]int{
	{1, 64, 128}, {5, 65, 129}, {32, 68, 130}, {33, 69, 159}, {64, 96, 160}, {40, 100, 200},
	{65, 130, 128}, {34, 513, 129}, {8, 700, 130}, {2, 1025, 1100}, {3, 64, 700},
}

// TestGemmSplit compares all forms with the float64 triple loop. It runs on every
// CPU: where nothing is split, it tests Gemm.
func TestGemmSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, shape := range splitShapes {
		for form := range 4 {
			testGemmSplit(t, r, shape, Op(form&1 == 1), Op(form&2 == 2))
		}
	}
}

func testGemmSplit(t *testing.T, r *rand.Rand, shape [3]int, opA, opB Op) {
	t.Helper()
	m, k, n := shape[0], shape[1], shape[2]
	a := strided[float32](r, opA.shape(m, k).Rows, opA.shape(m, k).Cols)
	b := strided[float32](r, opB.shape(k, n).Rows, opB.shape(k, n).Cols)
	c := strided[float32](r, m, n)
	alpha, beta := []float32{1, -1, 0.5}[r.IntN(3)], []float32{0, 1, -2}[r.IntN(3)]
	want, padding := plainGemm(c, alpha, a, opA, b, opB, beta), paddingOf(c)
	if beta == 0 {
		c.Set(m/2, n/2, float32(math.NaN())) // must not be read
	}
	seen := newWitness(c)
	GemmSplit(nil, c, alpha, a, opA, b, opB, beta, seen)
	what := fmt.Sprintf("%v, %v %v, alpha %v, beta %v", shape, opA, opB, alpha, beta)
	seen.check(t, what)
	bound := 1e-6 * (1 + math.Sqrt(float64(k)))
	for i := range m {
		for j := range n {
			if got := float64(c.At(i, j)); !(math.Abs(got-want.At(i, j)) <= bound*(3+math.Abs(want.At(i, j)))) {
				t.Fatalf("%s: [%d,%d] = %v, want %v", what, i, j, got, want.At(i, j))
			}
		}
	}
	for i, v := range paddingOf(c) {
		if v != padding[i] {
			t.Fatalf("%s: wrote into the padding between rows", what)
		}
	}
}

// TestGemmSplitTiny multiplies numbers down to the smallest, such as the tails of activation functions. Where
// numbers are split, those below 2^-103 lose digits: at most 2^-125 of the other factor. On other CPUs it tests Gemm.
func TestGemmSplitTiny(t *testing.T) {
	const m, k, n = 40, 130, 200
	r := rand.New(rand.NewPCG(31, 32))
	for form := range 8 {
		opA, opB := Op(form&1 == 1), Op(form&2 == 2)
		a := strided[float32](r, opA.shape(m, k).Rows, opA.shape(m, k).Cols)
		b := strided[float32](r, opB.shape(k, n).Rows, opB.shape(k, n).Cols)
		small := a
		if form < 4 {
			small = b
		}
		for i, v := range small.Data {
			small.Data[i] = float32(math.Ldexp(float64(v), -60-r.IntN(90)))
		}
		c := matrix.New[float32](m, n)
		GemmSplit(nil, c, 1, a, opA, b, opB, 0, nil)
		for i := range m {
			for j := range n {
				sum, bound := 0.0, 0.0
				for p := range k {
					x, y := float64(element(a, opA, i, p)), float64(element(b, opB, p, j))
					sum += x * y
					bound += 0x1p-18*math.Abs(x*y) + 0x1p-125*(math.Abs(x)+math.Abs(y))
				}
				if d := math.Abs(float64(c.At(i, j)) - sum); !(d <= bound) {
					t.Fatalf("%v %v: [%d,%d] is %g, want %g", opA, opB, i, j, c.At(i, j), sum)
				}
			}
		}
	}
}

func TestGemmSplitSameBitsForAnyThreads(t *testing.T) {
	requireSplits(t)
	r := rand.New(rand.NewPCG(23, 24))
	const m, k, n = 129, 1025, 560
	for form := range 4 {
		opA, opB := Op(form&1 == 1), Op(form&2 == 2)
		a := strided[float32](r, opA.shape(m, k).Rows, opA.shape(m, k).Cols)
		b := strided[float32](r, opB.shape(k, n).Rows, opB.shape(k, n).Cols)
		requireAnyThreads(t, fmt.Sprintf("GemmSplit %v %v", opA, opB), func() []float32 {
			c := matrix.New[float32](m, n)
			GemmSplit(nil, c, 0.3, a, opA, b, opB, 0.7, nil)
			return c.Data
		})
	}
}

// TestGemmSplitRowsAlone: a row of the product does not depend on those around it.
func TestGemmSplitRowsAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	a, b := strided[float32](r, 90, 129), strided[float32](r, 129, 170)
	all, some := matrix.New[float32](90, 170), matrix.New[float32](90, 170)
	GemmSplit(nil, all, 1, a, NoTrans, b, NoTrans, 0, nil)
	for from := 0; from < a.Rows; {
		to := min(from+1+r.IntN(40), a.Rows)
		GemmSplit(nil, some.Slice(from, to), 1, a.Slice(from, to), NoTrans, b, NoTrans, 0, nil)
		from = to
	}
	requireSameBits(t, "some rows", all.Data, some.Data)
}

func TestGemmSplitSteadyStateAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for form := range 4 {
		opA, opB := Op(form&1 == 1), Op(form&2 == 2)
		a := strided[float32](r, opA.shape(129, 101).Rows, opA.shape(129, 101).Cols)
		b := strided[float32](r, opB.shape(101, 164).Rows, opB.shape(101, 164).Cols)
		c := matrix.New[float32](129, 164)
		requireNoAllocs(t, fmt.Sprint(opA, " ", opB), func() { GemmSplit(nil, c, 1, a, opA, b, opB, 0, nil) })
	}
}

// manyProducts is a job whose parts multiply.
type manyProducts func(part int)

func (f manyProducts) Do(part, _ int) { f(part) }

// TestGemmSplitConcurrently multiplies from several goroutines, and within a Run:
// none may use scratch memory that another writes to.
func TestGemmSplitConcurrently(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	const n = 12
	var a, b, want, got [n]matrix.Dense[float32]
	for i := range n {
		a[i], b[i] = strided[float32](r, 40+i, 97+i), strided[float32](r, 97+i, 130+7*i)
		want[i], got[i] = matrix.New[float32](40+i, 130+7*i), matrix.New[float32](40+i, 130+7*i)
		GemmSplit(nil, want[i], 1, a[i], NoTrans, b[i], NoTrans, 0, nil)
	}
	multiply := func(i int) { GemmSplit(nil, got[i], 1, a[i], NoTrans, b[i], NoTrans, 0, nil) }
	var group sync.WaitGroup
	for i := range n / 2 {
		group.Go(func() {
			for range 20 {
				multiply(i)
			}
		})
	}
	everyone.Run(n/2, manyProducts(func(part int) { multiply(n/2 + part) }))
	group.Wait()
	for i := range n {
		requireSameBits(t, fmt.Sprintf("product %d", i), want[i].Data, got[i].Data)
	}
}
