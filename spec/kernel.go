package spec

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/gp"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Space is how much of a kernel's feature space is available.
type Space int

const (
	Infinite Space = iota // no usable features: infinitely many, or unknown
	Explicit              // a row of features for each row of data
	// a sum of products of small feature maps, or leaves of trees: finite, but too wide to write down
	Factored
	Lost       // a factored kernel whose features were lost: only its values remain
	Stationary // infinitely many features, of which random ones can be drawn
)

// lacks returns how much of a feature space is not available, from 0 up.
func (s Space) lacks() int {
	return slices.Index([]Space{Explicit, Factored, Lost, Stationary, Infinite}, s)
}

// plus returns how much of the feature space of a sum of two kernels is available.
func (s Space) plus(other Space) Space {
	if other.lacks() > s.lacks() {
		s, other = other, s
	}
	if s == Stationary && other != Stationary {
		return Infinite
	}
	return s
}

// Networks determines which networks a kernel needs.
type Networks int

const (
	NoNetwork      Networks = iota
	AnyNetwork              // the depth and the constants of one, trained or not
	TrainedNetwork          // a trained one; with an ensemble, every member
)

// KernelInfo describes a base kernel: what it needs.
type KernelInfo struct {
	Name        string
	Parameter   Parameter
	Description string // one line
	Section     string // of the paper; empty if the paper does not cover the kernel

	Networks    Networks
	Space       Space // a kernel that is a kernel.FeatureMap has the space Explicit
	Train       bool  // it requires training rows
	Labels      bool  // it requires their labels
	Draws       bool  // it draws random numbers
	OwnFeatures bool  // the rows are features that the user supplies
	Process     bool  // a fitted Gaussian process for each target serves instead of labelled rows and labels
	Leaves      bool  // it requires fitted trees
	Members     bool  // it requires the members of an ensemble

	// Width is how many numbers the kernel keeps in memory per row. Nil means
	// as many as a row has.
	Width func(number float64, z Size) int

	// DoubleOnly means that the kernel must be computed in float64. Registration sets it
	// for a maker without Single.
	DoubleOnly bool

	spaceOf   func(number float64) Space // set if Space depends on the number
	published bool                       // published ids use it
}

// KernelMaker constructs a kernel in float32 and in float64. Single is nil for kernels that must
// be computed in float64.
type KernelMaker struct {
	Single func(context.Context, Source[float32]) (kernel.Kernel[float32], error)
	Double func(context.Context, Source[float64]) (kernel.Kernel[float64], error)
}

// Source is what a kernel is constructed from.
type Source[T matrix.Float] struct {
	Number float64         // the number in parentheses, or its default
	Inputs int             // columns of a row
	Train  matrix.Dense[T] // for Train: the labelled rows, which belong to the caller
	Labels []float64       // for Labels: those of Train, standardised
	Sigma2 float64         // the noise variance σ²

	Taps     kernel.Taps[T]         // for TrainedNetwork: the network
	Infinite kernel.InfiniteNetwork // for AnyNetwork: the infinite-width limit of the network
	Process  *kernel.Process        // for Process: the fitted process of the target, or nil
	Leaves   kernel.Leaves          // for Leaves: the fitted trees
	Members  kernel.Members         // for Members: the members of the ensemble

	// Normals returns random numbers that depend only on the seed, the purpose
	// and the network.
	Normals func(purpose string) kernel.Normals
}

// Size holds what determines the memory of a kernel.
type Size struct {
	Train   int   // labelled rows
	Inputs  int   // columns of a row
	Hidden  []int // widths of the network's layers
	Outputs int   // of the network; 0 means 1
	Trees   int   // fitted trees; 0 means that their number is unknown
	Members int   // of an ensemble; 0 means that their number is unknown
}

// Syntax returns how to write the kernel, with its parameter.
func (k KernelInfo) Syntax() string { return k.Parameter.syntax(k.Name) }

func (k KernelInfo) name() string { return k.Name }

func (k KernelInfo) fault() string {
	switch {
	case k.Description == "" || strings.ContainsAny(k.Description, "\r\n"):
		return "its description must be one line"
	}
	return k.Parameter.check()
}

// space is how much of the features is available with the given number.
func (k KernelInfo) space(number float64) Space {
	if k.spaceOf != nil {
		return k.spaceOf(k.Parameter.value(number))
	}
	return k.Space
}

// width is how many numbers one network's kernel keeps per row.
func (k KernelInfo) width(number float64, z Size) int {
	if k.Width == nil {
		return z.Inputs
	}
	return k.Width(k.Parameter.value(number), z)
}

// mostLayers is more than any network has: a larger number is a typing error.
const mostLayers = 1000

var allKernels = newRegistry("kernel",
	KernelInfo{Name: linearKernel().Name, Section: "4.1 Linear Kernel", Description: "the inputs themselves",
		Space: Explicit, published: true},
	KernelInfo{Name: nngpKernel().Name, Section: "4.1 Infinite-width NNGP",
		Description: "covariance of an infinitely wide network before training",
		Networks:    AnyNetwork, Width: infiniteWidth, published: true},
	KernelInfo{Name: ntkKernel().Name, Section: "4.1 Infinite-width NNGP",
		Description: "neural tangent kernel of an infinitely wide network",
		Networks:    AnyNetwork, Width: infiniteWidth, published: true},
	KernelInfo{Name: laplaceKernel(0).Name, Parameter: Parameter{Name: "scale", Optional: true, Default: 1},
		Description: "exp(-scale·distance of the inputs), scale 1", Space: Stationary, published: true},
	KernelInfo{Name: rbfKernel().Name, Description: "Gaussian kernel of the inputs, length scales by marginal likelihood",
		Train: true, Labels: true, Draws: true, Space: Stationary},
	KernelInfo{Name: maternKernel().Name,
		Description: "Matérn-5/2 kernel of the inputs, length scales by marginal likelihood, or that of the fitted " +
			"Gaussian process",
		Train: true, Labels: true, Process: true, Draws: true, Space: Stationary},
	KernelInfo{Name: lastLayerKernel().Name, Parameter: Parameter{Name: "layers", Whole: true, Optional: true,
		Default: 1, Most: mostLayers},
		Section:     "4.1 Last-layer Kernel",
		Description: "gradient with respect to the last layer's parameters, or those of the last few layers",
		Networks:    TrainedNetwork, spaceOf: lastLayersSpace, Width: lastLayersWidth, published: true},
	KernelInfo{Name: gradientKernel().Name, Section: "4.1 Full gradient Kernel",
		Description: "gradient with respect to all parameters of the trained network",
		Networks:    TrainedNetwork, Space: Factored, Width: gradientWidth, published: true},
	KernelInfo{Name: leafKernel().Name, Description: "share of the fitted trees in which two rows are in the same leaf",
		Leaves: true, Space: Factored, Width: leafWidth},
	KernelInfo{Name: predictionsKernel().Name,
		Description: "predictions of the members of an ensemble, minus their mean for each row",
		Members:     true, Space: Explicit, Width: predictionsWidth},
	KernelInfo{Name: userFeaturesKernel().Name, Description: "features that you supply",
		OwnFeatures: true, Space: Explicit, published: true},
)

var kernelMakers = makers[KernelMaker]{byName: map[string]KernelMaker{
	linearKernel().Name:       {linear[float32], linear[float64]},
	nngpKernel().Name:         {nngp[float32], nngp[float64]},
	ntkKernel().Name:          {ntk[float32], ntk[float64]},
	laplaceKernel(0).Name:     {laplace[float32], laplace[float64]},
	rbfKernel().Name:          {stationary[float32](kernel.RBF), stationary[float64](kernel.RBF)},
	maternKernel().Name:       {matern[float32], matern[float64]},
	lastLayerKernel().Name:    {lastLayers[float32], lastLayers[float64]},
	gradientKernel().Name:     {gradient[float32], gradient[float64]},
	leafKernel().Name:         {leaf[float32], leaf[float64]},
	predictionsKernel().Name:  {predictions[float32], predictions[float64]},
	userFeaturesKernel().Name: {linear[float32], linear[float64]},
}}

// MakerOfKernel returns how a kernel is constructed. It is a function rather than a method, so
// that code which asks for facts alone does not compile kernels.
func MakerOfKernel(k Kernel) KernelMaker { return kernelMakers.find(k.Name) }

func linear[T matrix.Float](_ context.Context, s Source[T]) (kernel.Kernel[T], error) {
	return kernel.NewLinear[T](s.Inputs), nil
}

func nngp[T matrix.Float](_ context.Context, s Source[T]) (kernel.Kernel[T], error) {
	return kernels.NewNNGP[T](s.Infinite)
}

func ntk[T matrix.Float](_ context.Context, s Source[T]) (kernel.Kernel[T], error) {
	return kernels.NewNTK[T](s.Infinite)
}

func infiniteWidth(_ float64, z Size) int { return z.Inputs + 1 }

func laplace[T matrix.Float](_ context.Context, s Source[T]) (kernel.Kernel[T], error) {
	return kernels.NewLaplace[T](s.Inputs, s.Number)
}

// mostFitted is how many labelled rows the length scales are fitted on, because the
// work is cubic in their number. More rows change the length scales little.
const mostFitted = 512

// stationary constructs a kernel whose length scales come from the labels: that of a Gaussian
// process that is fitted to them.
func stationary[T matrix.Float](shape kernel.Shape) func(context.Context, Source[T]) (kernel.Kernel[T], error) {
	return func(ctx context.Context, s Source[T]) (kernel.Kernel[T], error) {
		rows, labels := s.Train, s.Labels
		if rows.Rows > mostFitted {
			index := sample(rows.Rows, mostFitted, s.Normals("length scales"))
			rows, labels = rows.SelectRows(index), selected(labels, index)
		}
		fitted, err := gp.Fit(ctx, gp.Data{Inputs: matrix.Converted[float64](rows), Labels: labels},
			gp.Config{Smooth: shape == kernel.RBF})
		if err != nil {
			return nil, fmt.Errorf("length scales by marginal likelihood: %w", err)
		}
		return ofProcess[T](kernel.Process{Stationary: fitted.Kernel(), Noise: fitted.Noise}, s.Sigma2)
	}
}

// matern uses the fitted process where there is one, whatever its shape.
func matern[T matrix.Float](ctx context.Context, s Source[T]) (kernel.Kernel[T], error) {
	if s.Process != nil {
		return ofProcess[T](*s.Process, s.Sigma2)
	}
	return stationary[T](kernel.Matern52)(ctx, s)
}

// ofProcess returns the kernel of a process, with its variance in units in which the noise
// is σ², so that a posterior and the methods that take σ² for the noise see the ratio of
// signal to noise that the labels have.
func ofProcess[T matrix.Float](p kernel.Process, sigma2 float64) (kernel.Kernel[T], error) {
	if !positive(p.Noise) {
		return nil, fmt.Errorf("the variance of the noise is %v, but must be positive and finite", p.Noise)
	}
	p.Variance *= sigma2 / p.Noise
	return kernels.NewStationary[T](p.Stationary)
}

// sample returns k of n numbers in increasing order, all sets equally likely.
func sample(n, k int, from kernel.Normals) []int {
	keys, index := make([]float64, n), make([]int, n)
	for i := range n {
		keys[i], index[i] = from.NormFloat64(), i
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	index = index[:k]
	slices.Sort(index)
	return index
}

func selected(labels []float64, index []int) []float64 {
	some := make([]float64, len(index))
	for i, row := range index {
		some[i] = labels[row]
	}
	return some
}

func lastLayers[T matrix.Float](_ context.Context, s Source[T]) (kernel.Kernel[T], error) {
	return kernels.NewLastLayers(s.Taps, int(s.Number))
}

// lastLayersSpace: all layers but the last are products.
func lastLayersSpace(layers float64) Space {
	if layers > 1 {
		return Factored
	}
	return Explicit
}

func lastLayersWidth(number float64, z Size) int {
	width, layers := 1, slices.Concat([]int{z.Inputs}, z.Hidden)
	for l := range min(int(number), len(layers)) {
		width += layers[len(layers)-1-l] + l*layers[len(layers)-1-l]*max(z.Outputs, 1)
	}
	return width
}

func gradient[T matrix.Float](_ context.Context, s Source[T]) (kernel.Kernel[T], error) {
	return kernels.NewGrad(s.Taps), nil
}

func gradientWidth(_ float64, z Size) int {
	width := z.Inputs + 1
	for _, d := range z.Hidden {
		width += d + 1 + max(z.Outputs, 1)*d
	}
	return width
}

func leaf[T matrix.Float](_ context.Context, s Source[T]) (kernel.Kernel[T], error) {
	return kernels.NewLeaf[T](s.Leaves)
}

// manyTrees and manyMembers are forecast with where their numbers are unknown.
const manyTrees, manyMembers = 1000, 100

func leafWidth(_ float64, z Size) int { return cmp.Or(z.Trees, manyTrees) }

func predictions[T matrix.Float](_ context.Context, s Source[T]) (kernel.Kernel[T], error) {
	return kernels.NewPredictions[T](s.Members)
}

func predictionsWidth(_ float64, z Size) int { return cmp.Or(z.Members, manyMembers) }

// Kernels lists the base kernels, those registered by the user last.
func Kernels() []KernelInfo { return allKernels.all() }

// Info describes the kernel. The result for an unknown kernel has no name.
func (k Kernel) Info() KernelInfo {
	info, _ := allKernels.find(k.Name)
	return info
}
