package network

import (
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// posterior is the last layer of a trained network seen as Bayesian linear
// regression, a neural linear model (paper, section "Gaussian Process Posterior
// Transformation"). Its feature map φ is the input x̃ of the last layer. With
// λ = (mean of ‖φ‖² over the training rows)^(-1/2), the variance at a row is
//
//	k(x, x) = σ²·λφ(x)ᵀ·(λ²·ΦᵀΦ + σ²·I)^-1·λφ(x)
//
// the kernel k_ll→scale→post of the paper. It assumes labels of variance 1
// and does not know the actual errors of the network, so the variance of a label is
// estimated as Unit·(k(x, x) + σ²), Unit estimated from rows that the
// network was not fitted to.
type posterior struct {
	Lambda float64 `json:"lambda"`
	Noise  float64 `json:"noise"` // σ²
	Unit   float64 `json:"unit"`
	Jitter float64 `json:"jitter"` // that the factorisation needed in addition to σ²; usually zero

	factor matrix.Dense[float64] // Cholesky factor of λ²·ΦᵀΦ + σ²·I
}

// fitPosterior computes the posterior given the training rows x; Unit is 1.
func fitPosterior(team *linalg.Team, net *MLP, x matrix.Dense[Real], noise float64) (posterior, error) {
	d := net.sizes[net.Layers()-1] + 1
	gram := matrix.New[float64](d, d)
	features := matrix.New[float64](min(forwardBlock, x.Rows), d)
	p := newForward(net, features.Rows)
	p.team = team
	for from := 0; from < x.Rows; from += forwardBlock {
		p.inputs(x.Slice(from, min(from+forwardBlock, x.Rows)), nil)
		p.forward()
		block := features.Slice(0, p.n)
		matrix.Convert(block, p.features())
		linalg.Syrk(team, gram, 1, block, linalg.Trans, 1)
	}
	q := posterior{Lambda: 1, Noise: noise, Unit: 1, factor: gram}
	trace := 0.0
	for i := range d {
		trace += gram.At(i, i)
	}
	if trace > 0 { // without a bias, a network whose units are all dead has no features
		q.Lambda = math.Sqrt(float64(x.Rows) / trace)
	}
	for i := range d {
		row := gram.Row(i)
		for j := range row {
			row[j] *= q.Lambda * q.Lambda
		}
		row[i] += noise
	}
	rescue, err := linalg.CholeskyRescue(team, gram, gram.Clone())
	if err != nil {
		return q, fmt.Errorf("posterior of the last layer: %w", err)
	}
	q.Jitter = rescue.Jitter
	return q, nil
}

// variance writes k(x, x) to dst for rows whose features are given. It
// overwrites the features.
func (q posterior) variance(team *linalg.Team, dst []float64, features matrix.Dense[float64]) error {
	if err := linalg.SolveLower(team, features, linalg.Right, q.factor, linalg.Trans); err != nil {
		return err
	}
	linalg.RowNorms(team, dst, features)
	for i := range dst {
		dst[i] *= q.Noise * q.Lambda * q.Lambda
	}
	return nil
}

// calibrate sets Unit to the value under which the given errors, on rows with
// the given k(x, x), are most likely: the mean of error²/(k + σ²).
func (q *posterior) calibrate(errors, variances []float64) {
	sum := 0.0
	for i, e := range errors {
		sum += e * e / (variances[i] + q.Noise)
	}
	q.Unit = sum / float64(len(errors))
}
