package transform

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// randomFeatures are expected log-likelihoods under random parameters. With the
// features ψ of a posterior, κ = |ψ|² and standard normal e_j,
//
//	φ_j = (constant(κ) − slope·(ψ·e_j)²)/over
type randomFeatures struct {
	posterior *featurePosterior
	normals   matrix.Dense[float64]
	log       logLikelihood
	scratch   kernels.Scratch[float64]
	norms     []float64
}

// logLikelihood defines how a feature depends on κ:
//
//	constant(κ) = log·log(1 + rate·κ) + linear·κ + offset,
//
// and the slope does not depend on κ.
type logLikelihood struct {
	log, rate, linear, offset float64
	slope                     float64
	over                      float64
}

func (l logLikelihood) constant(kappa float64) float64 {
	return l.log*math.Log1p(l.rate*kappa) + l.linear*kappa + l.offset
}

func newRandomFeatures(posterior *featurePosterior, p int, from kernel.Normals,
	log logLikelihood) kernel.FeatureMap[float64] {
	return kernel.NewFeatureMap[float64](&randomFeatures{
		posterior: posterior,
		normals:   draw[float64](from, posterior.Dim(), p, 1),
		log:       log,
		norms:     make([]float64, kernel.BlockRows),
	})
}

func (r *randomFeatures) Inputs() int { return r.posterior.Inputs() }
func (r *randomFeatures) Dim() int    { return r.normals.Cols }

func (r *randomFeatures) Features(ctx context.Context, dst, rows matrix.Dense[float64]) error {
	features := r.scratch.Matrix(rows.Rows, r.posterior.Dim())
	if err := r.posterior.Features(ctx, features, rows); err != nil {
		return err
	}
	linalg.Gemm(linalg.TeamOf(ctx), dst, 1, features, linalg.NoTrans, r.normals, linalg.NoTrans, 0)
	norms := r.norms[:rows.Rows]
	linalg.RowNorms(linalg.TeamOf(ctx), norms, features)
	linalg.TeamOf(ctx).Run(dst.Rows, &likelihoodJob{dst, norms, r.log})
	return nil
}

// likelihoodJob turns projections into log-likelihoods. Each of its parts is one
// row.
type likelihoodJob struct {
	dst   matrix.Dense[float64]
	norms []float64
	log   logLikelihood
}

func (j *likelihoodJob) Do(i, _ int) {
	constant, slope := j.log.constant(j.norms[i])/j.log.over, j.log.slope/j.log.over
	row := j.dst.Row(i)
	simd.For[float64]().Mul(row, row, row)
	for k, v := range row {
		row[k] = constant - slope*v
	}
}
