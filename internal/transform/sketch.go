package transform

// Sketching (paper, equations "gaussian_sketch", "sum_sketch", "prod_sketch"),
// with independent standard normal matrices U:
//
//	a plain map       φ·U/√p
//	a sum             the sum of the sketches of its terms
//	a product of n    √p^{n−1} times the element-wise product of the sketches
//	                  of its factors
//
// Each is an unbiased estimate: the expected inner product of two sketched rows
// is their kernel. The features of a product are never formed.

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Sketch returns a map of p random features whose kernel is close to that of m.
// Numbers are drawn factor by factor, from the first to the last: for each
// factor, a matrix with a row for each of its dimensions and p columns.
//
// The factor 1 of the last layer of a gradient kernel is omitted, as the paper's
// footnote allows. Published sketches that factor, too, which raises the relative
// variance of a squared norm from 2/p to 8/p for the last-layer kernel.
func Sketch[T matrix.Float](m kernel.FeatureMap[T], p int, from kernel.Normals,
	v Variant) (kernel.FeatureMap[T], error) {
	if err := checkCount("sketch", "the number of features p", p); err != nil {
		return nil, err
	}
	e, f := kernels.Decompose[T](m)
	d := drawing[T]{p: p, from: from, variant: v}
	s := &sketch[T]{embedding: e, p: p}
	s.root = d.of(f, e.Widths(), 1)
	return kernel.NewFeatureMap[T](s), nil
}

// sketch is the feature map: its embedding computes the factors, and root
// sketches and combines them.
type sketch[T matrix.Float] struct {
	embedding kernels.Embedding[T]
	p         int
	root      node[T]
	levels    []level[T]
}

func (s *sketch[T]) Inputs() int { return s.embedding.Inputs() }
func (s *sketch[T]) Dim() int    { return s.p }

func (s *sketch[T]) Features(ctx context.Context, dst, rows matrix.Dense[T]) error {
	parts, err := s.embedding.Embed(ctx, rows)
	if err != nil {
		return err
	}
	return s.root.sketch(ctx, s, dst, parts, false, 0)
}

// level is scratch memory for the factors of a product. Every level of nested
// products has its own.
type level[T matrix.Float] struct{ left, right kernels.Scratch[T] }

func (s *sketch[T]) level(depth int) *level[T] {
	for len(s.levels) <= depth {
		s.levels = append(s.levels, level[T]{})
	}
	return &s.levels[depth]
}

// drawing draws the matrices of a sketch and builds its nodes.
type drawing[T matrix.Float] struct {
	p       int
	from    kernel.Normals
	variant Variant
}

// of returns the node for a form on parts of the given widths. It multiplies one
// of the matrices by factor, and thereby the features.
func (d drawing[T]) of(f kernels.Form[T], widths []int, factor float64) node[T] {
	switch f := f.(type) {
	case kernels.Scaled[T]:
		return d.of(f.Of, widths, factor*math.Sqrt(f.Factor))
	case *kernels.Sum[T]:
		return d.sum(f.Forms, widths, factor)
	case *kernels.Product[T]:
		return d.product(f.Forms, widths, factor)
	case kernels.SameLeaf[T]:
		return d.hashed(f, factor)
	}
	matrix := draw[T](d.from, f.Dim(widths), d.p, factor/math.Sqrt(float64(d.p)))
	switch f.(type) {
	case kernels.Dot[T], kernels.One[T]:
		return plain[T]{matrix}
	}
	return &expanded[T]{form: f, matrix: matrix}
}

func (d drawing[T]) sum(terms []kernels.Form[T], widths []int, factor float64) node[T] {
	var s sum[T]
	for _, f := range terms {
		n := f.Parts()
		s.terms = append(s.terms, child[T]{n, d.of(f, widths[:n], factor)})
		widths = widths[n:]
	}
	return s
}

func (d drawing[T]) product(factors []kernels.Form[T], widths []int, factor float64) node[T] {
	kept := 0
	for i, f := range factors {
		if d.keeps(f, i) {
			kept++
		}
	}
	factor *= math.Pow(float64(d.p), float64(kept-1)/2)
	var p product[T]
	for i, f := range factors {
		n := f.Parts()
		own := child[T]{parts: n}
		if d.keeps(f, i) {
			own.node = d.of(f, widths[:n], factor)
			factor = 1
		}
		p.factors = append(p.factors, own)
		widths = widths[n:]
	}
	return &p
}

// keeps reports whether factor i of a product is sketched. The first always is,
// so that at least one is left.
func (d drawing[T]) keeps(f kernels.Form[T], i int) bool {
	_, one := f.(kernels.One[T])
	return !one || d.variant == Published || i == 0
}
