package spec

import "fmt"

// space is what is at hand of a kernel's feature space.
type space int

const (
	explicit   space = iota // a row of features for each row of data
	factored                // a sum of products of small feature maps: finite, but too wide to write down
	kernelOnly              // the features of a factored kernel got lost, its values are left
	infinite                // there are infinitely many features
)

// chain is a base kernel with the transforms so far, as far as it matters for
// what may come next.
type chain struct {
	kernel      KernelInfo
	space       space
	conditioned string // the transform that took the training rows into account
	acs         string // the acs transform: what follows it is no covariance
	ensembled   bool
}

func (c chain) lacksFeatures(what string) string {
	switch c.space {
	case factored:
		return what + " needs features, and a product kernel has too many to write down: put sketch(p) before"
	case kernelOnly:
		return what + " needs features, and the posterior of a product kernel has none at hand: put sketch(p) before post, train or acs-grad"
	case infinite:
		return fmt.Sprintf("%s needs features, and %s has infinitely many", what, c.kernel.Name)
	}
	return ""
}

func (Scale) after(c chain) (chain, string) { return c, "" }

func (t Posterior) after(c chain) (chain, string) { return c.condition(t.Info().Name) }

func (t Train) after(c chain) (chain, string) { return c.condition(t.Info().Name) }

// condition is the posterior on the training rows. It keeps explicit features
// explicit; a product is evaluated in kernel space from then on.
func (c chain) condition(name string) (chain, string) {
	if c.acs != "" {
		return c, fmt.Sprintf("%s conditions a covariance on the training rows, and after %s the kernel is none", name, c.acs)
	}
	if c.conditioned != "" {
		return c, fmt.Sprintf("%s has taken the training rows into account already: %s would count them twice", c.conditioned, name)
	}
	c.conditioned = name
	if c.space == factored {
		c.space = kernelOnly
	}
	return c, ""
}

func (Sketch) after(c chain) (chain, string) {
	// A sketch is what makes a product explicit.
	if c.space == kernelOnly || c.space == infinite {
		return c, c.lacksFeatures("sketch")
	}
	c.space = explicit
	return c, ""
}

func (Ensemble) after(c chain) (chain, string) {
	if c.ensembled {
		return c, "ens stands in a spec once: it adds up the networks, after which there is one kernel"
	}
	if !c.kernel.Network {
		return c, fmt.Sprintf("%s does not depend on the network: the members of an ensemble would be alike", c.kernel.Name)
	}
	c.ensembled = true
	return c, ""
}

func (t ACSGrad) after(c chain) (chain, string) {
	before := c.space
	c, why := c.condition(t.Info().Name)
	c.acs = t.Info().Name
	if before == explicit {
		c.space = factored // the product of two kernels
	}
	return c, why
}

func (t ACSRandomFeatures) after(c chain) (chain, string) { return c.drawFeatures(t.Info().Name) }

func (t ACSRandomFeaturesHyper) after(c chain) (chain, string) { return c.drawFeatures(t.Info().Name) }

// drawFeatures is a transform that draws weights for all features from the
// posterior.
func (c chain) drawFeatures(name string) (chain, string) {
	if why := c.lacksFeatures(name); why != "" {
		return c, why
	}
	c, why := c.condition(name)
	c.acs = name
	return c, why
}

// check returns what is wrong with the spec, whose parts stand at where in text.
func (s Spec) check(text string, where layout) *Error {
	if err := s.checkMethod(text, where); err != nil {
		return err
	}
	if s.Method == Random {
		return s.checkRandom(text, where)
	}
	if err := s.checkChain(text, where); err != nil {
		return err
	}
	return s.checkSigma2(text, where)
}

func (s Spec) checkMethod(text string, where layout) *Error {
	info := s.Method.Info()
	switch {
	case info.Name == "":
		return wrong(text, where.method, "there is no method number %d", int(s.Method))
	case s.Mode < NoMode || s.Mode > TP:
		return wrong(text, where.method, "there is no mode number %d", int(s.Mode))
	case info.Modes && s.Mode == NoMode:
		return wrong(text, where.method, "%s needs a mode: %s selects among the pool alone, %s counts the training rows as selected",
			info.Name, head(s.Method, P), head(s.Method, TP))
	case !info.Modes && s.Mode != NoMode:
		return wrong(text, where.method, "%s does not look at selected rows, so that there is no mode: write %s", info.Name, info.Name)
	}
	return nil
}

func (s Spec) checkRandom(text string, where layout) *Error {
	switch {
	case s.Kernel != nil:
		return wrong(text, where.kernel, "random looks at no kernel: write random")
	case len(s.Transforms) > 0:
		return wrong(text, where.transforms[0], "random looks at no kernel: write random")
	}
	return s.checkSigma2(text, where)
}

func (s Spec) checkChain(text string, where layout) *Error {
	if s.Kernel == nil {
		return wrong(text, span{where.method.to, where.method.to}, "a kernel is missing, as in %s:grad>sketch(512)", head(s.Method, s.Mode))
	}
	if why := s.Kernel.fault(); why != "" {
		return wrong(text, where.kernel, "%s", why)
	}
	info := s.Kernel.Info()
	c := chain{kernel: info, space: info.space}
	for i, t := range s.Transforms {
		if t == nil {
			return wrong(text, where.transforms[i], "a transform is missing")
		}
		why := t.fault()
		if why == "" {
			c, why = t.after(c)
		}
		if why != "" {
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
		return wrong(text, where.sigma2, "nothing in this spec has a noise variance σ²")
	}
	return nil
}
