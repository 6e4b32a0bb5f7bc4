//go:build linux && (amd64 || arm64)

package cuda

// Features: a program.Program, run on blocks of rows. Only the result stays on the card, so
// the rows that the features come from may be larger than its memory.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/matrix"
)

// features are features on a card.
type features[T matrix.Float] struct {
	*queue
	shape matrix.Shape
	ld    int
	x     pointer
	kind  string
}

// Features32 implements place.Device.
func (c *Card) Features32(ctx context.Context, p *program.Program,
	rows matrix.Dense[float32]) (place.DeviceFeatures[float32], error) {
	return featuresIn(c, ctx, p, rows, "f32")
}

// Features64 implements place.Device.
func (c *Card) Features64(ctx context.Context, p *program.Program,
	rows matrix.Dense[float64]) (place.DeviceFeatures[float64], error) {
	return featuresIn(c, ctx, p, rows, "f64")
}

func featuresIn[T matrix.Float](c *Card, ctx context.Context, p *program.Program, rows matrix.Dense[T],
	kind string) (place.DeviceFeatures[T], error) {
	width := p.Values[p.Result].Width
	f := &features[T]{queue: c.newQueue(), shape: matrix.Shape{Rows: rows.Rows, Cols: width},
		ld: padded(width), kind: kind}
	f.x = f.alloc(rows.Rows * f.ld * sizeOf[T]())
	err := f.wait() // the memory has been cleared
	if err == nil {
		err = compute(c, ctx, p, rows, f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Compute implements network.Device.
func (c *Card) Compute(ctx context.Context, p *program.Program, dst, rows matrix.Dense[float64]) error {
	f, err := c.Features64(ctx, p, rows)
	if full := (*MemoryError)(nil); errors.As(err, &full) {
		full.Less = "use fewer networks"
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Fetch(dst, 0)
}

// On implements place.DeviceFeatures.
func (f *features[T]) On() place.Device { return f.card }

// Shape implements place.DeviceFeatures.
func (f *features[T]) Shape() matrix.Shape { return f.shape }

// Close implements place.DeviceFeatures.
func (f *features[T]) Close() { f.close() }

// Norms implements place.DeviceFeatures.
func (f *features[T]) Norms(dst []T) error {
	at, host := f.alloc(8*f.shape.Rows), make([]float64, f.shape.Rows)
	f.launch("norms_"+f.kind, f.pass(f.shape.Rows, 0), f.x, f.ld, f.shape.Rows, int32(0), at)
	err := fetch(f.queue, host, at)
	f.free(at)
	for i, v := range host {
		dst[i] = T(v)
	}
	return err
}

// Fetch implements place.DeviceFeatures.
func (f *features[T]) Fetch(dst matrix.Dense[T], first int) error {
	size := sizeOf[T]()
	each := max(1, stageBytes/(f.ld*size))
	for from := 0; from < dst.Rows; from += each {
		part := dst.Slice(from, min(from+each, dst.Rows))
		if err := fetchPart(f, part, f.x+pointer((first+from)*f.ld*size)); err != nil {
			return err
		}
	}
	return nil
}

// fetchPart copies a few rows.
func fetchPart[T matrix.Float](f *features[T], dst matrix.Dense[T], from pointer) error {
	if dst.Cols == f.ld && dst.Stride == f.ld {
		return fetch(f.queue, dst.Data[:dst.Rows*f.ld], from)
	}
	host := make([]T, dst.Rows*f.ld)
	if err := fetch(f.queue, host, from); err != nil {
		return err
	}
	for i := range dst.Rows {
		copy(dst.Row(i), host[i*f.ld:])
	}
	return nil
}

// mostBlockRows is the largest number of rows of a block, and blockBytes bounds the memory
// for its values: enough to keep the card busy.
const (
	mostBlockRows = 1 << 14
	blockBytes    = 2 << 30
)

// execution is a program in progress.
type execution struct {
	*queue
	program *program.Program
	values  []pointer
	by      []pointer // the constant of each step, or null
	rows    int       // of the present block
}

// compute runs a program on all rows. While the card computes a block, the next one is
// copied to it.
func compute[T matrix.Float](c *Card, ctx context.Context, p *program.Program, rows matrix.Dense[T],
	to *features[T]) error {
	r := &execution{queue: c.newQueue(), program: p, values: make([]pointer, len(p.Values)), by: make([]pointer,
		len(p.Steps))}
	defer r.close()
	if err := r.sendConstants(); err != nil {
		return err
	}
	block, inputs := r.place(rows.Rows)
	size := sizeOf[T]()
	if err := r.wait(); err != nil {
		return err
	}
	for turn, from := 0, 0; from < rows.Rows && r.err == nil; turn, from = turn+1, from+block {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if from == 0 {
			r.do(func() error { return copyRows(c, inputs[0], rows.Slice(0, min(block, rows.Rows))) })
		}
		r.rows = min(block, rows.Rows-from)
		r.values[0], r.values[p.Result] = inputs[turn%2], to.x+pointer(from*to.ld*size)
		for i, s := range p.Steps {
			r.step(s, r.by[i])
		}
		if next := from + block; next < rows.Rows {
			r.do(func() error { return copyRows(c, inputs[(turn+1)%2], rows.Slice(next, min(next+block, rows.Rows))) })
		}
		r.wait()
	}
	return r.err
}

// place allocates memory for the values of a block, and a second time for the inputs,
// all at once, because allocations take long. It returns the number of rows of a block.
func (r *execution) place(rows int) (block int, inputs [2]pointer) {
	perRow := bytesOf(r.program.Values[0])
	for _, v := range r.program.Values {
		perRow += bytesOf(v)
	}
	block = max(1, min(rows, mostBlockRows, int(min(blockBytes, r.card.Room()/2))/perRow))
	at := r.alloc(block * perRow)
	for i, v := range r.program.Values {
		r.values[i] = at
		at += pointer(block * bytesOf(v))
	}
	return block, [2]pointer{r.values[0], at}
}

// bytesOf is the size of a row, a multiple of 16.
func bytesOf(v program.ValueShape) int {
	if v.Double {
		return 8 * padded(v.Width)
	}
	return 4 * padded(v.Width)
}

// sendConstants copies the constants of all steps to the card.
func (r *execution) sendConstants() error {
	for i, s := range r.program.Steps {
		switch s := s.(type) {
		case program.Multiply:
			if s.By.Double.Rows > 0 {
				r.by[i] = sendRows(r.queue, s.By.Double)
			} else {
				r.by[i] = sendRows(r.queue, s.By.Single)
			}
		case program.Place:
			if s.Scales != nil {
				r.by[i] = sendRows(r.queue, matrix.View(1, len(s.Scales), s.Scales))
			}
		case program.Activate:
			if !slices.Contains(activations, s.Function) {
				return fmt.Errorf("%w: the activation %s", kernels.ErrNoProgram, s.Function)
			}
		}
	}
	return r.err
}

// activations are numbered as in features.cu.
var activations = []string{"relu", "silu", "tanh", "gelu", "selu", "elu", "leaky-relu", "softplus", "sigmoid"}

// step launches a step; by is its constant.
func (r *execution) step(s program.Step, by pointer) {
	switch s := s.(type) {
	case program.Multiply:
		r.multiply(s, by)
	case program.Place:
		from, to := r.value(s.From), r.value(s.To)
		r.launch("place_"+to.kind, r.columns(from.width), from.at, from.ld, int32(from.width), s.Factor, by,
			int32(s.At), to.at, to.ld)
	case program.Fill:
		to := r.value(s.To)
		r.launch("fill_column_"+to.kind, grid{x: (r.rows + 255) / 256, threads: 256}, to.at, to.ld,
			int32(r.rows), int32(s.At), s.Number)
	case program.Activate:
		from, to, slopes := r.value(s.From), r.value(s.To), pointer(0)
		if s.Slope != program.None {
			slopes = r.values[s.Slope]
		}
		r.launch("activate_"+to.kind, r.columns(from.width), int32(slices.Index(activations, s.Function)),
			from.at, from.ld, int32(from.width), s.Factor, to.at, to.ld, slopes)
	case program.Outer:
		left, right, to := r.value(s.Left), r.value(s.Right), r.value(s.To)
		r.launch("outer_"+to.kind, r.columns(to.width), left.at, left.ld, right.at, right.ld, int32(right.width),
			int32(to.width), to.at, to.ld)
	case program.Convert:
		from, to := r.value(s.From), r.value(s.To)
		r.launch("convert_to_"+to.kind, r.columns(to.width), from.at, from.ld, int32(to.width), to.at)
	case program.Likelihood:
		v, psi, to := r.value(s.Projections), r.value(s.Features), r.value(s.To)
		r.launch("likelihood_f64", grid{x: 1, y: r.rows, threads: 256}, v.at, v.ld, int32(v.width), psi.at, psi.ld,
			s.Log, s.Rate, s.Linear, s.Offset, s.Slope, to.at)
	default:
		r.do(func() error { return fmt.Errorf("%w: %T", kernels.ErrNoProgram, s) })
	}
}

func (r *execution) multiply(s program.Multiply, by pointer) {
	from, to, times := r.value(s.From), r.value(s.To), pointer(0)
	if s.Times != program.None {
		times = r.values[s.Times]
	}
	name, ld, tile := "product_", to.ld, 128
	if s.Transposed {
		name, ld = "product_transposed_", from.ld
	}
	if to.kind == "f64" {
		tile = 64
	}
	g := grid{x: (to.width + tile - 1) / tile, y: (r.rows + tile - 1) / tile, threads: 256}
	r.launch(name+to.kind, g, from.at, from.ld, int32(r.rows), by, ld, int32(to.width), int32(from.width),
		s.Factor, times, flag(s.Add), flag(s.Upper), to.at, to.ld)
}

func flag(set bool) int32 {
	if set {
		return 1
	}
	return 0
}

// columns is a grid with a thread for each column of each row of the block.
func (r *execution) columns(width int) grid {
	return grid{x: (width + 255) / 256, y: r.rows, threads: 256}
}

// located is a value on the card.
type located struct {
	at        pointer
	width, ld int
	kind      string
}

func (r *execution) value(v program.Value) located {
	shape := r.program.Values[v]
	l := located{at: r.values[v], width: shape.Width, ld: padded(shape.Width), kind: "f32"}
	if shape.Double {
		l.kind = "f64"
	}
	return l
}
