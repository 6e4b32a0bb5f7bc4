package transform

// ACS random features (paper, equations "acs_function" and "acs_kernel"): with
// draws θ_j of the weights from their posterior,
//
//	φ_j(x) = f_acs(x, θ_j)/√p,
//	f_acs(x, θ) = ½·log(1 + κ/σ²) − ((θ·φ_{→scale}(x))² + κ)/(2σ²),   κ = k_{→train}(x, x)
//
// θ_j = σ·L^{-T}·e_j with LLᵀ = ΦᵀΦ + σ²I and standard normal e_j. So, with the
// features φ_{→train} = σ·φ_{→scale}·L^{-T} of the posterior,
// θ_j·φ_{→scale} = φ_{→train}·e_j and κ = |φ_{→train}|².

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// ACSRandomFeatures returns the map of p random features. The numbers e_j are
// drawn as a matrix with a row for each feature of m and a column for each j.
//
// Published leaves the factor σ² out of the covariance of θ: it uses κ/σ² instead
// of κ and θ/σ instead of θ. It also divides by the root of the number of
// features of m instead of √p.
func ACSRandomFeatures(ctx context.Context, m kernel.FeatureMap[float64], train matrix.Dense[float64], p int,
	sigma2 float64, from kernel.Normals, v Variant) (kernel.FeatureMap[float64], Fit, error) {
	const op = "acs-rf"
	if err := checkCount(op, "the number of features p", p); err != nil {
		return nil, Fit{}, err
	}
	if err := checkPosterior(op, train, sigma2); err != nil {
		return nil, Fit{}, err
	}
	posterior, fit, err := newFeaturePosterior(ctx, op, m, train, sigma2, normalising, nil)
	if err != nil {
		return nil, Fit{}, err
	}
	unit := 1.0 // the factor of κ; the factor of θ is its root
	if v == Published {
		unit = 1 / sigma2
	}
	rate := unit / sigma2
	log := logLikelihood{log: 0.5, rate: rate, linear: -rate / 2, slope: rate / 2,
		over: math.Sqrt(float64(denominator(p, m.Dim(), v)))}
	return newRandomFeatures(posterior, p, from, log), fit, nil
}

// denominator returns the number by whose root the random features are divided.
func denominator(p, dim int, v Variant) int {
	if v == Published {
		return dim
	}
	return p
}
