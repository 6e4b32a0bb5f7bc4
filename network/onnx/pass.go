package onnx

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// step is one operation of a graph. It reads values and writes one; all of them are
// matrices with one row per row of the block. Steps are shared by all passes: what
// belongs to a block is in the pass, under the number of the step.
type step interface {
	reads() []int
	writes() int
	// prepare allocates what the step keeps for a block of the given number of rows.
	prepare(p *pass, id, rows int)
	forward(p *pass, id int)
	// backward adds the gradient of the value that the step wrote, times the
	// derivative of the step, to the gradients of the values that it read.
	backward(p *pass, id int)
}

// pass runs a block of rows through a graph, forward and, if it was made for that,
// backward, in memory that it keeps. All work is cut along rows, so no number depends
// on the number of threads.
type pass struct {
	net  *Network
	team *linalg.Team
	set  *simd.Set[float32]
	rows int // at most, of a block
	n    int // of the current block

	value []matrix.Dense[float32] // by value
	grad  []matrix.Dense[float32] // by value; empty in a pass that only runs forward
	has   []bool                  // by value: its gradient has been written

	in     []matrix.Dense[float32] // by step: x̃ of a layer
	aux    []matrix.Dense[float32] // by step: slopes, standardised inputs
	first  int                     // the first layer whose factors are wanted
	output int                     // whose gradient is computed

	scratch matrix.Dense[float32] // a row for each thread
	missing lookupError           // the first row that an embedding does not have
}

// piece is the number of rows that a thread takes at a time.
const piece = 32

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// padded returns a matrix whose rows start at whole vectors, but not a multiple of
// 4 KiB apart: such rows would compete for the same cache lines.
func padded(rows, cols int) matrix.Dense[float32] {
	const alignment, page = 16, 4096
	stride := (cols + alignment - 1) / alignment * alignment
	if stride*int(unsafe.Sizeof(float32(0)))%page == 0 {
		stride += alignment
	}
	return matrix.Dense[float32]{Rows: rows, Cols: cols, Stride: stride, Data: matrix.Alloc[float32](rows * stride)}
}

// newPass returns a pass for blocks of at most the given number of rows.
func newPass(net *Network, rows int, backward bool) *pass {
	p := &pass{net: net, rows: rows, set: simd.For[float32]()}
	p.value = make([]matrix.Dense[float32], len(net.widths))
	p.in, p.aux = make([]matrix.Dense[float32], len(net.steps)), make([]matrix.Dense[float32], len(net.steps))
	widest := 1
	if backward {
		p.grad, p.has = make([]matrix.Dense[float32], len(net.widths)), make([]bool, len(net.widths))
	}
	for id, s := range net.steps {
		y := s.writes()
		p.value[y] = padded(rows, net.widths[y])
		if backward && net.upstream[y] >= 0 {
			p.grad[y] = padded(rows, net.widths[y])
		}
		widest = max(widest, net.widths[y])
		for _, x := range s.reads() {
			widest = max(widest, net.widths[x])
		}
		s.prepare(p, id, rows)
	}
	p.scratch = padded(linalg.Slots(), widest)
	return p
}

// keeps reports whether the pass will run backward, so that slopes must be kept.
func (p *pass) keeps() bool { return p.grad != nil }

// forward runs the rows through the graph. Rows of the inputs are read in place.
func (p *pass) forward(rows matrix.Dense[float32]) {
	p.n, p.missing = rows.Rows, lookupError{}
	for v, at := range p.net.inputs {
		p.value[v] = rows.Block(0, rows.Rows, at, at+p.net.widths[v])
	}
	for id, s := range p.net.steps {
		s.forward(p, id)
	}
}

// backward computes the gradients of one column of the kernel's output, as far as the
// layers from first on need them.
func (p *pass) backward(first, output int) {
	p.first, p.output = first, output
	clear(p.has)
	top := p.grad[p.net.top]
	p.has[p.net.top] = true
	for i := range p.n {
		clear(top.Row(i))
		top.Set(i, output, 1)
	}
	for id := len(p.net.steps) - 1; id >= 0; id-- {
		s := p.net.steps[id]
		if y := s.writes(); p.has[y] && p.net.upstream[y] >= first {
			s.backward(p, id)
		}
	}
}

// wants reports whether the gradient of a value is needed.
func (p *pass) wants(v int) bool { return p.net.upstream[v] >= p.first }

// x returns a value of the current block.
func (p *pass) x(v int) matrix.Dense[float32] { return p.value[v].Slice(0, p.n) }

// g returns the gradient of a value of the current block.
func (p *pass) g(v int) matrix.Dense[float32] { return p.grad[v].Slice(0, p.n) }

// claim returns the factor of what the gradient of a value already holds: 0 for its
// first term.
func (p *pass) claim(v int) float32 {
	if p.has[v] {
		return 1
	}
	p.has[v] = true
	return 0
}

// each calls f for every row of the block, on several threads, with a scratch row of
// the thread's.
func (p *pass) each(f func(i int, scratch []float32)) {
	p.team.Run(ceilDiv(p.n, piece), &rowJob{p, f})
}

type rowJob struct {
	pass *pass
	f    func(i int, scratch []float32)
}

func (j *rowJob) Do(part, slot int) {
	for i := part * piece; i < min((part+1)*piece, j.pass.n); i++ {
		j.f(i, j.pass.scratch.Row(slot))
	}
}

// propagate adds a gradient to that of value x, row by row: term writes that of row i.
func (p *pass) propagate(x int, term func(dst []float32, i int)) {
	if !p.wants(x) {
		return
	}
	g, keep := p.g(x), p.claim(x)
	p.each(func(i int, scratch []float32) {
		to := g.Row(i)
		if keep == 0 {
			term(to, i)
			return
		}
		scratch = scratch[:len(to)]
		term(scratch, i)
		p.set.Axpy(to, scratch, 1)
	})
}
