// Package compose builds the kernel that a spec describes, and embeds rows by it: in memory, on a
// device or into a file.
package compose

import (
	"context"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// Parts are what a kernel is made from: parts of a nextbatch.Problem, which explains them.
type Parts struct {
	Spec     spec.Spec
	Taps     func(member int) kernel.Taps[float32] // of the models
	Infinite func() kernel.InfiniteNetwork         // of the first model

	Train, Pool matrix.Dense[float32]
	Exact       Rows[float64]
	PoolRows    func(index []int) matrix.Dense[float32] // a copy of some candidates
	Labels      matrix.Dense[float64]
	Noise       []float64
	Weights     []float64
	Learnt      kernel.Learnt
	Pending     []int
	Seed        uint64 // of sketches and other random features

	Kept     *kept.Features // nil where none are kept
	Networks string         // a name for the models
	Folder   string         // of the embedded rows of the pool; empty means memory
	Across   bool           // ranks share the work: no device embeds the pool

	PoolError func(error) error  // adds where the row of the pool in an error comes from
	Progress  func(rows, of int) // called after each block of embedded rows, unless nil
}

// hasExact reports whether rows are given in float64.
func (p *Parts) hasExact() bool { return p.Exact.Pool.Rows+p.Exact.Train.Rows+p.Exact.Aims.Rows > 0 }

// Composer builds a kernel: one kernel per network until ens
// adds them up. Kernels are in float32 until the first transformation
// or method that must compute in float64, and in float64 from there on.
type Composer struct {
	Warnings []string // about how the kernel and the features were computed

	ctx       context.Context // of the call that the composer lives for
	parts     Parts
	embedding *counted // rows that have been embedded
	usesKept  bool

	// Of a term of a sum (terms.go):
	within        string // ends the purposes of its random numbers
	keepsFeatures bool   // what comes after the sum needs features
}

// New returns a composer for one call. The caller releases it at the end.
func New(ctx context.Context, p Parts) *Composer {
	return &Composer{ctx: ctx, parts: p, embedding: &counted{report: p.Progress}}
}

// Release lets others use the kept features.
func (c *Composer) Release() {
	if c.usesKept {
		c.parts.Kept.Release()
	}
}

// Expect sets the number of rows whose embedding is reported.
func (c *Composer) Expect(rows int) { c.embedding.expect(rows * needs.Passes(c.parts.Spec)) }

// Kernel returns the kernel in float32 or, if the spec computes in float64, in
// float64; the other one is nil.
func (c *Composer) Kernel() (kernel.Kernel[float32], kernel.Kernel[float64], error) {
	if !needs.Double(c.parts.Spec) && !c.keepsDigits() {
		members, err := c.inSingle(len(c.parts.Spec.Transforms))
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
func (c *Composer) keepsDigits() bool {
	inFile := c.parts.Folder != "" && needs.OwnFeatures(c.parts.Spec)
	return c.parts.Spec.Method.Info().PrefersDouble && (c.parts.Exact.Pool.Rows > 0 || inFile)
}

// inSingle returns the kernels of the spec in float32, after the first transforms
// transformations. What depends on the networks and the seed alone is kept, if the problem
// asks for it.
func (c *Composer) inSingle(transforms int) ([]kernel.Kernel[float32], error) {
	first, ok := kept.Transforms(c.parts.Spec)
	if c.parts.Kept == nil || !ok {
		return transformed(c, c.base32, makeSingle, transforms)
	}
	members, err := transformed(c, c.base32, makeSingle, first)
	if err != nil {
		return nil, err
	}
	e, f := kernels.Decompose(members[0])
	s := c.parts.Spec
	key := fmt.Sprint(c.parts.Networks, " ", s.Kernel, s.Transforms[:first], s.Compat, c.parts.Seed, c.within)
	if k, ok := c.parts.Kept.Embedding(key, e, func(rows int) { c.embedding.passed(rows * s.Members()) }); ok {
		c.usesKept = true
		members[0] = kernels.Compose[float32](k, f)
	}
	return apply(c, members, makeSingle, first, transforms)
}

// inDouble returns the kernels of the spec in float64. The features of a sketch are
// computed in float32, as far as the spec allows; without a sketch, the base kernel
// itself is in float64.
func (c *Composer) inDouble() ([]kernel.Kernel[float64], error) {
	all, inSingle := len(c.parts.Spec.Transforms), needs.SinglePart(c.parts.Spec)
	if !needs.SketchesInSingle(c.parts.Spec) {
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
			return nil, fmt.Errorf("%v returns a kernel without features, which cannot be converted to float64",
				c.parts.Spec.Transforms[inSingle-1])
		}
		converted[i] = kernels.ToFloat64(m)
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
func transformed[T matrix.Float](c *Composer, base func(member int) (kernel.Kernel[T], error), of maker[T],
	transforms int) ([]kernel.Kernel[T], error) {
	members := make([]kernel.Kernel[T], c.members())
	for i := range members {
		k, err := base(i)
		if err != nil {
			return nil, err
		}
		members[i] = k
	}
	return apply(c, members, of, 0, transforms)
}

// members is how many kernels the transformations start with: one for each network, but a sum
// has combined those of its terms.
func (c *Composer) members() int {
	if len(c.parts.Spec.Terms) > 0 {
		return 1
	}
	return c.parts.Spec.Members()
}

// apply applies the transformations at places from to to-1 of the spec to the kernel
// of each member. An ensemble leaves one kernel.
func apply[T matrix.Float](c *Composer, members []kernel.Kernel[T], of maker[T], from,
	to int) ([]kernel.Kernel[T], error) {
	train := trainIn[T](&c.parts)
	explained := withPending(&c.parts, train) // as far as no labels are needed
	for place := from; place < to; place++ {
		t := c.parts.Spec.Transforms[place]
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
				_, step.Labels = encode.Labelled(c.parts.Labels, 0) // check allows one target only
			}
			step.Kernel, step.Members = k, members
			if c.parts.Noise != nil { // that of pending rows is the usual one
				usual := slices.Repeat([]float64{1}, step.Train.Rows-len(c.parts.Noise))
				step.Noise = slices.Concat(c.parts.Noise, usual)
			}
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
func trainIn[T matrix.Float](p *Parts) matrix.Dense[T] {
	if exact, ok := any(p.Exact.Train).(matrix.Dense[T]); ok && p.hasExact() {
		return exact
	}
	return matrix.Converted[T](p.Train)
}

// withPending returns the labelled rows and then the pending ones.
func withPending[T matrix.Float](p *Parts, train matrix.Dense[T]) matrix.Dense[T] {
	if len(p.Pending) == 0 {
		return train
	}
	return matrix.Stack(train, candidatesIn[T](p, p.Pending))
}

// candidatesIn returns some candidates in one kind of numbers.
func candidatesIn[T matrix.Float](p *Parts, index []int) matrix.Dense[T] {
	if exact, ok := any(p.Exact.Pool).(matrix.Dense[T]); ok && exact.Rows > 0 {
		return exact.SelectRows(index)
	}
	return matrix.Converted[T](p.PoolRows(index))
}

// stepAt returns what a transformation of the spec gets for a member, except for the
// kernels. Its random numbers depend on seed, place and member only, not on what comes
// before or after.
func stepAt[T matrix.Float](c *Composer, place, member int, train matrix.Dense[T]) spec.Step[T] {
	t := c.parts.Spec.Transforms[place]
	return spec.Step[T]{
		Number: t.Value(), Train: train, Sigma2: c.parts.Spec.NoiseVariance(), Compat: c.parts.Spec.Compat,
		KeepFeatures: needs.KeepFeatures(c.parts.Spec, place+1) || c.keepsFeatures,
		Normals: func(purpose string) kernel.Normals {
			return transform.Seeded(c.parts.Seed, purpose+c.within, uint64(place), uint64(member))
		},
		Warn: func(format string, args ...any) {
			c.Warnings = append(c.Warnings, t.String()+": "+fmt.Sprintf(format, args...))
		},
	}
}

// base32 returns the base kernel of one member, or a sum of kernels, in float32.
func (c *Composer) base32(member int) (kernel.Kernel[float32], error) {
	if len(c.parts.Spec.Terms) > 0 {
		return sumOfTerms(c, func(term *Composer) ([]kernel.Kernel[float32], error) {
			return term.inSingle(len(term.parts.Spec.Transforms))
		})
	}
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
func (c *Composer) base64(member int) (kernel.Kernel[float64], error) {
	if len(c.parts.Spec.Terms) > 0 {
		return sumOfTerms(c, (*Composer).inDouble)
	}
	s := sourceFor[float64](c, member)
	if c.baseKernel().Info().Labels {
		return sumOverTargets(c, s, spec.MakerOfKernel(c.baseKernel()).Double)
	}
	if c.baseKernel().Info().Networks == spec.TrainedNetwork {
		s.Taps = kernels.TapsToFloat64(c.taps(member))
	}
	return spec.MakerOfKernel(c.baseKernel()).Double(c.ctx, s)
}

// baseKernel returns the base kernel. A method that uses no kernel gets the rows
// as they are.
func (c *Composer) baseKernel() spec.Kernel {
	if !c.parts.Spec.UsesKernel() {
		return spec.Kernel{Name: "linear"}
	}
	return c.parts.Spec.Kernel
}

// sourceFor returns what the base kernel of a member is made from, except for a
// trained network.
func sourceFor[T matrix.Float](c *Composer, member int) spec.Source[T] {
	s := spec.Source[T]{
		Number: c.parts.Spec.Kernel.Value(), Inputs: c.parts.Pool.Cols, Sigma2: c.parts.Spec.NoiseVariance(),
		Leaves: c.parts.Learnt.Leaves, Members: c.parts.Learnt.Members,
		Normals: func(purpose string) kernel.Normals {
			return transform.Seeded(c.parts.Seed, purpose+c.within, uint64(member))
		},
	}
	if c.baseKernel().Info().Train {
		s.Train = trainIn[T](&c.parts)
	}
	if c.baseKernel().Info().Networks == spec.AnyNetwork {
		s.Infinite = c.infinite()
	}
	return s
}

func (c *Composer) taps(member int) kernel.Taps[float32] {
	return countedTaps{c.parts.Taps(member), c.embedding}
}

// infinite is the first model at infinite width. The published code uses the formula
// of ReLU for every activation.
func (c *Composer) infinite() kernel.InfiniteNetwork {
	w := c.parts.Infinite()
	if c.parts.Spec.Compat {
		w.Activation = nil
	}
	return w
}
