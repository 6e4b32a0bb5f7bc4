// Package spec is the text of a method, such as lcmd-tp:grad>sketch(512): it
// parses and prints it, checks it, and knows what each selection method, kernel
// and transformation needs.
package spec

import (
	"math"
	"strconv"
	"strings"
)

// Spec is a batch active learning method: how rows are selected, in which
// kernel. Its text is
//
//	METHOD-MODE:KERNEL>TRANSFORM>TRANSFORM@OPTION
//
// for example lcmd-tp:grad>sketch(512) or bait-f-p:ll>train@compat. Spaces
// around the signs are allowed. String gives the canonical text without them,
// and Parse of it gives the Spec back.
//
// Methods without a mode (random, maxdiag) are written without one; random looks
// at no kernel and is written alone. Methods, Kernels, Transforms and Presets
// list what there is. Options:
//
//	@compat         follow the published code where it differs from the paper
//	@sigma2(1e-4)   the noise variance σ², 1e-6 by default
//
// Wherever a field stands for a number with a default, zero means the default.
type Spec struct {
	Method     Method
	Mode       Mode // NoMode for methods to which it makes no difference
	Kernel     Kernel
	Transforms []Transform

	// Sigma2 is the noise variance σ² of the Gaussian process model in
	// Posterior, Train, ACSGrad, ACSRandomFeatures, MaxDet and BAIT.
	Sigma2 float64

	// Compat follows the published code where it differs from the paper, so
	// that the published tables can be reproduced: the sketch of the last layer,
	// the factors of the acs transformations, the denominator of BAIT. Specs
	// from published ids have it set.
	Compat bool
}

// DefaultSigma2 is the noise variance of the paper's experiments.
const DefaultSigma2 = 1e-6

// Default is the method that the paper proposes.
const Default = "lcmd-tp:grad>sketch(512)"

// NoiseVariance returns σ²: Sigma2, or its default.
func (s Spec) NoiseVariance() float64 {
	if s.Sigma2 == 0 {
		return DefaultSigma2
	}
	return s.Sigma2
}

// Members returns how many networks the kernel is made of: 1 without Ensemble.
func (s Spec) Members() int {
	for _, t := range s.Transforms {
		if e, ok := t.(Ensemble); ok {
			return e.Members
		}
	}
	return 1
}

// TrainedNetworks returns how many trained networks the kernel needs: 0 if it
// depends on none.
func (s Spec) TrainedNetworks() int {
	if s.Kernel == nil || !s.Kernel.Info().Network {
		return 0
	}
	return s.Members()
}

// Networks returns how many networks the kernel needs, trained or not: nngp and
// ntk take their depth and constants from one.
func (s Spec) Networks() int {
	switch s.Kernel.(type) {
	case NNGP, NTK:
		return 1
	}
	return s.TrainedNetworks()
}

// NoisyKernel tells whether a transformation works with a noise variance, and
// hence in float64.
func (s Spec) NoisyKernel() bool {
	for _, t := range s.Transforms {
		if t.Info().Noise {
			return true
		}
		if _, hyper := t.(ACSRandomFeaturesHyper); hyper {
			return true
		}
	}
	return false
}

// String returns the canonical text.
func (s Spec) String() string {
	text, _ := s.print()
	return text
}

// Equal reports whether both specs mean the same, that is, have the same text.
func (s Spec) Equal(other Spec) bool { return s.String() == other.String() }

// Validate returns nil or a *Error that points into the canonical text.
func (s Spec) Validate() error {
	text, where := s.print()
	if err := s.check(text, where); err != nil {
		return err
	}
	return nil
}

// MarshalText returns the canonical text.
func (s Spec) MarshalText() ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return []byte(s.String()), nil
}

// UnmarshalText parses what Parse parses.
func (s *Spec) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// Mode says which rows count as selected from the start.
type Mode int

const (
	NoMode Mode = iota // the method looks at no selected rows
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

// span is a part of a spec's text: bytes from to to-1.
type span struct{ from, to int }

// layout says where the parts of a spec stand in its text.
type layout struct {
	method, kernel, compat, sigma2 span
	transforms                     []span
}

// print returns the canonical text and where its parts are.
func (s Spec) print() (string, layout) {
	var b strings.Builder
	var where layout
	put := func(part string) span {
		from := b.Len()
		b.WriteString(part)
		return span{from, b.Len()}
	}
	where.method = put(head(s.Method, s.Mode))
	if s.Kernel != nil {
		put(":")
		where.kernel = put(s.Kernel.String())
	}
	for _, t := range s.Transforms {
		put(">")
		where.transforms = append(where.transforms, put(text(t)))
	}
	if s.Compat {
		where.compat = put("@compat")
	}
	if s.NoiseVariance() != DefaultSigma2 {
		where.sigma2 = put("@sigma2(" + number(s.Sigma2) + ")")
	}
	return b.String(), where
}

// head is a method with its mode.
func head(m Method, mode Mode) string {
	if mode == NoMode {
		return m.String()
	}
	return m.String() + "-" + mode.String()
}

// text is a transform's text; a nil one shows as an empty place.
func text(t Transform) string {
	if t == nil {
		return ""
	}
	return t.String()
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// call is a name with a parameter, or the name alone for the default.
func call(name string, parameter, standard float64) string {
	if parameter == 0 || parameter == standard {
		return name
	}
	return name + "(" + number(parameter) + ")"
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
