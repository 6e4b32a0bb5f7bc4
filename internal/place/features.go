package place

// Features on a device. A device that selects from features can also compute them: then
// they stay where they are, and only a few rows of them come to this process.

import (
	"context"
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// DeviceFeatures are features of rows in the memory of a device. One goroutine at a time
// uses them.
type DeviceFeatures[T matrix.Float] interface {
	// On returns the device.
	On() Device
	// Shape is the number of rows and of features.
	Shape() matrix.Shape
	// Norms writes the squared norm of each row.
	Norms(dst []T) error
	// Fetch copies as many rows as dst has, from first on.
	Fetch(dst matrix.Dense[T], first int) error
	// Close frees the memory of the device.
	Close()
}

// Embed computes the features of rows on the device of the context and leaves them there.
// It returns nil if the context has no device, or if kernels.Prepare would not compute
// features. It returns nil and a note if it would, but the device cannot. The
// context is checked once per block of rows.
func Embed[T matrix.Float](ctx context.Context, k kernel.Kernel[T],
	rows matrix.Dense[T]) (f DeviceFeatures[T], note string, err error) {
	d := DeviceOf(ctx)
	if d == nil {
		return nil, "", nil
	}
	p, err := kernels.ProgramOf(k)
	if p == nil && err == nil {
		return nil, "", nil
	}
	if err == nil {
		if err := kernel.CheckRows(ctx, rows, k.Inputs()); err != nil {
			return nil, "", err
		}
		f, err = featuresOn(ctx, d, p, rows)
	}
	if errors.Is(err, kernels.ErrNoProgram) {
		//warning:on-the-cpu
		return nil, fmt.Sprintf("the features were computed on the CPU, not on %s: %v", d.Name(), err), nil
	}
	if err != nil && ctx.Err() == nil {
		return nil, "", FailedOn(d, err)
	}
	return f, "", err
}

func featuresOn[T matrix.Float](ctx context.Context, d Device, p *program.Program,
	rows matrix.Dense[T]) (f DeviceFeatures[T], err error) {
	var of any
	switch rows := any(rows).(type) {
	case matrix.Dense[float32]:
		of, err = d.Features32(ctx, p, rows)
	case matrix.Dense[float64]:
		of, err = d.Features64(ctx, p, rows)
	}
	if err != nil {
		return nil, err
	}
	return of.(DeviceFeatures[T]), nil
}

// Fetched copies features from their device.
func Fetched[T matrix.Float](f DeviceFeatures[T]) (matrix.Dense[T], error) {
	rows := matrix.New[T](f.Shape().Rows, f.Shape().Cols)
	return rows, FailedOn(f.On(), f.Fetch(rows, 0))
}
