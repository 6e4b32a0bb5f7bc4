package spec

import (
	"fmt"
	"slices"
)

// Transform is a kernel transformation: Scale, Posterior, Train, Sketch,
// Ensemble, ACSGrad, ACSRandomFeatures or ACSRandomFeaturesHyper.
type Transform interface {
	String() string // as in the text of a spec
	Info() TransformInfo
	fault() string // what is wrong with the parameter, or nothing

	// after returns the chain with this transform at its end, or why that
	// makes no sense.
	after(chain) (chain, string)
}

// Scale multiplies the features by Factor; zero means 1/√(mean of k(x, x) over
// the training rows).
type Scale struct{ Factor float64 }

// Posterior is the Gaussian process posterior after observing the training rows.
type Posterior struct{}

// Train is Scale, then Posterior.
type Train struct{}

// Sketch is a random projection to P features.
type Sketch struct{ P int }

// Ensemble adds up the kernels of several networks.
type Ensemble struct{ Members int }

// ACSGrad is the weighted Fisher inner product of ACS-FW.
type ACSGrad struct{}

// ACSRandomFeatures has P random features of the ACS-FW kernel.
type ACSRandomFeatures struct{ P int }

// ACSRandomFeaturesHyper is ACSRandomFeatures with a hyperprior on the noise.
type ACSRandomFeaturesHyper struct{ P int }

// TransformInfo describes a kernel transformation.
type TransformInfo struct {
	Name        string
	Syntax      string // with its parameter, if there is one
	Description string
	Section     string // of the paper

	Noise bool // σ² is in it
}

func (Scale) Info() TransformInfo {
	return TransformInfo{Name: "scale", Syntax: "scale, scale(factor)", Section: "4.2 Scaling",
		Description: "features times a factor, by default such that the mean of k(x, x) on train is 1"}
}

func (Posterior) Info() TransformInfo {
	return TransformInfo{Name: "post", Syntax: "post", Section: "4.2 Gaussian Process Posterior Transformation", Noise: true,
		Description: "covariance that is left after observing the training rows"}
}

func (Train) Info() TransformInfo {
	return TransformInfo{Name: "train", Syntax: "train", Section: "4.2 Gaussian Process Posterior Transformation", Noise: true,
		Description: "short for scale>post"}
}

func (Sketch) Info() TransformInfo {
	return TransformInfo{Name: "sketch", Syntax: "sketch(p)", Section: "4.2 Sketching",
		Description: "random projection to p features"}
}

func (Ensemble) Info() TransformInfo {
	return TransformInfo{Name: "ens", Syntax: "ens(n)", Section: "4.2 Ensembling",
		Description: "sum of the kernels of n networks"}
}

func (ACSGrad) Info() TransformInfo {
	return TransformInfo{Name: "acs-grad", Syntax: "acs-grad", Section: "4.2 ACS Gradient Transformation", Noise: true,
		Description: "weighted Fisher inner product: scaled kernel times its posterior"}
}

func (ACSRandomFeatures) Info() TransformInfo {
	return TransformInfo{Name: "acs-rf", Syntax: "acs-rf(p)", Section: "4.2 ACS Random Features Transformation", Noise: true,
		Description: "p random features of the expected log-likelihood, drawn from the posterior"}
}

func (ACSRandomFeaturesHyper) Info() TransformInfo {
	return TransformInfo{Name: "acs-rf-hyper", Syntax: "acs-rf-hyper(p)", Section: "4.2 ACS Random Features Transformation",
		Description: "acs-rf with a hyperprior on the noise variance"}
}

func (t Scale) String() string                  { return call(t.Info().Name, t.Factor, 0) }
func (t Posterior) String() string              { return t.Info().Name }
func (t Train) String() string                  { return t.Info().Name }
func (t Sketch) String() string                 { return counted(t.Info().Name, t.P) }
func (t Ensemble) String() string               { return counted(t.Info().Name, t.Members) }
func (t ACSGrad) String() string                { return t.Info().Name }
func (t ACSRandomFeatures) String() string      { return counted(t.Info().Name, t.P) }
func (t ACSRandomFeaturesHyper) String() string { return counted(t.Info().Name, t.P) }

func counted(name string, n int) string { return fmt.Sprintf("%s(%d)", name, n) }

// What is beyond these is a typing error, not a wish.
const (
	mostFeatures = 1 << 20
	mostMembers  = 1000
)

func (Posterior) fault() string                { return "" }
func (Train) fault() string                    { return "" }
func (ACSGrad) fault() string                  { return "" }
func (t Sketch) fault() string                 { return featureFault(t.P) }
func (t ACSRandomFeatures) fault() string      { return featureFault(t.P) }
func (t ACSRandomFeaturesHyper) fault() string { return featureFault(t.P) }

func (t Scale) fault() string {
	if t.Factor != 0 && !positive(t.Factor) {
		return "the factor of scale must be positive and finite"
	}
	return ""
}

func (t Ensemble) fault() string {
	if t.Members < 1 || t.Members > mostMembers {
		return fmt.Sprintf("ens takes a number of networks from 1 to %d", mostMembers)
	}
	return ""
}

func featureFault(p int) string {
	if p < 1 || p > mostFeatures {
		return fmt.Sprintf("the number of features must be from 1 to %d", mostFeatures)
	}
	return ""
}

// transforms is the registry: how each name becomes a Transform.
var transforms = []struct {
	zero      Transform
	parameter parameter
	with      func(float64) Transform
}{
	{Scale{}, optionalReal, func(v float64) Transform { return Scale{Factor: v} }},
	{Posterior{}, none, nil},
	{Train{}, none, nil},
	{Sketch{}, count, func(v float64) Transform { return Sketch{P: int(v)} }},
	{Ensemble{}, count, func(v float64) Transform { return Ensemble{Members: int(v)} }},
	{ACSGrad{}, none, nil},
	{ACSRandomFeatures{}, count, func(v float64) Transform { return ACSRandomFeatures{P: int(v)} }},
	{ACSRandomFeaturesHyper{}, count, func(v float64) Transform { return ACSRandomFeaturesHyper{P: int(v)} }},
}

// Transforms lists the kernel transformations.
func Transforms() (list []TransformInfo) {
	for _, t := range transforms {
		list = append(list, t.zero.Info())
	}
	return list
}

func transformNames() (names []string) {
	for _, t := range transforms {
		names = append(names, t.zero.Info().Name)
	}
	return names
}

func transformIndex(name string) int { return slices.Index(transformNames(), name) }
