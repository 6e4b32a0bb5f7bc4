package simd

import (
	"fmt"
	"math"
	"testing"
)

// TestAccuracy compares the element-wise maths with package math in float64, over
// dense grids. Errors are in units in the last place of the true result or, where a
// formula cancels, of its terms.
func TestAccuracy(t *testing.T) {
	t.Run("float32", testAccuracy[float32])
	t.Run("float64", testAccuracy[float64])
}

func testAccuracy[T Float](t *testing.T) {
	for _, s := range Available[T]()[1:] {
		t.Run(s.Name(), func(t *testing.T) {
			for name, c := range accuracyCases(s) {
				worst, at := c.worst()
				t.Logf("%s: at most %.2f units, at %v", name, worst, at)
				if !(worst <= c.limit) {
					t.Errorf("%s(%v) is off by %.2f units", name, at, worst)
				}
			}
		})
	}
}

// accuracyCase is a function, its true values with the scale of their errors, and
// the allowed error.
type accuracyCase[T Float] struct {
	from, to, limit float64
	f               func(dst, x []T)
	truth           func(x float64) (y, size float64)
}

// accuracyCases also allows for an error of about one unit in package math.
func accuracyCases[T Float](s *Set[T]) map[string]accuracyCase[T] {
	// From 709.44 on math.Exp is infinite on some processors.
	least, most := -745.2, 709.4
	if smallestNormal[T]() > 1e-300 {
		least, most = -104, 88.7228
	}
	exp := func(x float64) (y, size float64) { return math.Exp(x), math.Exp(x) }
	tanh := func(x float64) (y, size float64) { return math.Tanh(x), math.Tanh(x) }
	silu := func(x float64) (y, size float64) {
		y = x * sigmoid(x)
		return y, max(math.Abs(y), math.Abs(x)*smallestNormal[T]()) // e^x may be subnormal
	}
	slope := func(x float64) (y, size float64) {
		a, b := sigmoid(x), x*sigmoid(x)*sigmoid(-x)
		return a + b, math.Abs(a) + math.Abs(b)
	}
	value := func(dst, x []T) { s.SiLU(dst, make([]T, len(x)), x) }
	deriv := func(dst, x []T) { s.SiLU(make([]T, len(x)), dst, x) }
	return map[string]accuracyCase[T]{
		"exp":                {least, most, 2, s.Exp, exp},
		"exp near 0":         {-1, 1, 2, s.Exp, exp},
		"tanh":               {-22, 22, 3, s.Tanh, tanh},
		"tanh near 0":        {-1e-3, 1e-3, 3, s.Tanh, tanh},
		"silu":               {least, most, 5, value, silu},
		"silu near 0":        {-20, 20, 5, value, silu},
		"derivative of silu": {-20, 20, 5, deriv, slope},
	}
}

// sigmoid does not overflow for a negative x.
func sigmoid(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / (1 + math.Exp(x))
	}
	return 1 / (1 + math.Exp(-x))
}

func (c accuracyCase[T]) worst() (worst, at float64) {
	const n = 1 << 18
	x, y := make([]T, n), make([]T, n)
	for i := range x {
		x[i] = T(c.from + (c.to-c.from)*float64(i)/(n-1))
	}
	c.f(y, x)
	for i, v := range x {
		want, size := c.truth(float64(v))
		if e := units[T](float64(y[i]), want, size); !(e <= worst) {
			worst, at = e, float64(v)
		}
	}
	return worst, at
}

// units is the error in units of the last digit of size; a subnormal size has
// the digits of the smallest normal number.
func units[T Float](got, want, size float64) float64 {
	if T(got) == T(want) {
		return 0
	}
	_, exponent := math.Frexp(max(math.Abs(size), smallestNormal[T]()))
	return math.Abs(got-want) / math.Ldexp(epsilon[T](), exponent-1)
}

// smallestNormal is the smallest positive number with full precision.
func smallestNormal[T Float]() float64 {
	if epsilon[T]() == 0x1p-23 {
		return 0x1p-126
	}
	return 0x1p-1022
}

// TestMathsLimits checks the functions at the ends of their range.
func TestMathsLimits(t *testing.T) {
	t.Run("float32", func(t *testing.T) {
		testMathsLimits(t, floatRange[float32]{0x1p-149, 0x1p-126, math.MaxFloat32, 88.7228, -103.2})
	})
	t.Run("float64", func(t *testing.T) {
		testMathsLimits(t, floatRange[float64]{0x1p-1074, 0x1p-1022, math.MaxFloat64, 709.43, -744.4})
	})
}

// floatRange is the smallest number, the smallest with full precision, the largest,
// one whose exponential is almost too large, and one whose exponential is tiny.
type floatRange[T Float] struct{ tiny, normal, huge, largest, lowest T }

func testMathsLimits[T Float](t *testing.T, r floatRange[T]) {
	inf, nan := T(math.Inf(1)), T(math.NaN())
	minusZero := T(math.Copysign(0, -1))
	tiny, normal, huge := r.tiny, r.normal, r.huge
	for _, s := range Available[T]() {
		t.Run(s.Name(), func(t *testing.T) {
			x := []T{0, minusZero, inf, -inf, nan, huge, -huge, tiny, -tiny, normal, r.largest + 1, r.lowest, r.lowest - 1.2}
			y := make([]T, len(x))
			s.Exp(y, x)
			sameClass(t, "exp", x, y, []T{1, 1, inf, 0, nan, inf, 0, 1, 1, 1, inf, tiny, 0})
			s.Tanh(y, x)
			sameClass(t, "tanh", x, y, []T{0, minusZero, 1, -1, nan, 1, -1, tiny, -tiny, normal, 1, -1, -1})
			d, wantY, wantD := make([]T, len(x)), make([]T, len(x)), make([]T, len(x))
			s.SiLU(y, d, x[:7])
			Available[T]()[0].SiLU(wantY, wantD, x[:7])
			sameClass(t, "silu", x, y[:7], wantY)
			sameClass(t, "derivative of silu", x, d[:7], wantD)
			s.Exp(y[:1], []T{r.largest})
			if math.IsInf(float64(y[0]), 0) {
				t.Errorf("exp(%v) = %v", r.largest, y[0])
			}
		})
	}
}

// sameClass compares numbers including the sign of zero.
func sameClass[T Float](t *testing.T, name string, x, got, want []T) {
	t.Helper()
	for i, g := range got {
		a, b := float64(g), float64(want[i])
		if fmt.Sprint(a) != fmt.Sprint(b) || math.Signbit(a) != math.Signbit(b) && a == a {
			t.Errorf("%s(%v) = %v, want %v", name, x[i], g, want[i])
		}
	}
}

// TestOddTanh requires tanh(-x) = -tanh(x) to the last bit.
func TestOddTanh(t *testing.T) {
	for _, s := range Available[float32]() {
		for x := float32(1e-6); x < 20; x *= 1.01 {
			y := []float32{0, 0}
			s.Tanh(y, []float32{x, -x})
			if y[0] != -y[1] {
				t.Fatalf("%s: tanh(±%v) = %v, %v", s.Name(), x, y[0], y[1])
			}
		}
	}
}

// TestExpBeforeOverflow checks the last finite results, where math.Exp is already
// infinite on some processors.
func TestExpBeforeOverflow(t *testing.T) {
	for _, s := range Available[float64]()[1:] {
		for _, x := range []float64{709.45, 709.6, 709.78, 709.782712893} {
			y := []float64{0}
			s.Exp(y, []float64{x})
			if want := math.Exp(x-1) * math.E; !near(y[0]/want, 1, 1e-15) {
				t.Errorf("%s: exp(%v) = %v, want %v", s.Name(), x, y[0], want)
			}
		}
	}
}
