package transform

// ACS random features of a Bayesian linear model with a hyperprior on the noise
// (paper, section "ACS Random Features Transformation"). With the scaled
// features Φ of the N training rows and their labels y:
//
//	M = ΦᵀΦ + I = L·Lᵀ,   θ_j = L^{-T}·e_j with standard normal e_j
//	ã = 1 + N/2,   μ = M^{-1}Φᵀy,   b̃ = 1 + ½·(Σy² − μᵀMμ)
//	φ_j(x) = (−½·log 2π − ½·((θ_j·φ)² + (b̃/ã)·(1 + φᵀM^{-1}φ)))/√p
//
// M is the matrix of a posterior with σ² = 1; with its features ψ = φ·L^{-T},
// θ_j·φ = ψ·e_j and φᵀM^{-1}φ = |ψ|². μᵀMμ = |L^{-1}Φᵀy|² = |Ψᵀy|².

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// ACSRandomFeaturesHyper returns the map of p random features. labels are the
// standardised labels of the training rows. The numbers e_j are drawn as a matrix
// with a row for each feature of m and a column for each j.
//
// Published divides by the root of the number of features of m instead of √p.
func ACSRandomFeaturesHyper(ctx context.Context, m kernel.FeatureMap[float64], train matrix.Dense[float64],
	labels []float64, p int, from kernel.Normals, v Variant) (kernel.FeatureMap[float64], Fit, error) {
	const op = "acs-rf-hyper"
	if err := checkCount(op, "the number of features p", p); err != nil {
		return nil, Fit{}, err
	}
	if err := checkLabels(op, labels, train.Rows); err != nil {
		return nil, Fit{}, err
	}
	posterior, fit, err := newFeaturePosterior(ctx, op, m, train, 1, normalising, nil)
	if err != nil {
		return nil, Fit{}, err
	}
	noise, err := expectedNoise(ctx, posterior, train, labels)
	if err != nil {
		return nil, Fit{}, wrap(op, err)
	}
	log := logLikelihood{linear: -noise / 2, offset: -(math.Log(2*math.Pi) + noise) / 2, slope: 0.5,
		over: math.Sqrt(float64(denominator(p, m.Dim(), v)))}
	return newRandomFeatures(posterior, p, from, log), fit, nil
}

// expectedNoise returns b̃/ã.
func expectedNoise(ctx context.Context, posterior *featurePosterior, train matrix.Dense[float64],
	labels []float64) (float64, error) {
	set := simd.For[float64]()
	explained := make([]float64, posterior.Dim())
	err := eachBlock(ctx, kernel.NewFeatureMap[float64](posterior), train,
		func(first int, features matrix.Dense[float64]) {
			for i := range features.Rows {
				set.Axpy(explained, features.Row(i), labels[first+i])
			}
		})
	a := 1 + float64(len(labels))/2
	b := 1 + (set.SumSquares(labels)-set.SumSquares(explained))/2
	return b / a, err
}

func checkLabels(op string, labels []float64, rows int) error {
	if err := checkRows(op, rows); err != nil {
		return err
	}
	if len(labels) != rows {
		return fmt.Errorf("%s: %d labels for %d training rows", op, len(labels), rows)
	}
	for i, y := range labels {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return fmt.Errorf("%s: label %d is %v", op, i, y)
		}
	}
	return nil
}
