package network

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/simd"
)

func everyActivation(t *testing.T, f func(t *testing.T, a Activation)) {
	for i := range activations {
		t.Run(Activation(i).String(), func(t *testing.T) { f(t, Activation(i)) })
	}
}

func TestActivationNames(t *testing.T) {
	t.Parallel()
	everyActivation(t, func(t *testing.T, a Activation) {
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var b Activation
		if err := json.Unmarshal(text, &b); err != nil || b != a {
			t.Errorf("%s became %v (%v)", text, b, err)
		}
	})
	if _, err := ParseActivation("Swish"); err == nil || !strings.Contains(err.Error(), `"Swish"`) {
		t.Errorf("error %v", err)
	}
	if _, err := Activation(99).MarshalText(); err == nil {
		t.Error("Activation(99) has a name")
	}
}

// Values from the functions' definitions, to six digits.
func TestActivationValues(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a        Activation
		z, value float64
	}{
		{ReLU, 2, 2}, {ReLU, -2, 0}, {ReLU, 0, 0},
		{SiLU, 1, 0.731059}, {SiLU, -1, -0.268941},
		{Tanh, 1, 0.761594},
		{GELU, 1, 0.841345}, {GELU, -1, -0.158655},
		{SELU, 1, 1.050701}, {SELU, -1, -1.111331},
		{ELU, 3, 3}, {ELU, -1, -0.632121},
		{LeakyReLU, 3, 3}, {LeakyReLU, -3, -0.03},
		{Softplus, 0, 0.693147}, {Softplus, 800, 800}, {Softplus, -800, 0},
		{Sigmoid, 1, 0.731059}, {Sigmoid, -800, 0}, {Sigmoid, 800, 1},
	}
	for _, test := range tests {
		if got, _ := activations[test.a].at(test.z); math.Abs(got-test.value) > 1e-6 {
			t.Errorf("%v(%v) = %v, want %v", test.a, test.z, got, test.value)
		}
	}
}

func TestActivationSlopes(t *testing.T) {
	t.Parallel()
	everyActivation(t, func(t *testing.T, a Activation) {
		for z := -6.05; z < 6; z += 0.1 { // never at a kink
			const h = 1e-5
			up, _ := activations[a].at(z + h)
			down, _ := activations[a].at(z - h)
			_, slope := activations[a].at(z)
			if numeric := (up - down) / (2 * h); math.Abs(slope-numeric) > 1e-8 {
				t.Errorf("slope at %.2f is %v, numerically %v", z, slope, numeric)
			}
		}
	})
}

func TestApplyFollowsTheDefinition(t *testing.T) {
	t.Parallel()
	everyActivation(t, func(t *testing.T, a Activation) {
		checkApply(t, a, tolerance(1e-14, 1e-6))
	})
}

func checkApply(t *testing.T, a Activation, tol float64) {
	t.Helper()
	var z, y, slope []Real
	for v := -12.0; v <= 12; v += 0.0625 {
		z = append(z, Real(v))
	}
	z = append(z, Real(math.NaN()))
	y, slope = append(y, z...), make([]Real, len(z))
	apply(a, simd.For[Real](), y, slope)
	for i, v := range z[:len(z)-1] {
		wantY, wantSlope := activations[a].at(float64(v))
		if math.Abs(float64(y[i])-wantY) > tol*max(1, math.Abs(wantY)) {
			t.Errorf("%T: value at %v is %v, want %v", v, v, y[i], wantY)
		}
		if !a.slopeFromOutput() && math.Abs(float64(slope[i])-wantSlope) > tol*max(1, wantSlope) {
			t.Errorf("%T: slope at %v is %v, want %v", v, v, slope[i], wantSlope)
		}
		if a.slopeFromOutput() && (y[i] > 0) != (wantSlope == 1) {
			t.Errorf("%T: at %v the output %v does not tell the slope %v", v, v, y[i], wantSlope)
		}
	}
	if last := y[len(y)-1]; last == last {
		t.Errorf("%T: NaN became %v", last, last)
	}
}

func ExampleActivation() {
	a, err := ParseActivation("leaky-relu")
	fmt.Println(a, err, a == LeakyReLU)
	// Output: leaky-relu <nil> true
}
