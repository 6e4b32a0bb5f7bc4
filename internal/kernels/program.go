package kernels

// A kernel has a program for devices (package program) if all its parts can describe themselves; others are computed on
// the CPU.

import (
	"errors"

	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// described is an Embedding that can describe itself: it adds steps that compute its
// parts from the rows. If ok is false, what it added does not matter.
type described interface {
	Describe(p *program.Program, rows program.Value) (parts []program.Value, ok bool)
}

// describedMap is a Map that can describe itself.
type describedMap interface {
	Describe(p *program.Program, rows program.Value) (features program.Value, ok bool)
}

// DescribedTaps are Taps that can describe themselves.
type DescribedTaps interface {
	Describe(p *program.Program, rows program.Value, first int) (in, grad []program.Value, ok bool)
}

// ErrNoProgram means that a part of a kernel cannot describe itself.
var ErrNoProgram = errors.New("a part of the kernel is computed on the CPU only")

// ProgramOf returns the program of the features that Prepare would compute, and nil if
// Prepare would leave the rows as they are or compute factors instead.
func ProgramOf[T matrix.Float](k kernel.Kernel[T]) (*program.Program, error) {
	e, f := Decompose(k)
	if IsLinear(k) || !hasFewFeatures(e, f) {
		return nil, nil
	}
	p := &program.Program{}
	rows := p.New(program.ValueShape{Width: e.Inputs(), Double: program.IsDouble[T]()})
	var ok bool
	if p.Result, ok = describe(p, e, f, rows); !ok || p.Result == rows {
		return nil, ErrNoProgram
	}
	return p, nil
}

// DescribeMap adds the steps that compute the features of m.
func DescribeMap[T matrix.Float](p *program.Program, m kernel.FeatureMap[T], rows program.Value) (program.Value, bool) {
	e, f := Decompose[T](m)
	return describe(p, e, f, rows)
}

func describe[T matrix.Float](p *program.Program, e Embedding[T], f Form[T], rows program.Value) (program.Value, bool) {
	parts, ok := DescribeEmbedding(p, e, rows)
	if !ok {
		return program.None, false
	}
	return DescribeForm(p, f, parts)
}

// DescribeEmbedding adds the steps that compute the parts of rows.
func DescribeEmbedding[T matrix.Float](p *program.Program, e Embedding[T], rows program.Value) ([]program.Value, bool) {
	d, ok := e.(described)
	if !ok {
		return nil, false
	}
	return d.Describe(p, rows)
}

// DescribeForm adds the steps that compute the features of a form from its parts.
func DescribeForm[T matrix.Float](p *program.Program, f Form[T], parts []program.Value) (program.Value, bool) {
	switch f := f.(type) {
	case Dot[T], One[T]:
		return parts[0], true
	case Scaled[T]:
		of, ok := DescribeForm(p, f.Of, parts)
		if !ok {
			return program.None, false
		}
		to := p.New(p.Values[of])
		p.Add(program.Place{To: to, From: of, Factor: float64(f.root())})
		return to, true
	case *Product[T]:
		return f.describe(p, parts)
	case *Sum[T]:
		return f.describe(p, parts)
	}
	return program.None, false
}

func (s *Product[T]) describe(p *program.Program, parts []program.Value) (program.Value, bool) {
	if first := s.Forms[0]; s.restIsOne() {
		return DescribeForm(p, first, parts)
	}
	all, ok := describeForms(p, s.Forms, parts)
	if !ok {
		return program.None, false
	}
	done := all[0]
	for _, next := range all[1:] {
		to := p.New(program.ValueShape{Width: p.Values[done].Width * p.Values[next].Width, Double: p.Values[done].Double})
		p.Add(program.Outer{To: to, Left: done, Right: next})
		done = to
	}
	return done, true
}

func (s *Sum[T]) describe(p *program.Program, parts []program.Value) (program.Value, bool) {
	all, ok := describeForms(p, s.Forms, parts)
	if !ok {
		return program.None, false
	}
	if len(all) == 1 {
		return all[0], true
	}
	width := 0
	for _, v := range all {
		width += p.Values[v].Width
	}
	to, at := p.New(program.ValueShape{Width: width, Double: program.IsDouble[T]()}), 0
	for _, v := range all {
		p.Add(program.Place{To: to, From: v, At: at, Factor: 1})
		at += p.Values[v].Width
	}
	return to, true
}

// describeForms describes forms that take consecutive parts.
func describeForms[T matrix.Float](p *program.Program, forms []Form[T], parts []program.Value) ([]program.Value, bool) {
	all := make([]program.Value, len(forms))
	for i, f := range forms {
		var ok bool
		if all[i], ok = DescribeForm(p, f, parts[:f.Parts()]); !ok {
			return nil, false
		}
		parts = parts[f.Parts():]
	}
	return all, true
}

// Describe returns the rows.
func (e identity[T]) Describe(_ *program.Program, rows program.Value) ([]program.Value, bool) {
	return []program.Value{rows}, true
}

// Describe describes all embeddings.
func (e joined[T]) Describe(p *program.Program, rows program.Value) (parts []program.Value, ok bool) {
	for _, one := range e.of {
		more, ok := DescribeEmbedding(p, one, rows)
		if !ok {
			return nil, false
		}
		parts = append(parts, more...)
	}
	return parts, true
}

// Describe describes the map.
func (e *mapped[T]) Describe(p *program.Program, rows program.Value) ([]program.Value, bool) {
	d, ok := e.Map.(describedMap)
	if !ok {
		return nil, false
	}
	features, ok := d.Describe(p, rows)
	return []program.Value{features}, ok
}

// Describe describes the network.
func (e *tapped[T]) Describe(p *program.Program, rows program.Value) (parts []program.Value, ok bool) {
	d, ok := e.taps.(DescribedTaps)
	if !ok {
		return nil, false
	}
	in, grad, ok := d.Describe(p, rows, e.first)
	if !ok {
		return nil, false
	}
	for i, width := range e.grad {
		if width > 0 {
			parts, grad = append(parts, in[i], grad[0]), grad[1:]
			continue
		}
		one := p.New(program.ValueShape{Width: 1, Double: program.IsDouble[T]()})
		p.Add(program.Fill{To: one, Number: 1})
		parts = append(parts, in[i], one)
	}
	return parts, true
}

// Describe describes the map in float32 and converts its features.
func (m *float64Map) Describe(p *program.Program, rows program.Value) (program.Value, bool) {
	features, ok := DescribeMap(p, m.of, p.Converted(rows, false))
	if !ok {
		return program.None, false
	}
	return p.Converted(features, true), true
}

// Describe describes the network in float32 and converts its factors.
func (t *float64Taps) Describe(p *program.Program, rows program.Value, first int) (in, grad []program.Value, ok bool) {
	d, ok := t.of.(DescribedTaps)
	if !ok {
		return nil, nil, false
	}
	in, grad, ok = d.Describe(p, p.Converted(rows, false), first)
	for _, list := range [][]program.Value{in, grad} {
		for i, v := range list {
			list[i] = p.Converted(v, true)
		}
	}
	return in, grad, ok
}
