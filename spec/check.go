package spec

import (
	"cmp"
	"fmt"
)

// chain is a base kernel with the transforms so far, reduced to what decides
// which transform may come next.
type chain struct {
	kernel       KernelInfo
	space        Space
	conditioned  string // the transform that conditioned on the training rows
	noCovariance string // the transform after which the kernel is no longer a covariance
	ensembled    bool
	place        position
}

// position is where a chain is: all of a spec, a term of a sum, or after the sum.
type position int

const (
	alone position = iota
	inTerm
	afterSum
)

// plus returns the chain of the sum of two chains. Its kernel is the one with the fewest usable
// features.
func (c chain) plus(other chain) chain {
	if other.space.lacks() > c.space.lacks() {
		c.kernel = other.kernel
	}
	c.space = c.space.plus(other.space)
	c.ensembled = c.ensembled || other.ensembled
	c.noCovariance = cmp.Or(c.noCovariance, other.noCovariance)
	c.place = afterSum
	return c
}

// after returns the chain with one more transform at its end, or the reason why
// that makes no sense.
func (c chain) after(t TransformInfo) (chain, string) {
	checks := []func(TransformInfo) string{c.checkNeeds, c.checkEnsemble, c.checkConditions}
	for _, check := range checks {
		if why := check(t); why != "" {
			return c, why
		}
	}
	if t.Conditions {
		c.conditioned = t.Name
	}
	if t.NoCovariance {
		c.noCovariance = t.Name
	}
	c.ensembled = c.ensembled || t.Ensemble
	c.space = t.space(c.space)
	return c, ""
}

func (c chain) checkNeeds(t TransformInfo) string {
	switch {
	case t.Needs == Values, t.Needs == FiniteFeatures && c.space == Factored,
		t.Needs == Frequencies && c.space == Stationary:
		return ""
	case t.Needs == Frequencies && c.place == afterSum:
		return t.Name +
			" draws frequencies of a stationary kernel, and not all terms of the sum are stationary: put it into those that are"
	case t.Needs == Frequencies && c.kernel.Space == Stationary:
		return t.Name + " draws frequencies of a stationary kernel: put it right after " + c.kernel.Name
	case t.Needs == Frequencies:
		return fmt.Sprintf("%s draws frequencies of a stationary kernel (rbf, matern or laplace), and %s is not stationary",
			t.Name, c.kernel.Name)
	}
	return c.lacksFeatures(t.Name)
}

func (c chain) lacksFeatures(what string) string {
	switch c.space {
	case Factored:
		return fmt.Sprintf("%s needs features, and %s has too many to write down: put sketch(p) before it", what,
			c.factored())
	case Lost:
		return fmt.Sprintf(
			"%s needs features, and the posterior of %s no longer has any: put sketch(p) before post, train or acs-grad", what,
			c.factored())
	case Stationary, Infinite:
		why := fmt.Sprintf("%s needs features, and %s has infinitely many", what, c.kernel.Name)
		if c.kernel.Space == Stationary {
			why += ": put rff(n) right after " + c.kernel.Name
		}
		return why
	}
	return ""
}

// factored names a kernel that has too many features.
func (c chain) factored() string {
	if c.kernel.Leaves {
		return c.kernel.Name
	}
	return "a product kernel"
}

func (c chain) checkEnsemble(t TransformInfo) string {
	switch {
	case !t.Ensemble:
		return ""
	case c.place == afterSum:
		return t.Name + " combines the networks of one kernel: put it into a term of the sum"
	case c.ensembled:
		return t.Name + " appears twice: the networks have already been combined into one kernel"
	case c.kernel.Networks != TrainedNetwork:
		return fmt.Sprintf("%s does not depend on the network: all members of an ensemble would be identical", c.kernel.Name)
	}
	return ""
}

// checkConditions: a chain conditions on the training rows at most once, and
// only while the kernel is a covariance.
func (c chain) checkConditions(t TransformInfo) string {
	switch {
	case !t.Conditions:
		return ""
	case c.place == inTerm:
		return t.Name + " conditions on the training rows, which is done to the sum: put the sum in parentheses, and " +
			t.Name + " after it"
	case c.noCovariance != "":
		return fmt.Sprintf("%s conditions a covariance on the training rows, and after %s the kernel is no longer one",
			t.Name, c.noCovariance)
	case c.conditioned != "":
		return fmt.Sprintf("%s has already conditioned on the training rows: %s would count them twice", c.conditioned,
			t.Name)
	}
	return ""
}

// check returns the first fault of the spec, whose parts are at where in text.
func (s Spec) check(text string, where layout) *Error {
	if err := s.checkMethod(text, where); err != nil {
		return err
	}
	if !s.UsesKernel() {
		return s.checkNoKernel(text, where)
	}
	if err := s.checkChain(text, where); err != nil {
		return err
	}
	return s.checkSigma2(text, where)
}

func (s Spec) checkMethod(text string, where layout) *Error {
	info := s.Method.Info()
	switch {
	case s.Method == "":
		return wrong(text, where.method, "a method is missing")
	case info.Name == "":
		return wrong(text, where.method, "there is no method %q", string(s.Method))
	case s.Mode < NoMode || s.Mode > TP:
		return wrong(text, where.method, "there is no mode number %d", int(s.Mode))
	case info.Modes && s.Mode == NoMode:
		return wrong(text, where.method,
			"%s needs a mode: %s selects from the pool alone, %s counts the training rows as selected",
			info.Name, head(s.Method, P), head(s.Method, TP))
	case !info.Modes && s.Mode != NoMode:
		return wrong(text, where.method, "%s does not depend on the rows selected before, so it has no mode: write %s",
			info.Name, info.Name)
	}
	return nil
}

func (s Spec) checkNoKernel(text string, where layout) *Error {
	switch {
	case s.Kernel != (Kernel{}) || len(s.Terms) > 0:
		return wrong(text, where.kernel, "%s uses no kernel: write %s", s.Method, s.Method)
	case len(s.Transforms) > 0:
		return wrong(text, where.transforms[0], "%s uses no kernel: write %s", s.Method, s.Method)
	}
	return s.checkSigma2(text, where)
}

// mostTransforms is far more than makes sense, and few enough that kernels that wrap one
// another stay shallow: each number then passes through all of them. mostTerms bounds the
// terms of a sum, each of which costs as much as a kernel.
const (
	mostTransforms = 32
	mostTerms      = 4
)

func (s Spec) checkChain(text string, where layout) *Error {
	if len(s.AllTransforms()) > mostTransforms {
		return wrong(text, where.allTransforms()[mostTransforms],
			"a kernel may have at most %d transformations, and this is one more", mostTransforms)
	}
	var c chain
	var err *Error
	if len(s.Terms) > 0 {
		c, err = s.checkTerms(text, where)
	} else {
		c, err = s.checkKernel(text, where)
	}
	if err != nil {
		return err
	}
	if c, err = c.through(s.Transforms, text, where.transforms); err != nil {
		return err
	}
	if method := s.Method.Info(); method.Features {
		if why := c.lacksFeatures(method.Name); why != "" {
			return wrong(text, where.method, "%s", why)
		}
	}
	return nil
}

// checkKernel returns the chain of the base kernel.
func (s Spec) checkKernel(text string, where layout) (chain, *Error) {
	if s.Kernel == (Kernel{}) {
		return chain{}, wrong(text, extent{where.method.to, where.method.to},
			"a kernel is missing, as in %s:grad>sketch(512)",
			head(s.Method, s.Mode))
	}
	return newChain(s.Kernel, alone, text, where.kernel)
}

// checkTerms returns the chain of a sum.
func (s Spec) checkTerms(text string, where layout) (sum chain, err *Error) {
	switch {
	case s.Kernel != (Kernel{}):
		return chain{}, wrong(text, where.kernel, "a spec has either a kernel or the terms of a sum, not both")
	case len(s.Terms) == 1:
		return chain{}, wrong(text, where.kernel, "a sum has at least two terms, as in grad+0.5*matern")
	case len(s.Terms) > mostTerms:
		return chain{}, wrong(text, where.terms[mostTerms].kernel,
			"a sum may have at most %d terms, and this is one more", mostTerms)
	}
	for i, t := range s.Terms {
		at := where.terms[i]
		if t.Weight != 0 && !positive(t.Weight) {
			return chain{}, wrong(text, at.weight, "the weight of a term must be positive and finite")
		}
		c, err := newChain(t.Kernel, inTerm, text, at.kernel)
		if err != nil {
			return chain{}, err
		}
		if c, err = c.through(t.Transforms, text, at.transforms); err != nil {
			return chain{}, err
		}
		if i == 0 {
			sum = c
		}
		sum = sum.plus(c)
	}
	return sum, nil
}

// newChain returns the chain of a base kernel that may not exist.
func newChain(k Kernel, at position, text string, where extent) (chain, *Error) {
	info := k.Info()
	if info.Name == "" {
		return chain{}, wrong(text, where, "there is no kernel %q", k.Name)
	}
	if why := info.Parameter.fault(info.Name, k.Number); why != "" {
		return chain{}, wrong(text, where, "%s", why)
	}
	return chain{kernel: info, space: info.space(k.Number), place: at}, nil
}

// through returns the chain after transformations.
func (c chain) through(transforms []Transform, text string, where []extent) (chain, *Error) {
	for i, t := range transforms {
		var why string
		if c, why = c.afterChecked(t); why != "" {
			return c, wrong(text, where[i], "%s", why)
		}
	}
	return c, nil
}

// afterChecked is after for a transform that may not exist.
func (c chain) afterChecked(t Transform) (chain, string) {
	info := t.Info()
	switch {
	case t.Name == "":
		return c, "a transform is missing"
	case info.Name == "":
		return c, fmt.Sprintf("there is no transform %q", t.Name)
	}
	if why := info.Parameter.fault(t.Name, t.Number); why != "" {
		return c, why
	}
	return c.after(info)
}

func (s Spec) checkSigma2(text string, where layout) *Error {
	if s.NoiseVariance() == DefaultSigma2 {
		return nil
	}
	if !positive(s.Sigma2) {
		return wrong(text, where.sigma2, "σ² must be positive and finite")
	}
	noise := s.Method.Info().Noise
	for _, t := range s.AllTransforms() {
		noise = noise || t.Info().Noise
	}
	if !noise {
		return wrong(text, where.sigma2, "nothing in this spec uses a noise variance σ²")
	}
	return nil
}
