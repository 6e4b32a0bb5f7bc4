package nextbatch

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/transform"
)

// composer builds the kernel that a spec describes: one kernel per network until ens
// adds them up. Kernels are in float32 until the first transformation
// or method that must compute in float64, and in float64 from there on.
type composer struct {
	ctx       context.Context // of the call that the composer lives for
	spec      spec.Spec
	problem   Problem
	warnings  []string
	embedding embedding // counts the rows that have been embedded

	kept    *KeptFeatures // nil where none are kept
	release func()        // after the selection, if it uses them
}

func newComposer(ctx context.Context, spec spec.Spec, p Problem) *composer {
	return &composer{ctx: ctx, spec: spec, problem: p, embedding: embedding{report: p.Progress}}
}

// kernel returns the kernel in float32 or, if the spec computes in float64, in
// float64; the other one is nil.
func (c *composer) kernel() (kernel.Kernel[float32], kernel.Kernel[float64], error) {
	if !c.spec.Double() && !c.keepsDigits() {
		members, err := c.inSingle(len(c.spec.Transforms))
		if err != nil {
			return nil, nil, err
		}
		return members[0], nil, nil
	}
	members, err := c.inDouble()
	if err != nil {
		return nil, nil, err
	}
	return nil, members[0], nil
}

// keepsDigits reports whether the method prefers float64 and the rows are given in
// float64, or in a file, from which they are read in float64.
func (c *composer) keepsDigits() bool {
	inFile := c.problem.Folder != "" && c.baseKernel().Info().OwnFeatures
	return c.spec.Method.Info().PrefersDouble && (c.problem.Exact.Pool.Rows > 0 || inFile)
}

// inDouble returns the kernels of the spec in float64. The features of a sketch are
// computed in float32, as far as the spec allows; without a sketch, the base kernel
// itself is in float64.
func (c *composer) inDouble() ([]kernel.Kernel[float64], error) {
	all, inSingle := len(c.spec.Transforms), c.spec.SinglePart()
	if !c.spec.SketchesInSingle() {
		return transformed(c, c.base64, makeDouble, all)
	}
	members, err := c.inSingle(inSingle)
	if err != nil {
		return nil, err
	}
	converted := make([]kernel.Kernel[float64], len(members))
	for i, k := range members {
		m, ok := k.(kernel.FeatureMap[float32])
		if !ok {
			return nil, fmt.Errorf("%v returns a kernel without features, which cannot be converted to float64", c.spec.Transforms[inSingle-1])
		}
		converted[i] = kernel.ToFloat64(m)
	}
	return apply(c, converted, makeDouble, inSingle, all)
}

// maker returns the constructor of a transformation in T.
type maker[T matrix.Float] func(spec.Transform) func(context.Context, spec.Step[T]) (kernel.Kernel[T], error)

func makeSingle(t spec.Transform) func(context.Context, spec.Step[float32]) (kernel.Kernel[float32], error) {
	return spec.MakerOfTransform(t).Single
}

func makeDouble(t spec.Transform) func(context.Context, spec.Step[float64]) (kernel.Kernel[float64], error) {
	return spec.MakerOfTransform(t).Double
}

// transformed returns the base kernel of each member after the first transforms
// transformations.
func transformed[T matrix.Float](c *composer, base func(member int) (kernel.Kernel[T], error), of maker[T], transforms int) ([]kernel.Kernel[T], error) {
	members := make([]kernel.Kernel[T], c.spec.Members())
	for i := range members {
		k, err := base(i)
		if err != nil {
			return nil, err
		}
		members[i] = k
	}
	return apply(c, members, of, 0, transforms)
}

// apply applies the transformations at places from to to-1 of the spec to the kernel
// of each member. An ensemble leaves one kernel.
func apply[T matrix.Float](c *composer, members []kernel.Kernel[T], of maker[T], from, to int) ([]kernel.Kernel[T], error) {
	train := trainIn[T](c.problem)
	explained := train // as far as no labels are needed
	if len(c.problem.Pending) > 0 {
		explained = matrix.Stack(train, pendingIn[T](c.problem))
	}
	for place := from; place < to; place++ {
		t := c.spec.Transforms[place]
		todo := []kernel.Kernel[T]{nil} // an ensemble takes all members at once
		if !t.Info().Ensemble {
			todo = members
		}
		next := make([]kernel.Kernel[T], len(todo))
		for i, k := range todo {
			if c.ctx.Err() != nil {
				return nil, c.ctx.Err()
			}
			step := stepAt(c, place, i, explained)
			if t.Info().Labels {
				step.Train = train
				_, step.Labels = dataset.Labelled(c.problem.Labels, 0) // check allows one target only
			}
			step.Kernel, step.Members = k, members
			var err error
			if next[i], err = of(t)(c.ctx, step); err != nil {
				return nil, fmt.Errorf("%v: %w", t, err)
			}
		}
		members = next
	}
	return members, nil
}

// trainIn returns the labelled rows in T.
func trainIn[T matrix.Float](p Problem) matrix.Dense[T] {
	if exact, ok := any(p.Exact.Train).(matrix.Dense[T]); ok && p.hasExact() {
		return exact
	}
	return matrix.Converted[T](p.Train)
}

// pendingIn returns the pending rows in one kind of numbers.
func pendingIn[T matrix.Float](p Problem) matrix.Dense[T] {
	if exact, ok := any(p.Exact.Pool).(matrix.Dense[T]); ok && exact.Rows > 0 {
		return exact.SelectRows(p.Pending)
	}
	return matrix.Converted[T](p.PoolRows(p.Pending))
}

// stepAt returns what a transformation of the spec gets for a member, except for the
// kernels. Its random numbers depend on seed, place and member only, not on what comes
// before or after.
func stepAt[T matrix.Float](c *composer, place, member int, train matrix.Dense[T]) spec.Step[T] {
	t := c.spec.Transforms[place]
	return spec.Step[T]{
		Number: t.Value(), Train: train, Sigma2: c.spec.NoiseVariance(), Compat: c.spec.Compat,
		KeepFeatures: c.spec.KeepFeatures(place + 1),
		Normals: func(purpose string) transform.Normals {
			return transform.Seeded(c.problem.kernelSeed(), purpose, uint64(place), uint64(member))
		},
		Warn: func(format string, args ...any) {
			c.warnings = append(c.warnings, t.String()+": "+fmt.Sprintf(format, args...))
		},
	}
}

// base32 returns the base kernel of one member in float32.
func (c *composer) base32(member int) (kernel.Kernel[float32], error) {
	s := sourceFor[float32](c, member)
	if c.baseKernel().Info().Labels {
		return sumOverTargets(c, s, spec.MakerOfKernel(c.baseKernel()).Single)
	}
	if c.baseKernel().Info().Networks == spec.TrainedNetwork {
		s.Taps = c.taps(member)
	}
	return spec.MakerOfKernel(c.baseKernel()).Single(c.ctx, s)
}

// base64 is base32 in float64; the network itself still computes in float32.
func (c *composer) base64(member int) (kernel.Kernel[float64], error) {
	s := sourceFor[float64](c, member)
	if c.baseKernel().Info().Labels {
		return sumOverTargets(c, s, spec.MakerOfKernel(c.baseKernel()).Double)
	}
	if c.baseKernel().Info().Networks == spec.TrainedNetwork {
		s.Taps = kernel.TapsToFloat64(c.taps(member))
	}
	return spec.MakerOfKernel(c.baseKernel()).Double(c.ctx, s)
}

// baseKernel returns the base kernel. A method that uses no kernel gets the rows
// as they are.
func (c *composer) baseKernel() spec.Kernel {
	if !c.spec.UsesKernel() {
		return spec.Linear()
	}
	return c.spec.Kernel
}

// sourceFor returns what the base kernel of a member is made from, except for a
// trained network.
func sourceFor[T matrix.Float](c *composer, member int) spec.Source[T] {
	s := spec.Source[T]{
		Number: c.spec.Kernel.Value(), Inputs: c.problem.Pool.Cols, Sigma2: c.spec.NoiseVariance(),
		Normals: func(purpose string) transform.Normals {
			return transform.Seeded(c.problem.kernelSeed(), purpose, uint64(member))
		},
	}
	if c.baseKernel().Info().Train {
		s.Train = trainIn[T](c.problem)
	}
	if c.baseKernel().Info().Networks == spec.AnyNetwork {
		s.Infinite = c.infinite()
	}
	return s
}

func (c *composer) taps(member int) kernel.Taps[float32] {
	return countedTaps{c.problem.Models[member].Taps(), &c.embedding}
}

// infinite is the first model at infinite width. The published code uses the formula
// of ReLU for every activation.
func (c *composer) infinite() kernel.InfiniteNetwork {
	w := c.problem.Models[0].Infinite()
	if c.spec.Compat {
		w.Activation = nil
	}
	return w
}
