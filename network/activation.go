package network

import (
	"fmt"
	"math"
	"strings"

	"github.com/nextbatch/nextbatch/internal/simd"
)

// Activation is the function φ that is applied to each number of a hidden layer.
type Activation uint8

// The activation functions. Those of the paper come first.
const (
	ReLU      Activation = iota // max(z, 0)
	SiLU                        // z·σ(z), σ the logistic function; also called swish
	Tanh                        // tanh z
	GELU                        // z·Φ(z), Φ the normal distribution function
	SELU                        // λ·z, λ·α·(e^z - 1) for z < 0; λ and α keep mean 0 and variance 1
	ELU                         // z, e^z - 1 for z < 0
	LeakyReLU                   // z, z/100 for z < 0
	Softplus                    // log(1 + e^z)
	Sigmoid                     // σ(z)
)

// activations defines each function by its value and slope at z. Smooth ones
// take the paper's constants for SiLU where none are given, others those for
// ReLU.
var activations = [...]struct {
	name   string
	at     func(z float64) (value, slope float64)
	smooth bool
}{
	ReLU:      {"relu", reluAt, false},
	SiLU:      {"silu", siluAt, true},
	Tanh:      {"tanh", tanhAt, true},
	GELU:      {"gelu", geluAt, true},
	SELU:      {"selu", seluAt, true},
	ELU:       {"elu", eluAt, true},
	LeakyReLU: {"leaky-relu", leakyAt, false},
	Softplus:  {"softplus", softplusAt, true},
	Sigmoid:   {"sigmoid", sigmoidAt, true},
}

// ParseActivation returns the activation with the given name, as String prints it.
func ParseActivation(name string) (Activation, error) {
	for a, entry := range activations {
		if entry.name == name {
			return Activation(a), nil
		}
	}
	return 0, fmt.Errorf("there is no activation %q; choose one of %s", name, ActivationNames())
}

// ActivationNames lists the names of all activation functions, separated by commas.
func ActivationNames() string {
	names := make([]string, len(activations))
	for a, entry := range activations {
		names[a] = entry.name
	}
	return strings.Join(names, ", ")
}

// String returns the name in lower case, such as "leaky-relu".
func (a Activation) String() string {
	if !a.known() {
		return fmt.Sprintf("Activation(%d)", uint8(a))
	}
	return activations[a].name
}

// MarshalText is String, and an error if a is none of the constants.
func (a Activation) MarshalText() ([]byte, error) {
	if !a.known() {
		return nil, fmt.Errorf("%v has no name", a)
	}
	return []byte(a.String()), nil
}

// UnmarshalText is ParseActivation.
func (a *Activation) UnmarshalText(text []byte) error {
	parsed, err := ParseActivation(string(text))
	if err == nil {
		*a = parsed
	}
	return err
}

// At returns φ(z) and its slope. a must be one of the constants.
func (a Activation) At(z float64) (value, slope float64) { return activations[a].at(z) }

func (a Activation) known() bool { return int(a) < len(activations) }

// slopeFromOutput reports whether φ'(z) follows from φ(z), as a mask, so that it need
// not be kept.
func (a Activation) slopeFromOutput() bool { return a == ReLU }

// apply overwrites z with φ(z), and writes φ'(z) to slope unless slopeFromOutput.
func apply(a Activation, set *simd.Set[Real], z, slope []Real) {
	switch a {
	case ReLU:
		set.ReLU(z, z)
	case SiLU:
		set.SiLU(z, slope, z)
	case Tanh:
		set.Tanh(z, z)
		for i, y := range z {
			slope[i] = 1 - y*y
		}
	default:
		at := activations[a].at
		for i, v := range z {
			y, s := at(float64(v))
			z[i], slope[i] = Real(y), Real(s)
		}
	}
}

func reluAt(z float64) (value, slope float64) {
	if z > 0 {
		return z, 1
	}
	return max(z, 0), 0 // NaN stays NaN
}

func siluAt(z float64) (value, slope float64) {
	s, _ := sigmoidAt(z)
	return z * s, s + z*s*(1-s)
}

func tanhAt(z float64) (value, slope float64) {
	y := math.Tanh(z)
	return y, 1 - y*y
}

func geluAt(z float64) (value, slope float64) {
	below := 0.5 * math.Erfc(-z/math.Sqrt2)
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return z * below, below + z*density
}

// The fixed point of mean 0 and variance 1 (Klambauer and others, 2017).
const (
	seluAlpha  = 1.6732632423543772
	seluLambda = 1.0507009873554805
)

func seluAt(z float64) (value, slope float64) {
	if z > 0 {
		return seluLambda * z, seluLambda
	}
	return seluLambda * seluAlpha * math.Expm1(z), seluLambda * seluAlpha * math.Exp(z)
}

func eluAt(z float64) (value, slope float64) {
	if z > 0 {
		return z, 1
	}
	return math.Expm1(z), math.Exp(z)
}

func leakyAt(z float64) (value, slope float64) {
	const leak = 0.01
	if z > 0 {
		return z, 1
	}
	return leak * z, leak
}

func softplusAt(z float64) (value, slope float64) {
	s, _ := sigmoidAt(z)
	return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))), s
}

func sigmoidAt(z float64) (value, slope float64) {
	e := math.Exp(-math.Abs(z)) // never overflows
	s := 1 / (1 + e)
	if z < 0 {
		s = e / (1 + e)
	}
	return s, e / ((1 + e) * (1 + e))
}
