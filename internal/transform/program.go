package transform

// Programs of the transformations, for devices (kernel/program.go).

import (
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/program"
)

// Describe adds the steps of the embedding and of the sketch.
func (s *sketch[T]) Describe(p *program.Program, rows program.Value) (program.Value, bool) {
	parts, ok := kernels.DescribeEmbedding(p, s.embedding, rows)
	if !ok {
		return program.None, false
	}
	to := p.New(program.ValueShape{Width: s.p, Double: program.IsDouble[T]()})
	return to, s.root.describe(p, to, parts, program.None, false)
}

func (n plain[T]) describe(p *program.Program, to program.Value, parts []program.Value,
	times program.Value, add bool) bool {
	p.Add(program.Multiply{To: to, From: parts[0], By: program.ConstantOf(n.matrix), Factor: 1, Times: times, Add: add})
	return true
}

func (n *expanded[T]) describe(p *program.Program, to program.Value, parts []program.Value,
	times program.Value, add bool) bool {
	features, ok := kernels.DescribeForm(p, n.form, parts)
	if !ok {
		return false
	}
	return plain[T]{n.matrix}.describe(p, to, []program.Value{features}, times, add)
}

func (n sum[T]) describe(p *program.Program, to program.Value, parts []program.Value,
	times program.Value, add bool) bool {
	for _, c := range n.terms {
		if !c.node.describe(p, to, parts, times, add) {
			return false
		}
		parts, add = parts[c.parts:], true
	}
	return true
}

// describe multiplies each factor by those before it.
func (n *product[T]) describe(p *program.Program, to program.Value, parts []program.Value,
	times program.Value, add bool) bool {
	last := n.last()
	for i, c := range n.factors[:last+1] {
		own := parts[:c.parts]
		parts = parts[c.parts:]
		if c.node == nil {
			continue
		}
		next, addNext := to, add
		if i < last {
			next, addNext = p.New(p.Values[to]), false
		}
		if !c.node.describe(p, next, own, times, addNext) {
			return false
		}
		times = next
	}
	return true
}

// Describe adds the steps of the prior features and a product with L^{-T}.
func (p *featurePosterior) Describe(to *program.Program, rows program.Value) (program.Value, bool) {
	prior, ok := kernels.DescribeMap(to, p.of, rows)
	if !ok {
		return program.None, false
	}
	return p.describe(to, prior), true
}

func (p *featurePosterior) describe(to *program.Program, prior program.Value) program.Value {
	after := to.New(program.ValueShape{Width: p.Dim(), Double: true})
	to.Add(program.Multiply{To: after, From: prior, By: program.ConstantOf(p.lower), Transposed: true, Upper: true,
		Factor: p.factor, Times: program.None})
	return after
}

// Describe adds the steps of the prior features and of their posterior.
func (e *withPosterior) Describe(p *program.Program, rows program.Value) ([]program.Value, bool) {
	prior, ok := kernels.DescribeMap(p, e.posterior.of, rows)
	if !ok {
		return nil, false
	}
	return []program.Value{prior, e.posterior.describe(p, prior)}, true
}

// Describe adds the steps of the posterior, its projections and their likelihoods.
func (r *randomFeatures) Describe(p *program.Program, rows program.Value) (program.Value, bool) {
	features, ok := r.posterior.Describe(p, rows)
	if !ok {
		return program.None, false
	}
	shape := program.ValueShape{Width: r.Dim(), Double: true}
	projections, to := p.New(shape), p.New(shape)
	p.Add(program.Multiply{To: projections, From: features, By: program.ConstantOf(r.normals),
		Factor: 1, Times: program.None})
	l := r.log
	p.Add(program.Likelihood{To: to, Projections: projections, Features: features,
		Log: l.log / l.over, Rate: l.rate, Linear: l.linear / l.over, Offset: l.offset / l.over, Slope: l.slope / l.over})
	return to, true
}
