package transform

// Gaussian process posterior (paper, equations "posterior_kernel" and
// "posterior_fm_other"), for the training rows X and the noise variance σ²:
//
//	k_{→post}(x, x') = k(x, x') − k(x, X)·(k(X, X) + σ²I)^{-1}·k(X, x')
//	                 = σ²·φ(x)ᵀ·(φ(X)ᵀφ(X) + σ²I)^{-1}·φ(x')
//
// The first line is computed in kernel space (posterior_kernel.go), the second
// in feature space (posterior_features.go).

import (
	"fmt"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Posterior returns the covariance of a Gaussian process with kernel k that is
// left after observing the rows. It works in feature space, with a
// kernel.FeatureMap as result, if k has at most max(1024, 3·rows) features, as
// the paper does; otherwise in kernel space.
func Posterior(k kernel.Kernel[float64], rows matrix.Dense[float64], sigma2 float64) (kernel.Kernel[float64], Fit, error) {
	return posterior("post", k, rows, sigma2, 1)
}

// Train returns k_{→X}: Scale on the rows, then Posterior (paper, section
// "Gaussian Process Posterior Transformation").
func Train(k kernel.Kernel[float64], rows matrix.Dense[float64], sigma2 float64) (kernel.Kernel[float64], Fit, error) {
	return scaledPosterior("train", k, rows, sigma2)
}

// Pool is Train on the rows of the pool: what would be left after observing all
// of them.
func Pool(k kernel.Kernel[float64], rows matrix.Dense[float64], sigma2 float64) (kernel.Kernel[float64], Fit, error) {
	return scaledPosterior("pool", k, rows, sigma2)
}

func scaledPosterior(op string, k kernel.Kernel[float64], rows matrix.Dense[float64], sigma2 float64) (kernel.Kernel[float64], Fit, error) {
	lambda, err := automatic(op, k, rows)
	if err != nil {
		return nil, Fit{}, err
	}
	return posterior(op, k, rows, sigma2, lambda)
}

// posterior returns the posterior of λ²·k.
func posterior(op string, k kernel.Kernel[float64], rows matrix.Dense[float64], sigma2, lambda float64) (kernel.Kernel[float64], Fit, error) {
	if err := checkPosterior(op, rows, sigma2); err != nil {
		return nil, Fit{}, err
	}
	if m, ok := fewFeatures(k, rows.Rows); ok {
		p, fit, err := newFeaturePosterior(op, m, rows, sigma2, lambda)
		if err != nil {
			return nil, Fit{}, err
		}
		return kernel.NewFeatureMap[float64](p), fit, nil
	}
	p, fit, err := newKernelPosterior(op, k, rows, sigma2, lambda)
	if err != nil {
		return nil, Fit{}, err
	}
	return kernel.Compose[float64](p, kernel.NewLess[float64](p.prior, kernel.Dot[float64]{})), fit, nil
}

func checkPosterior(op string, rows matrix.Dense[float64], sigma2 float64) error {
	if err := checkPositive(op, "the noise variance σ²", sigma2); err != nil {
		return err
	}
	return checkRows(op, rows.Rows)
}

// fewFeatures is the paper's choice of the feature space.
func fewFeatures(k kernel.Kernel[float64], rows int) (kernel.FeatureMap[float64], bool) {
	m, finite := k.(kernel.FeatureMap[float64])
	if !finite || m.Dim() > max(1024, 3*rows) {
		return nil, false
	}
	return m, true
}

// wrap says in which transformation the rows to fit to went wrong.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: training rows: %w", op, err)
}
