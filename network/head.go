package network

import "github.com/nextbatch/nextbatch/matrix"

// head is the last layer of a network with a single output in a step of
// training, in one pass over the rows of the mini-batch while they are in the
// cache: output, residual, g of the layer below, and the gradient of the weights.
//
//	z_i = x̃_i·w̃      g_i = 2·c_i·(z_i - y_i)/n      ∂loss/∂w̃ = Σ_i g_i·x̃_i
//
// where c_i is how much the label counts. The sums run over pieces of rows, which are added up in their order.
type head struct {
	pass   *pass
	labels matrix.Dense[Real]
	counts matrix.Dense[Real] // how much each label counts; empty: all alike
	rows   []int              // of the labels, those of the mini-batch

	x, g  matrix.Dense[Real] // x̃ of the last layer and its g
	w     []Real
	outer outerProducts // to the layer below, if there is one

	sums   matrix.Dense[Real] // of each piece: the gradient of the weights
	losses []float64          // and the squared residuals
}

func newHead(p *pass, d Data, batch int) *head {
	pieces := ceilDiv(batch, piece)
	return &head{pass: p, labels: d.Y, counts: d.Weights, losses: make([]float64, pieces),
		sums: padded(pieces, p.net.sizes[p.net.Layers()-1]+1)}
}

// run makes the step of the last layer and returns the loss before it.
func (h *head) run(rows []int, adam *adam) (loss float64) {
	p, last := h.pass, h.pass.net.Layers()-1
	h.rows, h.x, h.g = rows, p.in[last].Slice(0, p.n), p.gradient(last)
	h.w = p.net.layer(p.net.parameters, last).Data
	if last > 0 {
		h.outer = outerProducts{&p.bend, h.g, p.bendBelow(last).Data, p.net.scale(last)}
	}
	p.team.Run(ceilDiv(p.n, piece), h)
	return h.finish(adam, last)
}

func (h *head) Do(part, _ int) {
	set, factor := h.pass.set, 2/Real(len(h.rows))
	from, to := part*piece, min((part+1)*piece, len(h.rows))
	sum := h.sums.Row(part)
	clear(sum)
	h.losses[part] = 0
	z := h.pass.out.Data[from:to]
	set.DotRows(z, h.w, h.x.Slice(from, to).Data, h.x.Stride)
	for i := from; i < to; i++ {
		r := z[i-from] - h.labels.At(h.rows[i], 0)
		weighted := r
		if h.counts.Rows > 0 {
			weighted *= h.counts.At(h.rows[i], 0)
		}
		h.losses[part] += float64(r) * float64(weighted)
		h.g.Set(i, 0, factor*weighted)
		set.Axpy(sum, h.x.Row(i), factor*weighted)
		if h.outer.bend != nil {
			h.outer.row(i)
		}
	}
}

// finish adds up the pieces and applies the step of Adam to the weights.
func (h *head) finish(adam *adam, last int) (loss float64) {
	net := h.pass.net
	gradient := net.layer(adam.gradient, last).Data
	clear(gradient)
	for part := range ceilDiv(len(h.rows), piece) {
		h.pass.set.Axpy(gradient, h.sums.Row(part), 1)
		loss += h.losses[part]
	}
	adam.update(net.offsets[last], net.offsets[last]+len(gradient))
	return loss / float64(len(h.rows))
}
