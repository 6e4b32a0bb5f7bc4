package transform

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// featurePosterior is the posterior in feature space, of the features λφ:
//
//	φ_{→post}(x) = σλ·φ(x)·L^{-T},   L·Lᵀ = λ²·φ(X)ᵀφ(X) + σ²I
//
// The paper takes the symmetric root of the inverse instead of L^{-T}; the two
// differ by a rotation of the features, so the kernel is the same. The inverse is
// formed explicitly: a product with it is faster than a solve with L, and just as
// accurate relative to the result, since L^{-1}·L is the identity up to rounding.
type featurePosterior struct {
	of      kernel.FeatureMap[float64]
	lower   matrix.Dense[float64]  // L^{-1}
	inverse *linalg.Upper[float64] // L^{-T}
	factor  float64                // σλ
	scratch kernels.Scratch[float64]
}

func newFeaturePosterior(ctx context.Context, op string, m kernel.FeatureMap[float64], rows matrix.Dense[float64],
	sigma2 float64, s scaling, noise []float64) (*featurePosterior, Fit, error) {
	gram, sum, err := featureGram(ctx, m, rows, noise)
	if err != nil {
		return nil, Fit{}, wrap(op, err)
	}
	l, fit, err := factorise(ctx, op, gram, sum/float64(rows.Rows), sigma2, s, nil)
	if err != nil {
		return nil, Fit{}, err
	}
	if err := linalg.InvertLower(linalg.TeamOf(ctx), l); err != nil {
		return nil, Fit{}, fmt.Errorf("%s: %w", op, err)
	}
	fit.FeatureSpace = true
	of, err := unchecked(ctx, m)
	if err != nil {
		return nil, Fit{}, wrap(op, err)
	}
	factor := math.Sqrt(sigma2) * fit.Lambda
	return &featurePosterior{of: of, lower: l, inverse: linalg.NewUpper(l, linalg.Trans), factor: factor}, fit, nil
}

// unchecked returns m without its check for numbers that are not finite, if m is
// linear: apply finds such numbers in its results.
func unchecked(ctx context.Context, m kernel.FeatureMap[float64]) (kernel.FeatureMap[float64], error) {
	if !kernels.IsLinear[float64](m) {
		return m, nil
	}
	prepared, _, err := kernels.Prepare[float64](ctx, m) // which takes rows as checked
	if err != nil {
		return nil, err
	}
	return prepared.(kernel.FeatureMap[float64]), nil
}

func (p *featurePosterior) Inputs() int { return p.of.Inputs() }
func (p *featurePosterior) Dim() int    { return p.of.Dim() }

func (p *featurePosterior) Features(ctx context.Context, dst, rows matrix.Dense[float64]) error {
	features, err := kernels.Borrow(ctx, p.of, rows, &p.scratch)
	if err != nil {
		return err
	}
	return p.apply(ctx, dst, features, rows)
}

// apply writes the features of the posterior to dst, given those of the kernel on
// the rows. The last feature of a row depends on all features that it was given,
// so a number that is not finite shows up there; checking every number of every
// row would take longer.
func (p *featurePosterior) apply(ctx context.Context, dst, features, rows matrix.Dense[float64]) error {
	p.inverse.Mul(linalg.TeamOf(ctx), dst, p.factor, features)
	sum := 0.0
	for i := range dst.Rows {
		for _, v := range dst.Row(i)[max(0, dst.Cols-1):] {
			sum += v - v // 0 if v is finite, otherwise NaN
		}
	}
	if sum != 0 {
		return kernel.CheckRows(ctx, rows, p.Inputs())
	}
	return nil
}

// featureGram returns ΦᵀD^{-1}Φ, accumulated block by block, and the trace of ΦᵀΦ. Without noise, D is I.
func featureGram(ctx context.Context, m kernel.FeatureMap[float64], rows matrix.Dense[float64],
	noise []float64) (gram matrix.Dense[float64], sum float64, err error) {
	gram = matrix.New[float64](m.Dim(), m.Dim())
	err = eachBlock(ctx, m, rows, func(first int, features matrix.Dense[float64]) {
		if len(noise) > 0 {
			features = features.Clone()
			for i := range features.Rows {
				row := features.Row(i)
				sum += simd.For[float64]().SumSquares(row)
				for j := range row {
					row[j] /= math.Sqrt(noise[first+i])
				}
			}
		}
		linalg.Syrk(linalg.TeamOf(ctx), gram, 1, features, linalg.Trans, 1)
	})
	if len(noise) == 0 {
		sum = trace(gram)
	}
	return gram, sum, err
}

// eachBlock calls f for one block of rows after another, with the index of its
// first row and its features.
func eachBlock(ctx context.Context, m kernel.FeatureMap[float64], rows matrix.Dense[float64],
	f func(first int, features matrix.Dense[float64])) error {
	var scratch kernels.Scratch[float64]
	return kernel.OverBlocks(ctx, rows.Rows, func(from, to int) error {
		features, err := kernels.Borrow(ctx, m, rows.Slice(from, to), &scratch)
		if err != nil {
			return err
		}
		f(from, features)
		return nil
	})
}
