package spec

import (
	"math"
	"strconv"
)

// Method is the name of a selection method in specs. Methods lists them.
type Method string

// The selection methods of the paper, and variants of them.
const (
	random              Method = "random"
	maxDiag             Method = "maxdiag"
	maxDet              Method = "maxdet"
	baitForward         Method = "bait-f"
	baitForwardBackward Method = "bait-fb"
	frankWolfe          Method = "frankwolfe"
	maxDist             Method = "maxdist"
	kMeansPP            Method = "kmeanspp"
	greedyKMeansPP      Method = "greedy-kmeanspp"
	lcmd                Method = "lcmd"
	lcmdDistance        Method = "lcmd-dist"
	lcmdCount           Method = "lcmd-count"
)

// Mode determines which rows count as selected from the start.
type Mode int

const (
	NoMode Mode = iota // the method does not depend on the selected rows
	P                  // the pool alone
	TP                 // the training rows too
)

func (m Mode) String() string {
	switch m {
	case P:
		return "p"
	case TP:
		return "tp"
	}
	return ""
}

// Kernel is a base kernel as a spec writes it: its name, and the number in
// parentheses after it. Zero means no number, and so the default. Kernels lists
// the names.
type Kernel struct {
	Name   string
	Number float64
}

func (k Kernel) String() string { return call(k.Name, k.Number) }

// linearKernel is k(x, x') = ⟨x, x'⟩ on the inputs.
func linearKernel() Kernel { return Kernel{Name: "linear"} }

// nngpKernel is the covariance of an infinitely wide network at initialisation.
func nngpKernel() Kernel { return Kernel{Name: "nngp"} }

// ntkKernel is the neural tangent kernel of an infinitely wide network.
func ntkKernel() Kernel { return Kernel{Name: "ntk"} }

// laplaceKernel is exp(−scale·‖x − x'‖).
func laplaceKernel(scale float64) Kernel { return Kernel{Name: "laplace", Number: scale} }

// rbfKernel is exp(−r²/2), r the distance in units of length scales that the labels
// determine.
func rbfKernel() Kernel { return Kernel{Name: "rbf"} }

// maternKernel is the Matérn-5/2 kernel of the same distance or, where a Gaussian process has been
// fitted, the kernel of that process.
func maternKernel() Kernel { return Kernel{Name: "matern"} }

// lastLayerKernel is the gradient with respect to the parameters of the last layer.
func lastLayerKernel() Kernel { return Kernel{Name: "ll"} }

// gradientKernel is the gradient with respect to all parameters of the trained network.
func gradientKernel() Kernel { return Kernel{Name: "grad"} }

// leafKernel is the share of fitted trees in which two rows are in the same leaf.
func leafKernel() Kernel { return Kernel{Name: "leaf"} }

// predictionsKernel is the covariance of the predictions of the members of an ensemble.
func predictionsKernel() Kernel { return Kernel{Name: "predictions"} }

// userFeaturesKernel is the linear kernel on features that the user supplies.
func userFeaturesKernel() Kernel { return Kernel{Name: "features"} }

// Transform is a kernel transformation as a spec writes it: its name, and the
// number in parentheses after it. Zero means no number, and so the default.
// Transforms lists the names.
type Transform struct {
	Name   string
	Number float64
}

func (t Transform) String() string { return call(t.Name, t.Number) }

// scaleTransform multiplies the features by 1/√(mean of k(x, x) over the training rows).
func scaleTransform() Transform { return Transform{Name: "scale"} }

// posteriorTransform is the Gaussian process posterior given the training rows.
func posteriorTransform() Transform { return Transform{Name: "post"} }

// trainTransform is scaleTransform, then posteriorTransform.
func trainTransform() Transform { return Transform{Name: "train"} }

// sketchTransform is a random projection to p features.
func sketchTransform(p int) Transform { return Transform{Name: "sketch", Number: float64(p)} }

// fourierTransform computes n random Fourier features of a stationary kernel.
func fourierTransform(n int) Transform { return Transform{Name: "rff", Number: float64(n)} }

// ensembleTransform adds up the kernels of several networks.
func ensembleTransform(networks int) Transform {
	return Transform{Name: "ens", Number: float64(networks)}
}

// acsGradTransform is the weighted Fisher inner product of ACS-FW.
func acsGradTransform() Transform { return Transform{Name: "acs-grad"} }

// acsTransform computes p random features of the ACS-FW kernel.
func acsTransform(p int) Transform { return Transform{Name: "acs-rf", Number: float64(p)} }

// acsHyperTransform is acsTransform with a hyperprior on the noise.
func acsHyperTransform(p int) Transform {
	return Transform{Name: "acs-rf-hyper", Number: float64(p)}
}

// number writes whole numbers as people do, without an exponent.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// call writes a name with a number, or the name alone for zero.
func call(name string, v float64) string {
	if v == 0 {
		return name
	}
	return name + "(" + number(v) + ")"
}

// wellFormed reports whether a name can appear in a spec: hyphens separate
// groups of lower-case letters and digits, and a letter comes first.
func wellFormed(name string) bool {
	if name == "" || len(name) > longestName || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	previous := byte('-')
	for _, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !letter && (c != '-' || previous == '-') {
			return false
		}
		previous = c
	}
	return previous != '-'
}
