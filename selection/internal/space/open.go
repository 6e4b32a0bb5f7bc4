package space

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Source is where the rows of a problem come from, and what a method does with them. It has no
// methods of its own: code that fills one compiles nothing else.
type Source[T matrix.Float] struct {
	Pool, Train, Target matrix.Dense[T]
	Placed              place.DeviceFeatures[T] // the features of the pool, instead of Pool
	InFile              bool                    // Pool is mapped from a file
	Single              matrix.Dense[float32]   // the features of the pool in a file, instead of Pool
	Kernel              kernel.Kernel[T]        // nil: rows are features
	Weights             []float64               // of pool rows in the target distribution; nil: all 1
	Price               []float64               // of pool rows, to divide scores by; nil: scores stay as they are
	Use
}

// Use describes what a method does with rows.
type Use struct {
	Method   string // its name
	AnyUnit  bool   // its picks do not change if all features are multiplied by one number
	OnDevice bool   // it searches on a device, too
	NoKernel bool   // it uses no kernel
	ByDiag   bool   // it asks for nothing but Largest
	Moments  bool   // it asks for second moments, so that the first read of a file finds them, too

	Batch, Pending int  // rows to pick, and pending ones
	TrainSelected  bool // the training rows count as selected
	Plain          bool // compute everything for every row
}

// Open prepares the rows of a problem that has been checked. Ranks share the pool, unless nil.
// The instance for a precision does nothing but call the one function that has the code for
// it, so that callers do not compile that code again.
func Open[T matrix.Float](ctx context.Context, from Source[T], ranks *Network) (Rows, error) {
	switch from := any(from).(type) {
	case Source[float32]:
		return open32(ctx, from, ranks)
	case Source[float64]:
		return open64(ctx, from, ranks)
	}
	panic("space: there are two precisions")
}

//go:noinline
func open32(ctx context.Context, from Source[float32], ranks *Network) (Rows, error) {
	return open(ctx, from, ranks)
}

//go:noinline
func open64(ctx context.Context, from Source[float64], ranks *Network) (Rows, error) {
	return open(ctx, from, ranks)
}

func open[T matrix.Float](ctx context.Context, from Source[T], ranks *Network) (Rows, error) {
	s, err := newSpace(ctx, from, ranks)
	if from.NoKernel && err != nil {
		from.Kernel = nil
		if s, err = newSpace(ctx, from, ranks); err == nil {
			s.train = set[T]{} // without a kernel there are no distances from them
		}
	}
	if err != nil {
		return nil, err
	}
	s.place()
	return s, nil
}

// place puts the rows of the pool where the searches find them.
func (s *space[T]) place() {
	if s.ranks != nil {
		s.rows = newRankRows(s, s.ranks)
		return
	}
	rows := newMemoryRows(s, &s.pool, s.weights)
	rows.price = s.price
	s.rows = rows
	if d := place.DeviceOf(s.ctx); d != nil && !s.Plain {
		s.placeOn(d, rows)
	}
}

// shapeOf is that of a pool, wherever it is.
func shapeOf[T matrix.Float](from *Source[T]) matrix.Shape {
	if from.Placed != nil {
		return from.Placed.Shape()
	}
	if from.Single.Rows > 0 {
		return from.Single.Shape()
	}
	return from.Pool.Shape()
}
