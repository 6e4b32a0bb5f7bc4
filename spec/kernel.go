package spec

import (
	"fmt"
	"slices"
)

// Kernel is a base kernel: Linear, NNGP, NTK, Laplace, LastLayer, Gradient or
// UserFeatures.
type Kernel interface {
	String() string // as in the text of a spec
	Info() KernelInfo
	fault() string // what is wrong with the parameter, or nothing
}

// Linear is k(x, x') = ⟨x, x'⟩ on the inputs.
type Linear struct{}

// NNGP is the covariance of an infinitely wide network at initialisation.
type NNGP struct{}

// NTK is the neural tangent kernel of an infinitely wide network.
type NTK struct{}

// Laplace is exp(−Scale·‖x − x'‖). Zero means 1.
type Laplace struct{ Scale float64 }

// LastLayer is the gradient by the parameters of the last layers. Zero means 1.
type LastLayer struct{ Layers int }

// Gradient is the gradient by all parameters of the trained network.
type Gradient struct{}

// UserFeatures is the linear kernel on features that the user brings along.
type UserFeatures struct{}

// KernelInfo describes a base kernel.
type KernelInfo struct {
	Name        string
	Syntax      string // with its parameter, if there is one
	Description string
	Section     string // of the paper; empty for kernels that it does not treat

	Network bool // it depends on the trained network
	space   space
}

// Explicit tells whether the kernel has a row of features for each row of data.
func (k KernelInfo) Explicit() bool { return k.space == explicit }

func (Linear) Info() KernelInfo {
	return KernelInfo{Name: "linear", Syntax: "linear", Section: "4.1 Linear Kernel",
		Description: "the inputs themselves", space: explicit}
}

func (NNGP) Info() KernelInfo {
	return KernelInfo{Name: "nngp", Syntax: "nngp", Section: "4.1 Infinite-width NNGP",
		Description: "covariance of an infinitely wide network before training", space: infinite}
}

func (NTK) Info() KernelInfo {
	return KernelInfo{Name: "ntk", Syntax: "ntk", Section: "4.1 Infinite-width NNGP",
		Description: "neural tangent kernel of an infinitely wide network", space: infinite}
}

func (Laplace) Info() KernelInfo {
	return KernelInfo{Name: "laplace", Syntax: "laplace, laplace(scale)",
		Description: "exp(-scale·distance of the inputs), scale 1", space: infinite}
}

func (k LastLayer) Info() KernelInfo {
	i := KernelInfo{Name: "ll", Syntax: "ll, ll(layers)", Section: "4.1 Last-layer Kernel", Network: true,
		Description: "gradient by the parameters of the last layer, or the last few", space: explicit}
	if k.Layers > 1 {
		i.space = factored // all layers but the last are products
	}
	return i
}

func (Gradient) Info() KernelInfo {
	return KernelInfo{Name: "grad", Syntax: "grad", Section: "4.1 Full gradient Kernel", Network: true,
		Description: "gradient by all parameters of the trained network", space: factored}
}

func (UserFeatures) Info() KernelInfo {
	return KernelInfo{Name: "features", Syntax: "features",
		Description: "features that you bring along", space: explicit}
}

func (k Linear) String() string       { return k.Info().Name }
func (k NNGP) String() string         { return k.Info().Name }
func (k NTK) String() string          { return k.Info().Name }
func (k Laplace) String() string      { return call(k.Info().Name, k.Scale, 1) }
func (k LastLayer) String() string    { return call(k.Info().Name, float64(k.Layers), 1) }
func (k Gradient) String() string     { return k.Info().Name }
func (k UserFeatures) String() string { return k.Info().Name }

func (Linear) fault() string       { return "" }
func (NNGP) fault() string         { return "" }
func (NTK) fault() string          { return "" }
func (Gradient) fault() string     { return "" }
func (UserFeatures) fault() string { return "" }

func (k Laplace) fault() string {
	if k.Scale != 0 && !positive(k.Scale) {
		return "the scale of laplace must be positive and finite"
	}
	return ""
}

// mostLayers is far beyond any network: a typing error, not a wish.
const mostLayers = 1000

func (k LastLayer) fault() string {
	if k.Layers < 0 || k.Layers > mostLayers {
		return fmt.Sprintf("ll takes a number of layers from 1 to %d", mostLayers)
	}
	return ""
}

// kernels is the registry: how each name becomes a Kernel.
var kernels = []struct {
	zero      Kernel
	parameter parameter
	with      func(float64) Kernel
}{
	{Linear{}, none, nil},
	{NNGP{}, none, nil},
	{NTK{}, none, nil},
	{Laplace{}, optionalReal, func(v float64) Kernel { return Laplace{Scale: standard(v, 1)} }},
	{LastLayer{}, optionalCount, func(v float64) Kernel { return LastLayer{Layers: int(standard(v, 1))} }},
	{Gradient{}, none, nil},
	{UserFeatures{}, none, nil},
}

// Kernels lists the base kernels.
func Kernels() (list []KernelInfo) {
	for _, k := range kernels {
		list = append(list, k.zero.Info())
	}
	return list
}

func kernelNames() (names []string) {
	for _, k := range kernels {
		names = append(names, k.zero.Info().Name)
	}
	return names
}

func kernelIndex(name string) int { return slices.Index(kernelNames(), name) }

// standard writes a default as zero, so that one Spec has one form.
func standard(v, byDefault float64) float64 {
	if v == byDefault {
		return 0
	}
	return v
}
