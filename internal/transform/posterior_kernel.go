package transform

import (
	"context"
	"slices"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// kernelPosterior is the posterior of λ²·k in kernel space. It adds to the parts
// of a row what the training rows X explain of it,
//
//	v(x) = λ²·k(x, X)·L^{-T},   L·Lᵀ = λ²·k(X, X) + σ²I,
//
// so that the posterior is λ²·k(x, x') − ⟨v(x), v(x')⟩.
type kernelPosterior struct {
	embedding kernels.Embedding[float64]
	prior     kernels.Form[float64]   // λ²·k
	train     []matrix.Dense[float64] // the parts of X
	l         matrix.Dense[float64]
	explained kernels.Scratch[float64]
}

func newKernelPosterior(ctx context.Context, op string, k kernel.Kernel[float64], rows matrix.Dense[float64],
	sigma2 float64, s scaling, noise []float64) (*kernelPosterior, Fit, error) {
	e, f := kernels.Decompose(k)
	p := &kernelPosterior{embedding: e}
	if err := p.keepTrain(ctx, rows); err != nil {
		return nil, Fit{}, wrap(op, err)
	}
	gram := matrix.New[float64](rows.Rows, rows.Rows)
	if err := f.Cross(ctx, gram, p.train, p.train); err != nil {
		return nil, Fit{}, wrap(op, err)
	}
	l, fit, err := factorise(ctx, op, gram, trace(gram)/float64(rows.Rows), sigma2, s, noise)
	if err != nil {
		return nil, Fit{}, err
	}
	p.l, p.prior = l, f
	if fit.Lambda != 1 {
		p.prior = kernels.Scaled[float64]{Of: f, Factor: fit.Lambda * fit.Lambda}
	}
	return p, fit, nil
}

// keepTrain embeds the training rows and keeps a copy of their parts.
func (p *kernelPosterior) keepTrain(ctx context.Context, rows matrix.Dense[float64]) error {
	for _, width := range p.embedding.Widths() {
		p.train = append(p.train, matrix.New[float64](rows.Rows, width))
	}
	return kernel.OverBlocks(ctx, rows.Rows, func(from, to int) error {
		parts, err := p.embedding.Embed(ctx, rows.Slice(from, to))
		if err != nil {
			return err
		}
		for i, part := range parts {
			matrix.Copy(p.train[i].Slice(from, to), part)
		}
		return nil
	})
}

func (p *kernelPosterior) Inputs() int { return p.embedding.Inputs() }

func (p *kernelPosterior) Widths() []int {
	return slices.Concat(p.embedding.Widths(), []int{p.l.Rows})
}

func (p *kernelPosterior) Embed(ctx context.Context, rows matrix.Dense[float64]) ([]matrix.Dense[float64], error) {
	parts, err := p.embedding.Embed(ctx, rows)
	if err != nil {
		return nil, err
	}
	explained := p.explained.Matrix(rows.Rows, p.l.Rows)
	if err := p.prior.Cross(ctx, explained, parts, p.train); err != nil {
		return nil, err
	}
	if err := linalg.SolveLower(linalg.TeamOf(ctx), explained, linalg.Right, p.l, linalg.Trans); err != nil {
		return nil, err
	}
	return slices.Concat(parts, []matrix.Dense[float64]{explained}), nil
}
