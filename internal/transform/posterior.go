package transform

// Gaussian process posterior (paper, equations "posterior_kernel" and
// "posterior_fm_other"), for the training rows X and the noise variance σ²:
//
//	k_{→post}(x, x') = k(x, x') − k(x, X)·(k(X, X) + σ²I)^{-1}·k(X, x')
//	                 = σ²·φ(x)ᵀ·(φ(X)ᵀφ(X) + σ²I)^{-1}·φ(x')
//
// The first line is computed in kernel space (posterior_kernel.go), the second
// in feature space (posterior_features.go). Where the noise of the rows differs, σ²I is σ²D in the
// first, with a diagonal D, and the second has D^{-1/2}·φ(X) for φ(X).

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Posterior returns the covariance of a Gaussian process with prior kernel k
// after observing the rows. Like the paper, it works in feature space and returns
// a kernel.FeatureMap if k has at most max(1024, 3·rows) features, and works in
// kernel space otherwise. The noise is the diagonal of D; none means ones.
func Posterior(ctx context.Context, k kernel.Kernel[float64], rows matrix.Dense[float64],
	sigma2 float64, noise ...float64) (kernel.Kernel[float64], Fit, error) {
	return posterior(ctx, "post", k, rows, sigma2, unscaled, noise)
}

// Train returns k_{→X}: Scale on the rows, then Posterior (paper, section
// "Gaussian Process Posterior Transformation").
func Train(ctx context.Context, k kernel.Kernel[float64], rows matrix.Dense[float64],
	sigma2 float64, noise ...float64) (kernel.Kernel[float64], Fit, error) {
	return posterior(ctx, "train", k, rows, sigma2, normalising, noise)
}

// PosteriorFeatures is Posterior in feature space, however many features there
// are: for callers that need features.
func PosteriorFeatures(ctx context.Context, m kernel.FeatureMap[float64], rows matrix.Dense[float64],
	sigma2 float64, noise ...float64) (kernel.FeatureMap[float64], Fit, error) {
	return posteriorFeatures(ctx, "post", m, rows, sigma2, unscaled, noise)
}

// TrainFeatures is Train in feature space, however many features there are.
func TrainFeatures(ctx context.Context, m kernel.FeatureMap[float64], rows matrix.Dense[float64],
	sigma2 float64, noise ...float64) (kernel.FeatureMap[float64], Fit, error) {
	return posteriorFeatures(ctx, "train", m, rows, sigma2, normalising, noise)
}

// scaling returns the λ by which features are scaled before the posterior, from
// the mean of k(x, x) over the rows: normalising or unscaled.
type scaling func(op string, mean float64) (lambda float64, err error)

func unscaled(string, float64) (float64, error) { return 1, nil }

// posterior returns the posterior of λ²·k.
func posterior(ctx context.Context, op string, k kernel.Kernel[float64], rows matrix.Dense[float64], sigma2 float64,
	s scaling, noise []float64) (kernel.Kernel[float64], Fit, error) {
	if m, ok := fewFeatures(k, rows.Rows); ok {
		return posteriorFeatures(ctx, op, m, rows, sigma2, s, noise)
	}
	if err := checkPosterior(op, rows, sigma2); err != nil {
		return nil, Fit{}, err
	}
	p, fit, err := newKernelPosterior(ctx, op, k, rows, sigma2, s, noise)
	if err != nil {
		return nil, Fit{}, err
	}
	return kernels.Compose[float64](p, kernels.NewDifference[float64](p.prior, kernels.Dot[float64]{})), fit, nil
}

func posteriorFeatures(ctx context.Context, op string, m kernel.FeatureMap[float64], rows matrix.Dense[float64],
	sigma2 float64, s scaling, noise []float64) (kernel.FeatureMap[float64], Fit, error) {
	if err := checkPosterior(op, rows, sigma2); err != nil {
		return nil, Fit{}, err
	}
	p, fit, err := newFeaturePosterior(ctx, op, m, rows, sigma2, s, noise)
	if err != nil {
		return nil, Fit{}, err
	}
	return kernel.NewFeatureMap[float64](p), fit, nil
}

func checkPosterior(op string, rows matrix.Dense[float64], sigma2 float64) error {
	if err := checkPositive(op, "the noise variance σ²", sigma2); err != nil {
		return err
	}
	return checkRows(op, rows.Rows)
}

// fewFeatures is the paper's rule for working in feature space.
func fewFeatures(k kernel.Kernel[float64], rows int) (kernel.FeatureMap[float64], bool) {
	m, finite := k.(kernel.FeatureMap[float64])
	if !finite || m.Dim() > max(1024, 3*rows) {
		return nil, false
	}
	return m, true
}

// trace is the sum of the diagonal.
func trace(m matrix.Dense[float64]) (sum float64) {
	for i := range m.Rows {
		sum += m.At(i, i)
	}
	return sum
}

// factorise computes the Cholesky factor of λ²·gram + σ²D in a new matrix, where
// gram is the Gram matrix of features or of a kernel on rows with this mean of k(x, x). Without noise, D is I. It
// overwrites gram.
func factorise(ctx context.Context, op string, gram matrix.Dense[float64], mean, sigma2 float64, s scaling,
	noise []float64) (matrix.Dense[float64], Fit, error) {
	lambda, err := s(op, mean)
	if err != nil {
		return matrix.Dense[float64]{}, Fit{}, err
	}
	for i := range gram.Rows {
		row := gram.Row(i)
		for j := range row {
			row[j] *= lambda * lambda
		}
		if len(noise) > 0 {
			row[i] += sigma2 * noise[i]
		} else {
			row[i] += sigma2
		}
	}
	l := matrix.New[float64](gram.Rows, gram.Rows)
	rescue, err := linalg.CholeskyRescue(linalg.TeamOf(ctx), l, gram)
	if err != nil {
		return matrix.Dense[float64]{}, Fit{}, fmt.Errorf("%s: %w", op, err)
	}
	return l, Fit{Lambda: lambda, Jitter: rescue.Jitter}, nil
}

// wrap names the transformation in an error about the rows that it is fitted to.
func wrap(op string, err error) error { return fmt.Errorf("%s: training rows: %w", op, err) }
