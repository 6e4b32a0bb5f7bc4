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
// The kernel may be a weighted sum, as in lcmd-tp:grad>sketch(512)+0.5*matern>rff(1024).
// Each term has its own transformations. Those of the sum follow it in parentheses, as in
// bait-f-p:(grad>sketch(512)+0.5*matern>rff(1024))>train.
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

	// Terms are those of a sum of kernels. Kernel is then empty, and Transforms are those of
	// the sum.
	Terms []Term

	// Sigma2 is the noise variance σ² of the Gaussian process model in
	// Posterior, Train, ACSGrad, ACSRandomFeatures, MaxDet and BAIT.
	Sigma2 float64

	// Compat follows the published code where it differs from the paper, so
	// that the published tables can be reproduced: the sketch of the last layer,
	// the factors of the acs transformations, the denominator of BAIT. Specs
	// from published ids have it set.
	Compat bool
}

// Term is a term of a sum of kernels: a kernel with its own transformations. It is scaled to
// a mean variance of 1 over the labelled and pending rows, or over candidates if there are none,
// and then multiplied by its weight.
type Term struct {
	Weight     float64 // zero means 1
	Kernel     Kernel
	Transforms []Transform
}

// Factor returns the weight: Weight, or its default.
func (t Term) Factor() float64 { return weight.value(t.Weight) }

// weight describes the weight of a term.
var weight = Parameter{Name: "weight", Optional: true, Default: 1}

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

// Term returns a term of a sum as a spec of its own.
func (s Spec) Term(i int) Spec {
	s.Kernel, s.Transforms, s.Terms = s.Terms[i].Kernel, s.Terms[i].Transforms, nil
	return s
}

// terms returns all terms of a sum as specs; none if the kernel is not a sum.
func (s Spec) terms() []Spec {
	list := make([]Spec, len(s.Terms))
	for i := range list {
		list[i] = s.Term(i)
	}
	return list
}

// BaseKernels returns the kernel, or those of all terms of a sum.
func (s Spec) BaseKernels() []Kernel {
	if len(s.Terms) == 0 {
		return []Kernel{s.Kernel}
	}
	list := make([]Kernel, len(s.Terms))
	for i, t := range s.Terms {
		list[i] = t.Kernel
	}
	return list
}

// AllTransforms returns the transformations of all terms of a sum, and then those after it.
func (s Spec) AllTransforms() (list []Transform) {
	for _, t := range s.Terms {
		list = append(list, t.Transforms...)
	}
	return append(list, s.Transforms...)
}

// Members returns how many networks the kernel combines: 1 without an ensemble, and in a sum
// the most of any term.
func (s Spec) Members() int {
	most := 1
	for _, term := range s.terms() {
		most = max(most, term.Members())
	}
	for _, t := range s.Transforms {
		if t.Info().Ensemble {
			return int(t.Number)
		}
	}
	return most
}

// TrainedNetworks returns how many trained networks the kernel needs.
func (s Spec) TrainedNetworks() int {
	most := 0
	for _, term := range s.terms() {
		most = max(most, term.TrainedNetworks())
	}
	if s.Kernel.Info().Networks != TrainedNetwork {
		return most
	}
	return s.Members()
}

// UsesKernel reports whether the method uses a kernel.
func (s Spec) UsesKernel() bool { return !s.Method.Info().NoKernel }

// Width returns how many numbers the kernel keeps per row in memory, and
// whether those numbers are features.
func (s Spec) Width(z Size) (width int, explicit bool) {
	width, space := s.width(z)
	return width, space == Explicit
}

func (s Spec) width(z Size) (width int, space Space) {
	if len(s.Terms) > 0 {
		width, space = s.widthOfTerms(z)
	} else {
		width = int(footprint.Bytes(float64(s.Kernel.Info().width(s.Kernel.Number, z)) * float64(s.Members())))
		space = s.Kernel.Info().space(s.Kernel.Number)
	}
	for _, t := range s.Transforms {
		info := t.Info()
		width, space = min(info.width(t.Number, width, space, z), footprint.Most), info.space(space)
	}
	return width, space
}

func (s Spec) widthOfTerms(z Size) (width int, space Space) {
	for i, term := range s.terms() {
		more, own := term.width(z)
		if width = min(width+more, footprint.Most); i == 0 {
			space = own
		}
		space = space.plus(own)
	}
	return width, space
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
	method, compat, sigma2 extent
	chainLayout
	terms []chainLayout // of a sum; kernel is then the whole sum
}

// chainLayout records where a kernel and its transformations are.
type chainLayout struct {
	weight, kernel extent
	transforms     []extent
}

// allTransforms are in the order of Spec.AllTransforms.
func (l layout) allTransforms() (list []extent) {
	for _, term := range l.terms {
		list = append(list, term.transforms...)
	}
	return append(list, l.transforms...)
}

// print returns the canonical text and the position of each part.
func (s Spec) print() (string, layout) {
	var p printer
	var where layout
	where.method = p.put(head(s.Method, s.Mode))
	switch {
	case len(s.Terms) > 0:
		p.put(":")
		where.kernel, where.terms = p.sum(s.Terms, len(s.Transforms) > 0)
	case s.Kernel != (Kernel{}):
		p.put(":")
		where.kernel = p.put(s.Kernel.canonical().String())
	}
	where.transforms = p.transforms(s.Transforms)
	if s.Compat {
		where.compat = p.put("@compat")
	}
	if s.NoiseVariance() != DefaultSigma2 {
		where.sigma2 = p.put("@sigma2(" + number(s.Sigma2) + ")")
	}
	return p.String(), where
}

// printer writes a spec part by part.
type printer struct{ strings.Builder }

func (p *printer) put(part string) extent {
	from := p.Len()
	p.WriteString(part)
	return extent{from, p.Len()}
}

func (p *printer) transforms(list []Transform) (where []extent) {
	for _, t := range list {
		p.put(">")
		where = append(where, p.put(t.canonical().String()))
	}
	return where
}

// sum writes the terms of a sum, in parentheses if transformations follow.
func (p *printer) sum(terms []Term, followed bool) (all extent, where []chainLayout) {
	all.from = p.Len()
	if followed {
		p.put("(")
	}
	for i, t := range terms {
		if i > 0 {
			p.put("+")
		}
		var term chainLayout
		if w := weight.canonical(t.Weight); w != 0 {
			term.weight = p.put(number(w))
			p.put("*")
		}
		term.kernel = p.put(t.Kernel.canonical().String())
		term.transforms = p.transforms(t.Transforms)
		where = append(where, term)
	}
	if followed {
		p.put(")")
	}
	all.to = p.Len()
	return all, where
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
