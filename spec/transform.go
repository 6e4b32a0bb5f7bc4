package spec

import (
	"context"
	"errors"
	"strings"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Need is what a transformation needs from the kernel before it.
type Need int

const (
	Values           Need = iota // its values
	FiniteFeatures               // a finite feature map, Explicit or Factored
	ExplicitFeatures             // a row of features per row of data
	Frequencies                  // those of a kernel of the space Stationary
)

// TransformInfo describes a kernel transformation: what it needs.
type TransformInfo struct {
	Name        string
	Parameter   Parameter
	Description string // one line
	Section     string // of the paper; empty if the paper does not cover the transformation

	Needs    Need
	Noise    bool // it uses the noise variance σ²
	Train    bool // it uses training rows, and requires them
	Labels   bool // it requires their labels
	Draws    bool // it draws random numbers
	Projects bool // its number is the number of features that it returns
	Ensemble bool // it combines the kernels of several networks, as many as its number, into one

	Conditions   bool // it conditions on the training rows, which a chain may do only once
	NoCovariance bool // its result is not a covariance, so that nothing after it may condition

	// Space returns how much of the feature space is available after the
	// transformation. Nil means as much as before.
	Space func(before Space) Space
	// Width returns how many numbers are kept in memory per row, given the
	// width before. Nil means no change, or the number of features if the
	// transformation projects.
	Width func(width int, before Space, z Size) int

	// DoubleOnly means that the transformation must be computed in float64; everything
	// after it is then in float64, too. Registration sets it for a maker without Single.
	DoubleOnly bool

	published string // its name in published ids; empty if there is none
}

// TransformMaker applies a transformation in float32 and in float64. Single is nil for
// transformations that must be computed in float64.
type TransformMaker struct {
	Single func(context.Context, Step[float32]) (kernel.Kernel[float32], error)
	Double func(context.Context, Step[float64]) (kernel.Kernel[float64], error)
}

// Step is the input of a transformation.
type Step[T matrix.Float] struct {
	Number  float64            // the number in parentheses, or its default
	Kernel  kernel.Kernel[T]   // of one network
	Members []kernel.Kernel[T] // for Ensemble: of all networks
	Train   matrix.Dense[T]    // the labelled rows, then the pending ones unless Labels is set; they belong to the caller
	Labels  []float64          // of the labelled rows, standardised; may be nil unless Labels is set
	Sigma2  float64            // the noise variance σ²
	Noise   []float64          // how many times σ² that of each row of Train is; nil means once
	Compat  bool               // follow the published code where it differs from the paper

	// KeepFeatures means that a later part needs features: given a
	// kernel.FeatureMap, the transformation must return one, even where values
	// would be cheaper.
	KeepFeatures bool
	// Normals returns random numbers that depend only on the seed, the purpose,
	// the position in the spec and the network.
	Normals func(purpose string) kernel.Normals
	// Warn adds a line to the warnings of the batch.
	Warn func(format string, args ...any)
}

// FeatureMap returns the kernel as a feature map. It fails if the kernel is not one.
func (s Step[T]) FeatureMap() (kernel.FeatureMap[T], error) {
	if m, ok := s.Kernel.(kernel.FeatureMap[T]); ok {
		return m, nil
	}
	return nil, errors.New("it needs features, and the kernel before it has none")
}

func (s Step[T]) variant() transform.Variant {
	if s.Compat {
		return transform.Published
	}
	return transform.Paper
}

// Syntax returns how to write the transformation, with its parameter.
func (t TransformInfo) Syntax() string { return t.Parameter.syntax(t.Name) }

func (t TransformInfo) name() string { return t.Name }

func (t TransformInfo) fault() string {
	required := t.Parameter.Name != "" && t.Parameter.Whole && !t.Parameter.Optional
	switch {
	case t.Description == "" || strings.ContainsAny(t.Description, "\r\n"):
		return "its description must be one line"
	case (t.Ensemble || t.Projects) && !required:
		return "Ensemble and Projects require a whole number that is not optional"
	case t.Ensemble && t.DoubleOnly:
		return "an ensemble works in both precisions, but Single is missing"
	}
	return t.Parameter.check()
}

func (t TransformInfo) space(before Space) Space {
	switch {
	case t.Space != nil:
		return t.Space(before)
	case t.Projects:
		return Explicit
	}
	return before
}

func (t TransformInfo) width(number float64, width int, before Space, z Size) int {
	switch {
	case t.Width != nil:
		return t.Width(width, before, z)
	case t.Projects:
		return int(number)
	}
	return width
}

// mostFeatures is more than a kernel has: a larger number is a typing error.
const mostFeatures = 1 << 20

var (
	features = Parameter{Name: "p", Whole: true, Most: mostFeatures}
	pairs    = Parameter{Name: "n", Whole: true, Even: true, Most: mostFeatures}
	members  = Parameter{Name: "n", Whole: true, Most: kernels.MostMembers}
)

var transforms = newRegistry("transform",
	TransformInfo{
		Name: scaleTransform().Name, Parameter: Parameter{Name: "factor", Optional: true}, Section: "4.2 Scaling",
		Description: "features times a factor, by default one that makes the mean of k(x, x) on train 1", published: "scale"},
	TransformInfo{Name: posteriorTransform().Name, Section: "4.2 Gaussian Process Posterior Transformation", Noise: true,
		Train: true, Conditions: true,
		Description: "posterior covariance given the training rows",
		Space:       conditionedSpace, Width: conditionedWidth, DoubleOnly: true},
	TransformInfo{Name: trainTransform().Name, Section: "4.2 Gaussian Process Posterior Transformation", Noise: true,
		Train: true, Conditions: true,
		Description: "short for scale>post",
		Space:       conditionedSpace, Width: conditionedWidth, DoubleOnly: true, published: "train"},
	TransformInfo{Name: sketchTransform(0).Name, Parameter: features, Section: "4.2 Sketching", Needs: FiniteFeatures,
		Draws: true, Projects: true,
		Description: "random projection to p features", published: "rp"},
	TransformInfo{Name: fourierTransform(0).Name, Parameter: pairs, Needs: Frequencies, Draws: true, Projects: true,
		Description: "n random Fourier features of a stationary kernel: rbf, matern or laplace"},
	TransformInfo{Name: ensembleTransform(0).Name, Parameter: members, Section: "4.2 Ensembling", Ensemble: true,
		Description: "sum of the kernels of n networks", published: "ens"},
	TransformInfo{Name: acsGradTransform().Name, Section: "4.2 ACS Gradient Transformation", Noise: true, Train: true,
		Conditions: true, NoCovariance: true,
		Description: "weighted Fisher inner product: scaled kernel times its posterior",
		Space:       acsGradSpace, Width: acsGradWidth, DoubleOnly: true, published: "acs-grad"},
	TransformInfo{Name: acsTransform(0).Name, Parameter: features, Section: "4.2 ACS Random Features Transformation",
		Needs: ExplicitFeatures, Noise: true, Train: true, Draws: true, Projects: true, Conditions: true, NoCovariance: true,
		Description: "p random features of the expected log-likelihood, drawn from the posterior",
		DoubleOnly:  true, published: "acs-rf"},
	TransformInfo{Name: acsHyperTransform(0).Name, Parameter: features,
		Section: "4.2 ACS Random Features Transformation",
		Needs:   ExplicitFeatures, Train: true, Labels: true, Draws: true, Projects: true,
		Conditions: true, NoCovariance: true,
		Description: "acs-rf with a hyperprior on the noise variance",
		DoubleOnly:  true, published: "acs-rf-hyper"},
)

var transformMakers = makers[TransformMaker]{byName: map[string]TransformMaker{
	scaleTransform().Name:     {Single: scale[float32], Double: scale[float64]},
	posteriorTransform().Name: {Double: posterior},
	trainTransform().Name:     {Double: train},
	sketchTransform(0).Name:   {Single: sketch[float32], Double: sketch[float64]},
	fourierTransform(0).Name:  {Single: randomFourier[float32], Double: randomFourier[float64]},
	ensembleTransform(0).Name: {Single: ensemble[float32], Double: ensemble[float64]},
	acsGradTransform().Name:   {Double: acsGrad},
	acsTransform(0).Name:      {Double: acsRandomFeatures},
	acsHyperTransform(0).Name: {Double: acsRandomFeaturesHyper},
}}

// MakerOfTransform returns how a transformation is applied, see MakerOfKernel.
func MakerOfTransform(t Transform) TransformMaker { return transformMakers.find(t.Name) }

func scale[T matrix.Float](ctx context.Context, s Step[T]) (kernel.Kernel[T], error) {
	if s.Number != 0 {
		return transform.ScaleBy(s.Kernel, s.Number)
	}
	scaled, _, err := transform.Scale(ctx, s.Kernel, s.Train)
	return scaled, err
}

func sketch[T matrix.Float](ctx context.Context, s Step[T]) (kernel.Kernel[T], error) {
	m, err := s.FeatureMap()
	if err != nil {
		return nil, err
	}
	return transform.Sketch(m, int(s.Number), s.Normals("sketch"), s.variant())
}

func randomFourier[T matrix.Float](_ context.Context, s Step[T]) (kernel.Kernel[T], error) {
	return transform.RandomFourier(s.Kernel, int(s.Number), s.Normals("rff"))
}

func ensemble[T matrix.Float](ctx context.Context, s Step[T]) (kernel.Kernel[T], error) {
	return transform.Ensemble(s.Members...)
}

// A conditioner computes the posterior in kernel space, a featureConditioner in
// feature space.
type (
	conditioner func(ctx context.Context, k kernel.Kernel[float64], train matrix.Dense[float64],
		sigma2 float64, noise ...float64) (kernel.Kernel[float64], transform.Fit, error)
	featureConditioner func(ctx context.Context, m kernel.FeatureMap[float64], train matrix.Dense[float64],
		sigma2 float64, noise ...float64) (kernel.FeatureMap[float64], transform.Fit, error)
)

func posterior(ctx context.Context, s Step[float64]) (kernel.Kernel[float64], error) {
	return conditioned(ctx, s, transform.Posterior, transform.PosteriorFeatures)
}

func train(ctx context.Context, s Step[float64]) (kernel.Kernel[float64], error) {
	return conditioned(ctx, s, transform.Train, transform.TrainFeatures)
}

func acsGrad(ctx context.Context, s Step[float64]) (kernel.Kernel[float64], error) {
	return conditioned(ctx, s,
		func(ctx context.Context, k kernel.Kernel[float64], train matrix.Dense[float64],
			sigma2 float64, _ ...float64) (kernel.Kernel[float64], transform.Fit, error) {
			return transform.ACSGrad(ctx, k, train, sigma2, s.variant())
		},
		func(ctx context.Context, m kernel.FeatureMap[float64], train matrix.Dense[float64],
			sigma2 float64, _ ...float64) (kernel.FeatureMap[float64], transform.Fit, error) {
			return transform.ACSGradFeatures(ctx, m, train, sigma2, s.variant())
		})
}

// conditioned computes a posterior in feature space if a later part needs
// features, otherwise in the cheaper space.
func conditioned(ctx context.Context, s Step[float64], inKernel conditioner,
	inFeatures featureConditioner) (kernel.Kernel[float64], error) {
	if m, ok := s.Kernel.(kernel.FeatureMap[float64]); ok && s.KeepFeatures {
		k, fit, err := inFeatures(ctx, m, s.Train, s.Sigma2, s.Noise...)
		return k, s.warnOf(fit, err)
	}
	k, fit, err := inKernel(ctx, s.Kernel, s.Train, s.Sigma2, s.Noise...)
	return k, s.warnOf(fit, err)
}

// warnOf warns if a fit needed jitter, and passes the error on.
func (s Step[T]) warnOf(fit transform.Fit, err error) error {
	if fit.Jitter > 0 {
		//warning:jitter
		s.Warn("rounding left a matrix indefinite; %.3g was added to its diagonal, as if the noise variance were higher by "+
			"as much", fit.Jitter)
	}
	return err
}

// conditionedSpace: explicit features stay explicit; a product kernel is
// evaluated in kernel space from then on; no posterior is stationary.
func conditionedSpace(before Space) Space {
	switch before {
	case Factored:
		return Lost
	case Stationary:
		return Infinite
	}
	return before
}

func conditionedWidth(width int, before Space, z Size) int {
	if before != Explicit && width > z.Train {
		return width + z.Train
	}
	return width
}

// acsGradSpace: the product of two kernels.
func acsGradSpace(before Space) Space {
	if before == Explicit {
		return Factored
	}
	return conditionedSpace(before)
}

func acsGradWidth(width int, _ Space, _ Size) int { return 2 * width }

func acsRandomFeatures(ctx context.Context, s Step[float64]) (kernel.Kernel[float64], error) {
	m, err := s.FeatureMap()
	if err != nil {
		return nil, err
	}
	k, fit, err := transform.ACSRandomFeatures(ctx, m, s.Train, int(s.Number), s.Sigma2, s.Normals("acs-rf"), s.variant())
	return k, s.warnOf(fit, err)
}

func acsRandomFeaturesHyper(ctx context.Context, s Step[float64]) (kernel.Kernel[float64], error) {
	m, err := s.FeatureMap()
	if err != nil {
		return nil, err
	}
	k, fit, err := transform.ACSRandomFeaturesHyper(ctx, m, s.Train, s.Labels, int(s.Number),
		s.Normals("acs-rf"), s.variant())
	return k, s.warnOf(fit, err)
}

// Transforms lists the kernel transformations, those registered by the user
// last.
func Transforms() []TransformInfo { return transforms.all() }

// Info describes the transformation. The result for an unknown one has no name.
func (t Transform) Info() TransformInfo {
	info, _ := transforms.find(t.Name)
	return info
}
