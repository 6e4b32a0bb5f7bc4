package nextbatch

import (
	"context"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/transform"
)

// composer makes the kernel that a spec describes: one kernel for each network
// until ens adds them up. Kernels are in float32 until the first transformation
// or method with σ² in it, and in float64 from there on.
type composer struct {
	ctx       context.Context // of the call that the composer lives for
	spec      spec.Spec
	problem   Problem
	warnings  []string
	embedding embedding // how far the rows are

	train64 matrix.Dense[float64] // the labelled rows, once needed in float64
}

func newComposer(ctx context.Context, spec spec.Spec, p Problem) *composer {
	return &composer{ctx: ctx, spec: spec, problem: p, embedding: embedding{tell: p.Progress}}
}

// kernel returns the kernel in float32 or, if the spec has σ² in it, in float64;
// the other one is nil.
func (c *composer) kernel() (kernel.Kernel[float32], kernel.Kernel[float64], error) {
	before, after := c.cut()
	if len(after) == 0 && !c.spec.Method.Info().Noise && !c.keepsDigits() {
		narrow, err := withoutNoise(c, c.base32, before)
		if err != nil {
			return nil, nil, err
		}
		return narrow[0], nil, nil
	}
	c.train64 = trainIn[float64](c.problem)
	wide, err := c.widened(before)
	for i, t := range after {
		if err != nil {
			break
		}
		step := len(before) + i
		wide, err = forMembers(c, wide, t, func(k kernel.Kernel[float64], member uint64) (kernel.Kernel[float64], error) {
			return c.withNoise(k, step, member)
		})
	}
	if err != nil {
		return nil, nil, err
	}
	return nil, wide[0], nil
}

// keepsDigits says that the method computes in float64, and that the rows have
// digits which float32 does not hold.
func (c *composer) keepsDigits() bool {
	return c.spec.Method == spec.FrankWolfe && c.problem.Exact.Pool.Rows > 0
}

// cut returns the transformations before the first one with σ² in it, and the
// others.
func (c *composer) cut() (before, after []spec.Transform) {
	for i, t := range c.spec.Transforms {
		switch t.(type) {
		case spec.Posterior, spec.Train, spec.ACSGrad, spec.ACSRandomFeatures, spec.ACSRandomFeaturesHyper:
			return c.spec.Transforms[:i], c.spec.Transforms[i:]
		}
	}
	return c.spec.Transforms, nil
}

// widened returns the kernels after the given transformations in float64. A
// sketch is computed in float32 and handed on; without one, the base kernel
// itself is in float64.
func (c *composer) widened(before []spec.Transform) ([]kernel.Kernel[float64], error) {
	if !slices.ContainsFunc(before, isSketch) {
		return withoutNoise(c, c.base64, before)
	}
	narrow, err := withoutNoise(c, c.base32, before)
	if err != nil {
		return nil, err
	}
	wide := make([]kernel.Kernel[float64], len(narrow))
	for i, k := range narrow {
		wide[i] = kernel.Widen(k.(kernel.FeatureMap[float32])) // a sketch has features
	}
	return wide, nil
}

func isSketch(t spec.Transform) bool {
	_, ok := t.(spec.Sketch)
	return ok
}

// withoutNoise applies transformations without σ² to the base kernels.
func withoutNoise[T matrix.Float](c *composer, base func(member int) (kernel.Kernel[T], error), list []spec.Transform) ([]kernel.Kernel[T], error) {
	members := make([]kernel.Kernel[T], c.spec.Members())
	for i := range members {
		k, err := base(i)
		if err != nil {
			return nil, err
		}
		members[i] = k
	}
	train := trainIn[T](c.problem)
	for step, t := range list {
		var err error
		members, err = forMembers(c, members, t, func(k kernel.Kernel[T], member uint64) (kernel.Kernel[T], error) {
			return applyPlain(c, k, t, train, uint64(step), member)
		})
		if err != nil {
			return nil, err
		}
	}
	return members, nil
}

// trainIn returns the labelled rows in one kind of numbers.
func trainIn[T matrix.Float](p Problem) matrix.Dense[T] {
	if exact, ok := any(p.Exact.Train).(matrix.Dense[T]); ok && p.Exact.Pool.Rows > 0 {
		return exact
	}
	return matrix.Converted[T](p.Train)
}

// forMembers applies a transformation to the kernel of each member; ens leaves
// their sum.
func forMembers[T matrix.Float](c *composer, members []kernel.Kernel[T], t spec.Transform, apply func(k kernel.Kernel[T], member uint64) (kernel.Kernel[T], error)) ([]kernel.Kernel[T], error) {
	if _, ok := t.(spec.Ensemble); ok {
		sum, err := transform.Ensemble(members...)
		return []kernel.Kernel[T]{sum}, err
	}
	applied := make([]kernel.Kernel[T], len(members))
	for i, k := range members {
		if c.ctx.Err() != nil {
			return nil, c.ctx.Err()
		}
		var err error
		if applied[i], err = apply(k, uint64(i)); err != nil {
			return nil, err
		}
	}
	return applied, nil
}

func applyPlain[T matrix.Float](c *composer, k kernel.Kernel[T], t spec.Transform, train matrix.Dense[T], step, member uint64) (kernel.Kernel[T], error) {
	switch t := t.(type) {
	case spec.Scale:
		if t.Factor != 0 {
			return transform.ScaleBy(k, t.Factor)
		}
		scaled, _, err := transform.Scale(c.ctx, k, train)
		return scaled, err
	case spec.Sketch:
		features, err := finite(k, t)
		if err != nil {
			return nil, err
		}
		return transform.Sketch(features, t.P, c.normals("sketch", step, member), c.variant())
	}
	return nil, fmt.Errorf("%v cannot come here", t)
}

// withNoise applies the transformation at a step of the spec to a kernel in
// float64.
func (c *composer) withNoise(k kernel.Kernel[float64], step int, member uint64) (kernel.Kernel[float64], error) {
	var fit transform.Fit
	var err error
	switch t := c.spec.Transforms[step].(type) {
	case spec.Posterior, spec.Train, spec.ACSGrad:
		k, fit, err = c.conditioned(k, step)
	case spec.ACSRandomFeatures, spec.ACSRandomFeaturesHyper:
		k, fit, err = c.randomFeatures(k, t, uint64(step), member)
	default:
		k, err = applyPlain(c, k, t, c.train64, uint64(step), member)
	}
	if fit.Jitter > 0 {
		c.warnings = append(c.warnings, fmt.Sprintf(
			"%v: rounding left a matrix indefinite; %.3g was added to its diagonal, as if the noise variance were higher by as much", c.spec.Transforms[step], fit.Jitter))
	}
	return k, err
}

// conditioned is the posterior at a step of the spec: in feature space if what
// follows needs features, otherwise in the cheaper space.
func (c *composer) conditioned(k kernel.Kernel[float64], step int) (kernel.Kernel[float64], transform.Fit, error) {
	sigma2, m, finite := c.spec.NoiseVariance(), kernel.FeatureMap[float64](nil), false
	if c.spec.Method.Info().Features || slices.ContainsFunc(c.spec.Transforms[step:], isSketch) {
		m, finite = k.(kernel.FeatureMap[float64])
	}
	switch c.spec.Transforms[step].(type) {
	case spec.Posterior:
		if finite {
			return transform.PosteriorFeatures(c.ctx, m, c.train64, sigma2)
		}
		return transform.Posterior(c.ctx, k, c.train64, sigma2)
	case spec.Train:
		if finite {
			return transform.TrainFeatures(c.ctx, m, c.train64, sigma2)
		}
		return transform.Train(c.ctx, k, c.train64, sigma2)
	default:
		if finite {
			return transform.ACSGradFeatures(c.ctx, m, c.train64, sigma2, c.variant())
		}
		return transform.ACSGrad(c.ctx, k, c.train64, sigma2, c.variant())
	}
}

func (c *composer) randomFeatures(k kernel.Kernel[float64], t spec.Transform, step, member uint64) (kernel.Kernel[float64], transform.Fit, error) {
	features, err := finite(k, t)
	if err != nil {
		return nil, transform.Fit{}, err
	}
	from := c.normals("acs-rf", step, member)
	if hyper, ok := t.(spec.ACSRandomFeaturesHyper); ok {
		return transform.ACSRandomFeaturesHyper(c.ctx, features, c.train64, c.problem.Labels, hyper.P, from, c.variant())
	}
	return transform.ACSRandomFeatures(c.ctx, features, c.train64, t.(spec.ACSRandomFeatures).P, c.spec.NoiseVariance(), from, c.variant())
}

// finite returns the kernel as a feature map, which t needs.
func finite[T matrix.Float](k kernel.Kernel[T], t spec.Transform) (kernel.FeatureMap[T], error) {
	if m, ok := k.(kernel.FeatureMap[T]); ok {
		return m, nil
	}
	return nil, fmt.Errorf("%v needs features, and the kernel before it has none here", t)
}

func (c *composer) variant() transform.Variant {
	if c.spec.Compat {
		return transform.Published
	}
	return transform.Paper
}

// normals returns the random numbers for a step of the spec: the same for the
// same seed, step and member, whatever comes before or after.
func (c *composer) normals(purpose string, step, member uint64) transform.Normals {
	return transform.Seeded(c.problem.Seed, purpose, step, member)
}

// base32 returns the base kernel of one member in float32.
func (c *composer) base32(member int) (kernel.Kernel[float32], error) {
	switch k := c.spec.Kernel.(type) {
	case spec.Gradient:
		return kernel.NewGrad(c.taps(member)), nil
	case spec.LastLayer:
		return kernel.NewLastLayers(c.taps(member), max(1, k.Layers))
	}
	return baseOnInputs[float32](c)
}

// base64 is base32 in float64; the network itself still computes in float32.
func (c *composer) base64(member int) (kernel.Kernel[float64], error) {
	switch k := c.spec.Kernel.(type) {
	case spec.Gradient:
		return kernel.NewGrad(kernel.WidenTaps(c.taps(member))), nil
	case spec.LastLayer:
		return kernel.NewLastLayers(kernel.WidenTaps(c.taps(member)), max(1, k.Layers))
	}
	return baseOnInputs[float64](c)
}

func (c *composer) taps(member int) kernel.Taps[float32] {
	return countedTaps{network.NewTaps(c.problem.Networks[member], kernel.BlockRows, 0), &c.embedding}
}

// baseOnInputs returns a base kernel that is computed from the rows themselves.
func baseOnInputs[T matrix.Float](c *composer) (kernel.Kernel[T], error) {
	inputs := c.problem.Pool.Cols
	switch k := c.spec.Kernel.(type) {
	case spec.Laplace:
		if k.Scale == 0 {
			k.Scale = 1
		}
		return kernel.NewLaplace[T](inputs, k.Scale)
	case spec.NNGP:
		return kernel.NewNNGP[T](c.wide(inputs))
	case spec.NTK:
		return kernel.NewNTK[T](c.wide(inputs))
	}
	return kernel.NewLinear[T](inputs), nil // linear, and the user's features
}

// wide is the network at hand, infinitely wide. Its biases start at zero. The
// published code takes the formula of ReLU for every activation.
func (c *composer) wide(inputs int) kernel.Wide {
	net := c.problem.Networks[0]
	a := net.Architecture()
	w := kernel.Wide{Inputs: inputs, Layers: net.Layers(), SigmaW: a.SigmaW}
	if a.Activation != network.ReLU && !c.spec.Compat {
		w.Activation = a.Activation.At
	}
	return w
}
