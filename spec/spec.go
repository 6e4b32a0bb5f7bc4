// Package spec parses, prints and checks the text of a method, such as
// lcmd-tp:grad>sketch(512), and knows what each selection method, kernel and
// transformation needs and how to construct it.
//
// The files build on each other in this order, and none uses a later one: error
// and text (names and numbers), parameter, registry, method, kernel and
// transform (what each name needs), spec and check (a whole method), preset and
// published (methods that have names of their own), register, parse.
package spec

import (
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/footprint"
)

// Spec is a batch active learning method: how to select rows, and in which
// kernel. Its text is
//
//	METHOD-MODE:KERNEL>TRANSFORM>TRANSFORM@OPTION
//
// for example lcmd-tp:grad>sketch(512) or bait-f-p:ll>train@compat. Spaces
// around the punctuation are allowed. String returns the canonical text without
// them, and Parse turns that text back into the same Spec.
//
// Methods without a mode (random, maxdiag) are written without one; random uses
// no kernel and is written alone. Methods, Kernels, Transforms and Presets list
// the known names, and RegisterMethod, RegisterKernel and RegisterTransform add
// to them. Options:
//
//	@compat         follow the published code where it differs from the paper
//	@sigma2(1e-4)   the noise variance σ², 1e-6 by default
//
// Wherever a numeric field has a default, zero means the default.
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

// Members returns how many networks the kernel combines: 1 without an ensemble.
func (s Spec) Members() int {
	for _, t := range s.Transforms {
		if t.Info().Ensemble {
			return int(t.Number)
		}
	}
	return 1
}

// Networks returns how many networks the kernel needs, trained or not.
func (s Spec) Networks() int {
	if s.Kernel.Info().Networks == AnyNetwork {
		return 1
	}
	return s.TrainedNetworks()
}

// TrainedNetworks returns how many trained networks the kernel needs.
func (s Spec) TrainedNetworks() int {
	if s.Kernel.Info().Networks != TrainedNetwork {
		return 0
	}
	return s.Members()
}

// NeedsLabelled reports whether the spec cannot do without labelled rows.
func (s Spec) NeedsLabelled() bool {
	return s.TrainedNetworks() > 0 || s.Mode == TP || s.Kernel.Info().Train || s.Kernel.Info().Leaves || s.Kernel.Info().Members ||
		slices.ContainsFunc(s.Transforms, func(t Transform) bool { return t.Info().Train })
}

// SinglePart returns how many of the transformations can be computed in float32:
// the first one that cannot, and all after it, are computed in float64.
func (s Spec) SinglePart() int {
	if s.Kernel.Info().DoubleOnly {
		return 0
	}
	for i, t := range s.Transforms {
		if t.Info().DoubleOnly {
			return i
		}
	}
	return len(s.Transforms)
}

// SketchesInSingle reports whether a transformation that can be computed in float32 needs
// features. A kernel in float64 then starts from features in float32.
func (s Spec) SketchesInSingle() bool {
	return slices.ContainsFunc(s.Transforms[:s.SinglePart()], func(t Transform) bool { return t.Info().Needs != Values })
}

// DoubleKernel reports whether the spec's kernel is in float64, whatever the
// method.
func (s Spec) DoubleKernel() bool {
	return s.UsesKernel() && (s.Kernel.Info().DoubleOnly || s.SinglePart() < len(s.Transforms))
}

// Double reports whether the method is computed in float64.
func (s Spec) Double() bool { return s.DoubleKernel() || s.Method.Info().DoubleOnly }

// ComputesInDouble reports whether a selection by the spec computes in float64
// where the rows are in float64, and so depends on digits that float32 does not
// hold.
func (s Spec) ComputesInDouble() bool { return s.Double() || s.Method.Info().PrefersDouble }

// UsesKernel reports whether the method uses a kernel.
func (s Spec) UsesKernel() bool { return !s.Method.Info().NoKernel }

// KeepFeatures reports whether anything after the first done transformations
// needs features.
func (s Spec) KeepFeatures(done int) bool {
	needs := func(t Transform) bool { return t.Info().Needs != Values }
	return s.Method.Info().Features || slices.ContainsFunc(s.Transforms[done:], needs)
}

// Width returns how many numbers the kernel keeps per row in memory, and
// whether those numbers are features.
func (s Spec) Width(z Size) (width int, explicit bool) {
	width = int(footprint.Bytes(float64(s.Kernel.Info().width(s.Kernel.Number, z)) * float64(s.Members())))
	space := s.Kernel.Info().space(s.Kernel.Number)
	for _, t := range s.Transforms {
		info := t.Info()
		width, space = min(info.width(t.Number, width, space, z), footprint.Most), info.space(space)
	}
	return width, space == Explicit
}

// String returns the canonical text.
func (s Spec) String() string {
	text, _ := s.print()
	return text
}

// Equal reports whether both specs are the same method, that is, have the same text.
func (s Spec) Equal(other Spec) bool { return s.String() == other.String() }

// Validate returns nil or an *Error that points into the canonical text.
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

// layout records where each part of a spec is in its text.
type layout struct {
	method, kernel, compat, sigma2 span
	transforms                     []span
}

// print returns the canonical text and the position of each part.
func (s Spec) print() (string, layout) {
	var b strings.Builder
	var where layout
	put := func(part string) span {
		from := b.Len()
		b.WriteString(part)
		return span{from, b.Len()}
	}
	where.method = put(head(s.Method, s.Mode))
	if s.Kernel != (Kernel{}) {
		put(":")
		where.kernel = put(s.Kernel.canonical().String())
	}
	for _, t := range s.Transforms {
		put(">")
		where.transforms = append(where.transforms, put(t.canonical().String()))
	}
	if s.Compat {
		where.compat = put("@compat")
	}
	if s.NoiseVariance() != DefaultSigma2 {
		where.sigma2 = put("@sigma2(" + number(s.Sigma2) + ")")
	}
	return b.String(), where
}

// Value is the number that the kernel is built with: Number, or its default.
func (k Kernel) Value() float64 { return k.Info().Parameter.value(k.Number) }

// Value is the number that the transformation is built with: Number, or its
// default.
func (t Transform) Value() float64 { return t.Info().Parameter.value(t.Number) }

// canonical drops a number that equals the default.
func (k Kernel) canonical() Kernel {
	k.Number = k.Info().Parameter.canonical(k.Number)
	return k
}

func (t Transform) canonical() Transform {
	t.Number = t.Info().Parameter.canonical(t.Number)
	return t
}
