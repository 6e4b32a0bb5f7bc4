package spec

import "fmt"

// chain is a base kernel with the transforms so far, reduced to what decides
// which transform may come next.
type chain struct {
	kernel       KernelInfo
	space        Space
	conditioned  string // the transform that conditioned on the training rows
	noCovariance string // the transform after which the kernel is no longer a covariance
	ensembled    bool
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
	case t.Needs == Values, t.Needs == FiniteFeatures && c.space == Factored, t.Needs == Frequencies && c.space == Stationary:
		return ""
	case t.Needs == Frequencies && c.kernel.Space == Stationary:
		return t.Name + " draws frequencies of a stationary kernel: put it right after " + c.kernel.Name
	case t.Needs == Frequencies:
		return fmt.Sprintf("%s draws frequencies of a stationary kernel (rbf, matern or laplace), and %s is not stationary", t.Name, c.kernel.Name)
	}
	return c.lacksFeatures(t.Name)
}

func (c chain) lacksFeatures(what string) string {
	switch c.space {
	case Factored:
		return fmt.Sprintf("%s needs features, and %s has too many to write down: put sketch(p) before it", what, c.factored())
	case Lost:
		return fmt.Sprintf("%s needs features, and the posterior of %s no longer has any: put sketch(p) before post, train or acs-grad", what, c.factored())
	case Stationary:
		return fmt.Sprintf("%s needs features, and %s has infinitely many: put rff(n) before it", what, c.kernel.Name)
	case Infinite:
		return fmt.Sprintf("%s needs features, and %s has infinitely many", what, c.kernel.Name)
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
	case c.noCovariance != "":
		return fmt.Sprintf("%s conditions a covariance on the training rows, and after %s the kernel is no longer one", t.Name, c.noCovariance)
	case c.conditioned != "":
		return fmt.Sprintf("%s has already conditioned on the training rows: %s would count them twice", c.conditioned, t.Name)
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
		return wrong(text, where.method, "%s needs a mode: %s selects from the pool alone, %s counts the training rows as selected",
			info.Name, head(s.Method, P), head(s.Method, TP))
	case !info.Modes && s.Mode != NoMode:
		return wrong(text, where.method, "%s does not depend on the rows selected before, so it has no mode: write %s", info.Name, info.Name)
	}
	return nil
}

func (s Spec) checkNoKernel(text string, where layout) *Error {
	switch {
	case s.Kernel != (Kernel{}):
		return wrong(text, where.kernel, "%s uses no kernel: write %s", s.Method, s.Method)
	case len(s.Transforms) > 0:
		return wrong(text, where.transforms[0], "%s uses no kernel: write %s", s.Method, s.Method)
	}
	return s.checkSigma2(text, where)
}

// mostTransforms is far more than makes sense, and few enough that kernels that wrap one
// another stay shallow: each number then passes through all of them.
const mostTransforms = 32

func (s Spec) checkChain(text string, where layout) *Error {
	if s.Kernel == (Kernel{}) {
		return wrong(text, span{where.method.to, where.method.to}, "a kernel is missing, as in %s:grad>sketch(512)", head(s.Method, s.Mode))
	}
	info := s.Kernel.Info()
	if info.Name == "" {
		return wrong(text, where.kernel, "there is no kernel %q", s.Kernel.Name)
	}
	if why := info.Parameter.fault(info.Name, s.Kernel.Number); why != "" {
		return wrong(text, where.kernel, "%s", why)
	}
	if len(s.Transforms) > mostTransforms {
		return wrong(text, where.transforms[mostTransforms], "a kernel may have at most %d transformations, and this is one more", mostTransforms)
	}
	c := chain{kernel: info, space: info.space(s.Kernel.Number)}
	for i, t := range s.Transforms {
		var why string
		if c, why = c.afterChecked(t); why != "" {
			return wrong(text, where.transforms[i], "%s", why)
		}
	}
	if method := s.Method.Info(); method.Features {
		if why := c.lacksFeatures(method.Name); why != "" {
			return wrong(text, where.method, "%s", why)
		}
	}
	return nil
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
	for _, t := range s.Transforms {
		noise = noise || t.Info().Noise
	}
	if !noise {
		return wrong(text, where.sigma2, "nothing in this spec uses a noise variance σ²")
	}
	return nil
}
