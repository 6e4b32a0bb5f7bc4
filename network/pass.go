package network

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// pass runs a block of rows through a network, forward and, if it was made for
// that, backward, in memory that it keeps. Layers count from 0:
//
//	z_l = x̃_l·W̃_l                         x̃_{l+1} = [scale_{l+1}·φ(z_l), σ_b]
//	g_l = scale_{l+1}·(g_{l+1}·W_{l+1}ᵀ) ⊙ φ'(z_l)   for any g of the output
//
// All work is cut along rows of the result, so no number depends on the threads.
type pass struct {
	net  *MLP
	team *linalg.Team // that does the work; the caller of newPass sets it
	set  *simd.Set[Real]
	n    int // rows of the present block

	in    []matrix.Dense[Real] // x̃_l, one for each layer
	out   matrix.Dense[Real]   // z of the last layer
	slope []matrix.Dense[Real] // φ'(z_l) of the hidden layers; scratch rows if never needed again
	grad  []matrix.Dense[Real] // g_l, one for each layer; nil in a pass that only runs forward

	// dead is the number of leading columns of g_l, and of x̃_{l+1}, that are
	// known to be zero: none if the activity is not tracked (nil).
	dead     []int
	activity *activity

	activate activate
	bend     bend
	product  rowProducts
	outer    outerProducts
	load     loadRows
}

// forwardBlock is the number of rows that callers run forward together: enough that
// packing the weights takes a negligible share of the time.
const forwardBlock = 1024

// newForward returns a pass for up to rows rows at a time that only runs forward.
func newForward(net *MLP, rows int) *pass {
	p := newPass(net, rows)
	if net.architecture.Activation.slopeFromOutput() {
		return p
	}
	for l := range p.slope {
		// One row for each thread: the product needs somewhere to write.
		p.slope[l] = padded(linalg.Slots(), net.sizes[l+1])
	}
	return p
}

// newBackward returns a pass for up to rows rows at a time that runs both ways.
func newBackward(net *MLP, rows int) *pass {
	p := newPass(net, rows)
	p.activate.keep = true
	for l := range p.slope {
		p.grad = append(p.grad, padded(rows, net.sizes[l+1]))
	}
	p.grad = append(p.grad, matrix.New[Real](rows, net.Outputs())) // without padding, as the output
	if net.architecture.Activation.slopeFromOutput() {
		return p
	}
	for l := range p.slope {
		p.slope[l] = padded(rows, net.sizes[l+1])
	}
	return p
}

func newPass(net *MLP, rows int) *pass {
	p := &pass{net: net, set: simd.For[Real](), slope: make([]matrix.Dense[Real], net.Layers()-1),
		dead: make([]int, net.Layers())}
	for l := range net.Layers() {
		in := padded(rows, net.sizes[l]+1)
		for i := range rows {
			in.Set(i, net.sizes[l], Real(*net.architecture.SigmaB))
		}
		p.in = append(p.in, in)
	}
	// The output is often a single column: without padding it is a vector.
	p.out = matrix.New[Real](rows, net.Outputs())
	return p
}

// padded returns a matrix whose rows start at whole vectors, and not at
// distances of 4 KiB, which would all fall into the same cache lines.
func padded(rows, cols int) matrix.Dense[Real] {
	var zero Real
	stride := roundUp(cols)
	if stride*int(unsafe.Sizeof(zero))%4096 == 0 {
		stride += alignment
	}
	return matrix.Dense[Real]{Rows: rows, Cols: cols, Stride: stride, Data: matrix.Alloc[Real](rows * stride)}
}

// inputs makes the given rows of x the present block; nil means all rows of x.
func (p *pass) inputs(x matrix.Dense[Real], rows []int) {
	p.n = len(rows)
	if rows == nil {
		p.n = x.Rows
	}
	p.load = loadRows{p.set, p.in[0].Slice(0, p.n), x, rows, p.net.scale(0)}
	p.team.Run(ceilDiv(p.n, piece), &p.load)
}

// trackActivity makes the pass record which columns of g_l are zero, if the
// activation is one for which they often are.
func (p *pass) trackActivity() {
	if p.net.architecture.Activation.slopeFromOutput() {
		p.activity = newActivity(p.net.sizes, linalg.Slots())
	}
}

// forward computes all layers for the present block and returns z of the last.
func (p *pass) forward() matrix.Dense[Real] {
	p.allHidden()
	return p.output()
}

func (p *pass) allHidden() {
	for l := range p.net.Layers() - 1 {
		p.hidden(l)
	}
}

// output computes the last layer.
func (p *pass) output() matrix.Dense[Real] {
	x, w := p.operands(p.net.Layers() - 1)
	z := p.out.Slice(0, p.n)
	if w.Cols == 1 {
		p.product = rowProducts{p.set, z.Data, x, w.Data}
		p.team.Run(ceilDiv(p.n, piece), &p.product)
	} else {
		linalg.GemmSplit(p.team, z, 1, x, linalg.NoTrans, w, linalg.NoTrans, 0, nil)
	}
	return z
}

// features returns x̃ of the last layer for the present block, after forward.
func (p *pass) features() matrix.Dense[Real] { return p.in[len(p.in)-1].Slice(0, p.n) }

// operands returns x̃_l for the present block and W̃_l, without leading columns
// of x̃_l that are zero, and the rows of W̃_l that they meet.
func (p *pass) operands(l int) (x, w matrix.Dense[Real]) {
	x, w = p.in[l].Slice(0, p.n), p.net.layer(p.net.parameters, l)
	if l == 0 {
		return x, w
	}
	skip := p.dead[l-1]
	return x.Block(0, p.n, skip, x.Cols), w.Slice(skip, w.Rows)
}

// hidden computes hidden layer l: the input of layer l+1.
func (p *pass) hidden(l int) {
	x, w := p.operands(l)
	z := p.in[l+1].Block(0, p.n, 0, w.Cols)
	a := &p.activate
	a.function, a.set, a.z, a.slope = p.net.architecture.Activation, p.set, z, p.slope[l]
	alpha := Real(1)
	a.scale = p.net.scale(l + 1)
	if a.function == ReLU { // relu(c·z) = c·relu(z): the product scales for free
		alpha, a.scale = a.scale, 1
	}
	if p.activity != nil {
		a.sums, a.used = p.activity.sums[l], p.activity.used[l]
	}
	linalg.GemmSplit(p.team, z, alpha, x, linalg.NoTrans, w, linalg.NoTrans, 0, a)
	if p.activity != nil {
		p.dead[l] = p.activity.dead(l, p.set.TileCols())
	}
}

// backward computes g of layer l-1 from g of layer l, for the present block.
func (p *pass) backward(l int) {
	g, w := p.gradient(l), p.bendBelow(l)
	if w.Cols == 1 && w.Stride == 1 {
		p.outer = outerProducts{&p.bend, g, w.Data, p.net.scale(l)}
		p.team.Run(ceilDiv(p.n, piece), &p.outer)
		return
	}
	linalg.GemmSplit(p.team, p.bend.g, p.net.scale(l), g, linalg.NoTrans, w, linalg.Trans, 0, &p.bend)
}

// bendBelow prepares the bend of g of layer l-1 and returns the weights of layer
// l that it is made with.
func (p *pass) bendBelow(l int) (w matrix.Dense[Real]) {
	skip, width := p.dead[l-1], p.net.sizes[l]
	p.bend = bend{set: p.set, g: p.gradient(l - 1)}
	if p.net.architecture.Activation.slopeFromOutput() {
		p.bend.output = p.in[l].Block(0, p.n, skip, width)
	} else {
		p.bend.slope = p.slope[l-1].Block(0, p.n, skip, width)
	}
	return p.net.Weights(l).Block(skip, width, p.dead[l], p.net.sizes[l+1])
}

// gradient returns g_l for the present block, without leading columns that are
// zero.
func (p *pass) gradient(l int) matrix.Dense[Real] {
	return p.grad[l].Block(0, p.n, p.dead[l], p.grad[l].Cols)
}
