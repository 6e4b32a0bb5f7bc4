package kernel

// Infinitely wide networks. What two rows become in layer l is jointly normal,
// and the same for all neurons, with a covariance that the layer before gives:
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
	"github.com/nextbatch/nextbatch/matrix"
)

// Wide describes an infinitely wide network.
type Wide struct {
	Inputs         int     // the width of a row, d
	Layers         int     // linear layers, the output among them: L
	SigmaW, SigmaB float64 // factors of weights and biases; SigmaB is 0 where biases start at zero
	// Activation is nil for ReLU, whose expectations have a closed form. Those
	// of other functions are computed by Gauss–Hermite quadrature.
	Activation Activation
}

// Activation returns the value and the slope of a function of one number.
type Activation func(z float64) (value, slope float64)

func (w Wide) check() error {
	if w.Inputs < 1 || w.Layers < 1 {
		return fmt.Errorf("a wide network with %d inputs and %d layers", w.Inputs, w.Layers)
	}
	if !(w.SigmaW > 0) || math.IsInf(w.SigmaW, 1) {
		return fmt.Errorf("σ_w is %v, which is not positive", w.SigmaW)
	}
	if !(w.SigmaB >= 0) || math.IsInf(w.SigmaB, 1) {
		return fmt.Errorf("σ_b is %v, which is negative or not finite", w.SigmaB)
	}
	return nil
}

// first returns k_1 from an inner product.
func (w Wide) first(dot float64) float64 {
	return w.SigmaW*w.SigmaW/float64(w.Inputs)*dot + w.SigmaB*w.SigmaB
}

// next returns k_{l+1} from an expectation.
func (w Wide) next(expectation float64) float64 {
	return w.SigmaW*w.SigmaW*expectation + w.SigmaB*w.SigmaB
}

func newWide[T matrix.Float](w Wide, tangent bool) (Kernel[T], error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	var d dual = arcCosine{}
	if w.Activation != nil {
		d = newSeries(w.Activation, tangent)
	}
	return Compose[T](&wideRows[T]{net: w, dual: d}, &wideForm[T]{net: w, dual: d, tangent: tangent}), nil
}

// dual computes the expectations of an activation function for one layer. It
// reads a state of each of two rows, which begins with a = k_l(x, x).
type dual interface {
	// size is the length of a state.
	size() int
	// prepare writes the state that belongs to a and returns E[φ(u)²].
	prepare(state []float64, a float64) float64
	// expect returns E[φ(u)φ(v)] and E[φ'(u)φ'(v)] for b = k_l(x, x').
	expect(x, y []float64, b float64) (value, slope float64)
}

// wideRows is the embedding of a wide network: the row itself, and its states in
// all layers but the last.
type wideRows[T matrix.Float] struct {
	net     Wide
	dual    dual
	scratch Scratch[T]
}

func (e *wideRows[T]) Inputs() int { return e.net.Inputs }

func (e *wideRows[T]) Widths() []int {
	return []int{e.net.Inputs, 1 + (e.net.Layers-1)*e.dual.size()}
}

func (e *wideRows[T]) Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error) {
	if err := CheckRows(ctx, rows, e.net.Inputs); err != nil {
		return nil, err
	}
	states := e.scratch.Matrix(rows.Rows, e.Widths()[1])
	linalg.TeamOf(ctx).Run(rows.Rows, &stateJob[T]{e, rows, states})
	return []matrix.Dense[T]{rows, states}, nil
}

// stateJob computes the states of rows. Its parts are rows.
type stateJob[T matrix.Float] struct {
	*wideRows[T]
	rows, states matrix.Dense[T]
}

// Do writes the states of one row, and k_L(x, x) as the first number.
func (j *stateJob[T]) Do(i, _ int) {
	norm := 0.0
	for _, v := range j.rows.Row(i) {
		norm += float64(v) * float64(v)
	}
	size, a := j.dual.size(), j.net.first(norm)
	state, dst := make([]float64, size), j.states.Row(i)
	for l := range j.net.Layers - 1 {
		a = j.net.next(j.dual.prepare(state, a))
		for k, v := range state {
			dst[1+l*size+k] = T(v)
		}
	}
	dst[0] = T(a)
}

// wideForm is the recursion over the layers for two rows, of the NNGP kernel or
// of the tangent kernel.
type wideForm[T matrix.Float] struct {
	NoFeatures[T]
	net     Wide
	dual    dual
	tangent bool
}

func (f *wideForm[T]) Parts() int { return 2 }

func (f *wideForm[T]) Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error {
	for i := range dst {
		dst[i] = rows[1].Row(i)[0]
	}
	if f.tangent {
		linalg.TeamOf(ctx).Run(len(dst), &wideDiagJob[T]{f, dst, rows[0], rows[1]})
	}
	return nil
}

func (f *wideForm[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	if err := (Dot[T]{}).Cross(ctx, dst, a[:1], b[:1]); err != nil {
		return err
	}
	linalg.TeamOf(ctx).Run((dst.Cols+chunkCols-1)/chunkCols, &wideCrossJob[T]{f, dst, a[1], b[1]})
	return nil
}

// of returns the kernel of two rows with the given states and inner product.
func (f *wideForm[T]) of(x, y []float64, dot float64) float64 {
	k := f.net.first(dot)
	theta, size := k, f.dual.size()
	for range f.net.Layers - 1 {
		value, slope := f.dual.expect(x[:size], y[:size], k)
		k = f.net.next(value)
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

// wideCrossJob turns inner products into kernels. Its parts are chunks of
// columns.
type wideCrossJob[T matrix.Float] struct {
	form *wideForm[T]
	dst  matrix.Dense[T]
	a, b matrix.Dense[T] // states
}

func (j *wideCrossJob[T]) Do(part, _ int) {
	from := part * chunkCols
	states := j.b.Slice(from, min(from+chunkCols, j.b.Rows))
	y := make([][]float64, states.Rows)
	for k := range y {
		y[k] = widened64(states.Row(k)[1:])
	}
	for i := range j.dst.Rows {
		x, dst := widened64(j.a.Row(i)[1:]), j.dst.Row(i)[from:]
		for k := range y {
			dst[k] = T(j.form.of(x, y[k], float64(dst[k])))
		}
	}
}

// wideDiagJob computes the tangent kernel of rows with themselves. Its parts are
// rows.
type wideDiagJob[T matrix.Float] struct {
	form         *wideForm[T]
	dst          []T
	rows, states matrix.Dense[T]
}

func (j *wideDiagJob[T]) Do(i, _ int) {
	x, norm := widened64(j.states.Row(i)[1:]), 0.0
	for _, v := range j.rows.Row(i) {
		norm += float64(v) * float64(v)
	}
	j.dst[i] = T(j.form.of(x, x, norm))
}

// widened64 returns the numbers in float64, without a copy if they are.
func widened64[T matrix.Float](row []T) []float64 {
	if same, ok := any(row).([]float64); ok {
		return same
	}
	wide := make([]float64, len(row))
	for i, v := range row {
		wide[i] = float64(v)
	}
	return wide
}
