package kernels

// Infinite-width networks. The values of a neuron of layer l for two rows are
// jointly normal, with a covariance that is the same for all neurons of the
// layer and follows from the layer before:
//
//	k_1(x, x')     = (σ_w²/d)·⟨x, x'⟩ + σ_b²
//	k_{l+1}(x, x') = σ_w²·E[φ(u)·φ(v)] + σ_b²,   (u, v) ~ N(0, [a b; b c])
//
// with a = k_l(x, x), b = k_l(x, x'), c = k_l(x', x'). The paper starts biases at
// zero and so takes σ_b = 0 (appendix "NNGP Kernel").

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// check reports a description of no network.
func check(n kernel.InfiniteNetwork) error {
	if n.Inputs < 1 || n.Layers < 1 {
		return fmt.Errorf("an infinite-width network with %d inputs and %d layers: both numbers must be positive", n.Inputs,
			n.Layers)
	}
	if !(n.SigmaW > 0) || math.IsInf(n.SigmaW, 1) {
		return fmt.Errorf("σ_w is %v, but must be positive and finite", n.SigmaW)
	}
	if !(n.SigmaB >= 0) || math.IsInf(n.SigmaB, 1) {
		return fmt.Errorf("σ_b is %v, but must be finite and at least 0", n.SigmaB)
	}
	return nil
}

// first returns k_1 from an inner product.
func first(n kernel.InfiniteNetwork, dot float64) float64 {
	return n.SigmaW*n.SigmaW/float64(n.Inputs)*dot + n.SigmaB*n.SigmaB
}

// next returns k_{l+1} from an expectation.
func next(n kernel.InfiniteNetwork, expectation float64) float64 {
	return n.SigmaW*n.SigmaW*expectation + n.SigmaB*n.SigmaB
}

func newInfinite[T matrix.Float](n kernel.InfiniteNetwork, tangent bool) (kernel.Kernel[T], error) {
	if err := check(n); err != nil {
		return nil, err
	}
	var d dual = arcCosine{}
	if n.Activation != nil {
		d = newSeries(n.Activation, tangent)
	}
	return Compose[T](&layerStates[T]{net: n, dual: d}, &layerRecursion[T]{net: n, dual: d, tangent: tangent}), nil
}

// dual computes the expectations of an activation function for one layer. It
// reads the states of two rows; a state begins with a = k_l(x, x).
type dual interface {
	// size is the length of a state.
	size() int
	// prepare writes the state for a and returns E[φ(u)²].
	prepare(state []float64, a float64) float64
	// expect returns E[φ(u)φ(v)] and E[φ'(u)φ'(v)] for b = k_l(x, x').
	expect(x, y []float64, b float64) (value, slope float64)
}

// layerStates is the embedding by an infinite-width network: the row itself, and
// its states in all layers but the last.
type layerStates[T matrix.Float] struct {
	net     kernel.InfiniteNetwork
	dual    dual
	scratch Scratch[T]
}

func (e *layerStates[T]) Inputs() int { return e.net.Inputs }

func (e *layerStates[T]) Widths() []int {
	return []int{e.net.Inputs, 1 + (e.net.Layers-1)*e.dual.size()}
}

func (e *layerStates[T]) Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error) {
	if err := kernel.CheckRows(ctx, rows, e.net.Inputs); err != nil {
		return nil, err
	}
	states := e.scratch.Matrix(rows.Rows, e.Widths()[1])
	linalg.TeamOf(ctx).Run(rows.Rows, &stateJob[T]{e, rows, states})
	return []matrix.Dense[T]{rows, states}, nil
}

// stateJob computes the states of rows. Each of its parts is one row.
type stateJob[T matrix.Float] struct {
	*layerStates[T]
	rows, states matrix.Dense[T]
}

// Do writes the states of one row, and k_L(x, x) as the first number.
func (j *stateJob[T]) Do(i, _ int) {
	norm := 0.0
	for _, v := range j.rows.Row(i) {
		norm += float64(v) * float64(v)
	}
	size, a := j.dual.size(), first(j.net, norm)
	state, dst := make([]float64, size), j.states.Row(i)
	for l := range j.net.Layers - 1 {
		a = next(j.net, j.dual.prepare(state, a))
		for k, v := range state {
			dst[1+l*size+k] = T(v)
		}
	}
	dst[0] = T(a)
}

// layerRecursion is the recursion over the layers for two rows, of the NNGP
// kernel or of the tangent kernel.
type layerRecursion[T matrix.Float] struct {
	NoFeatures[T]
	net     kernel.InfiniteNetwork
	dual    dual
	tangent bool
}

func (f *layerRecursion[T]) Parts() int { return 2 }

func (f *layerRecursion[T]) Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error {
	for i := range dst {
		dst[i] = rows[1].Row(i)[0]
	}
	if f.tangent {
		linalg.TeamOf(ctx).Run(len(dst), &recursionDiagJob[T]{f, dst, rows[0], rows[1]})
	}
	return nil
}

func (f *layerRecursion[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	if err := (Dot[T]{}).Cross(ctx, dst, a[:1], b[:1]); err != nil {
		return err
	}
	linalg.TeamOf(ctx).Run((dst.Cols+chunkCols-1)/chunkCols, &recursionCrossJob[T]{f, dst, a[1], b[1]})
	return nil
}

// of returns the kernel of two rows with the given states and inner product.
func (f *layerRecursion[T]) of(x, y []float64, dot float64) float64 {
	k := first(f.net, dot)
	theta, size := k, f.dual.size()
	for range f.net.Layers - 1 {
		value, slope := f.dual.expect(x[:size], y[:size], k)
		k = next(f.net, value)
		theta = f.net.SigmaW*f.net.SigmaW*theta*slope + k
		x, y = x[size:], y[size:]
	}
	if f.tangent {
		return theta
	}
	return k
}

// chunkCols is the number of columns that a thread takes at a time.
const chunkCols = 32

// recursionCrossJob turns inner products into kernel values. Each of its parts is
// a chunk of chunkCols columns.
type recursionCrossJob[T matrix.Float] struct {
	form *layerRecursion[T]
	dst  matrix.Dense[T]
	a, b matrix.Dense[T] // states
}

func (j *recursionCrossJob[T]) Do(part, _ int) {
	from := part * chunkCols
	states := j.b.Slice(from, min(from+chunkCols, j.b.Rows))
	y := make([][]float64, states.Rows)
	for k := range y {
		y[k] = toFloat64(states.Row(k)[1:])
	}
	for i := range j.dst.Rows {
		x, dst := toFloat64(j.a.Row(i)[1:]), j.dst.Row(i)[from:]
		for k := range y {
			dst[k] = T(j.form.of(x, y[k], float64(dst[k])))
		}
	}
}

// recursionDiagJob computes the tangent kernel of rows with themselves. Each of
// its parts is one row.
type recursionDiagJob[T matrix.Float] struct {
	form         *layerRecursion[T]
	dst          []T
	rows, states matrix.Dense[T]
}

func (j *recursionDiagJob[T]) Do(i, _ int) {
	x, norm := toFloat64(j.states.Row(i)[1:]), 0.0
	for _, v := range j.rows.Row(i) {
		norm += float64(v) * float64(v)
	}
	j.dst[i] = T(j.form.of(x, x, norm))
}

// toFloat64 returns the numbers in float64, without a copy if they already are.
func toFloat64[T matrix.Float](row []T) []float64 {
	if same, ok := any(row).([]float64); ok {
		return same
	}
	double := make([]float64, len(row))
	for i, v := range row {
		double[i] = float64(v)
	}
	return double
}
