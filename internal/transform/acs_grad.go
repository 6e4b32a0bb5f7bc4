package transform

// ACS gradient transformation, the weighted Fisher inner product (paper,
// equation "acs_grad_kernel" and the one after it):
//
//	k_{→acs-grad}(x, x') = k_{→scale}(x, x')·k_{→train}(x, x')/σ⁴

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

const acsGrad = "acs-grad"

// ACSGrad returns the product of the scaled kernel and its posterior, divided by
// σ⁴. Published divides by σ⁸, which changes only what MaxDet picks.
//
// In feature space the result is a kernel.FeatureMap whose number of features is
// the square of that of k; a Sketch takes it factor by factor. See Posterior for
// when that is.
func ACSGrad(ctx context.Context, k kernel.Kernel[float64], train matrix.Dense[float64], sigma2 float64,
	v Variant) (kernel.Kernel[float64], Fit, error) {
	if m, ok := fewFeatures(k, train.Rows); ok {
		return ACSGradFeatures(ctx, m, train, sigma2, v)
	}
	if err := checkPosterior(acsGrad, train, sigma2); err != nil {
		return nil, Fit{}, err
	}
	p, fit, err := newKernelPosterior(ctx, acsGrad, k, train, sigma2, normalising, nil)
	if err != nil {
		return nil, Fit{}, err
	}
	return kernels.Compose[float64](p, &fisher{prior: p.prior, factor: fisherFactor(sigma2, v)}), fit, nil
}

// ACSGradFeatures is ACSGrad in feature space, however many features m has.
func ACSGradFeatures(ctx context.Context, m kernel.FeatureMap[float64], train matrix.Dense[float64], sigma2 float64,
	v Variant) (kernel.FeatureMap[float64], Fit, error) {
	if err := checkPosterior(acsGrad, train, sigma2); err != nil {
		return nil, Fit{}, err
	}
	p, fit, err := newFeaturePosterior(ctx, acsGrad, m, train, sigma2, normalising, nil)
	if err != nil {
		return nil, Fit{}, err
	}
	prior := kernels.Scaled[float64]{Of: kernels.Dot[float64]{}, Factor: fisherFactor(sigma2, v) * fit.Lambda * fit.Lambda}
	product := kernels.NewProduct[float64](prior, kernels.Dot[float64]{})
	return kernels.Compose[float64](&withPosterior{posterior: p}, product).(kernel.FeatureMap[float64]), fit, nil
}

// fisherFactor is the factor of the product of the two kernels.
func fisherFactor(sigma2 float64, v Variant) float64 {
	if v == Published {
		return math.Pow(sigma2, -4)
	}
	return 1 / (sigma2 * sigma2)
}

// withPosterior is an embedding with two parts: the features, and the features of
// their posterior.
type withPosterior struct {
	posterior    *featurePosterior
	prior, after kernels.Scratch[float64]
}

func (e *withPosterior) Inputs() int { return e.posterior.Inputs() }

func (e *withPosterior) Widths() []int { return []int{e.posterior.Dim(), e.posterior.Dim()} }

func (e *withPosterior) Embed(ctx context.Context, rows matrix.Dense[float64]) ([]matrix.Dense[float64], error) {
	prior, err := kernels.Borrow(ctx, e.posterior.of, rows, &e.prior)
	if err != nil {
		return nil, err
	}
	after := e.after.Matrix(rows.Rows, e.posterior.Dim())
	return []matrix.Dense[float64]{prior, after}, e.posterior.apply(ctx, after, prior, rows)
}

// fisher is the product in kernel space of the prior k and of k minus what the
// training rows explain. Both read the same parts.
type fisher struct {
	kernels.NoFeatures[float64]
	prior     kernels.Form[float64]
	factor    float64
	explained kernels.Scratch[float64]
}

func (f *fisher) Parts() int { return f.prior.Parts() + 1 }

func (f *fisher) Diag(ctx context.Context, dst []float64, rows []matrix.Dense[float64]) error {
	if err := f.prior.Diag(ctx, dst, rows); err != nil {
		return err
	}
	explained := f.explained.Matrix(1, len(dst)).Row(0)
	if err := (kernels.Dot[float64]{}).Diag(ctx, explained, rows[f.prior.Parts():]); err != nil {
		return err
	}
	for i, k := range dst {
		dst[i] = f.factor * k * max(k-explained[i], 0)
	}
	return nil
}

func (f *fisher) Cross(ctx context.Context, dst matrix.Dense[float64], a, b []matrix.Dense[float64]) error {
	if err := f.prior.Cross(ctx, dst, a, b); err != nil {
		return err
	}
	n := f.prior.Parts()
	explained := f.explained.Matrix(dst.Rows, dst.Cols)
	if err := (kernels.Dot[float64]{}).Cross(ctx, explained, a[n:], b[n:]); err != nil {
		return err
	}
	for i := range dst.Rows {
		row, e := dst.Row(i), explained.Row(i)
		for j, k := range row {
			row[j] = f.factor * k * (k - e[j])
		}
	}
	return nil
}
