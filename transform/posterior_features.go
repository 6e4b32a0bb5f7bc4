package transform

import (
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// featurePosterior is the posterior in feature space, of the features λφ:
//
//	φ_{→post}(x) = σλ·φ(x)·L^{-T},   L·Lᵀ = λ²·φ(X)ᵀφ(X) + σ²I
//
// The paper takes the symmetric root of the inverse instead of L^{-T}; the two
// differ by a rotation of the features, so the kernel is the same.
type featurePosterior struct {
	of kernel.FeatureMap[float64]
	l  matrix.Dense[float64] // L/(σλ)
}

func newFeaturePosterior(op string, m kernel.FeatureMap[float64], rows matrix.Dense[float64], sigma2, lambda float64) (*featurePosterior, Fit, error) {
	gram, err := featureGram(m, rows)
	if err != nil {
		return nil, Fit{}, wrap(op, err)
	}
	for i := range gram.Rows {
		row := gram.Row(i)
		for j := range row {
			row[j] *= lambda * lambda
		}
		row[i] += sigma2
	}
	l := matrix.New[float64](gram.Rows, gram.Rows)
	rescue, err := linalg.CholeskyRescue(l, gram)
	if err != nil {
		return nil, Fit{}, fmt.Errorf("%s: %w", op, err)
	}
	factor := 1 / (math.Sqrt(sigma2) * lambda)
	for i := range l.Data {
		l.Data[i] *= factor
	}
	return &featurePosterior{of: m, l: l}, Fit{Lambda: lambda, FeatureSpace: true, Jitter: rescue.Jitter}, nil
}

func (p *featurePosterior) Inputs() int { return p.of.Inputs() }
func (p *featurePosterior) Dim() int    { return p.of.Dim() }

func (p *featurePosterior) Features(dst, rows matrix.Dense[float64]) error {
	if err := p.of.Features(dst, rows); err != nil {
		return err
	}
	return p.apply(dst)
}

// apply turns features of the kernel, in place, into those of the posterior.
func (p *featurePosterior) apply(features matrix.Dense[float64]) error {
	return linalg.SolveLower(features, linalg.Right, p.l, linalg.Trans)
}

// featureGram returns ΦᵀΦ, block by block.
func featureGram(m kernel.FeatureMap[float64], rows matrix.Dense[float64]) (matrix.Dense[float64], error) {
	gram := matrix.New[float64](m.Dim(), m.Dim())
	err := eachBlock(m, rows, func(_ int, features matrix.Dense[float64]) {
		linalg.Syrk(gram, 1, features, linalg.Trans, 1)
	})
	return gram, err
}

// eachBlock calls f with the features of one block of rows after the other, and
// the number of the first.
func eachBlock(m kernel.FeatureMap[float64], rows matrix.Dense[float64], f func(first int, features matrix.Dense[float64])) error {
	var scratch kernel.Scratch[float64]
	return kernel.OverBlocks(rows.Rows, func(from, to int) error {
		features := scratch.Matrix(to-from, m.Dim())
		if err := m.Features(features, rows.Slice(from, to)); err != nil {
			return err
		}
		f(from, features)
		return nil
	})
}
