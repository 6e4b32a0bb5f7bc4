package kernel

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// DistanceError measures how far the distances of one kernel,
//
//	d(x, x') = √(k(x, x) + k(x', x') − 2·k(x, x')),
//
// are from those of another (paper, equations "kernel_distance" and
// "eps_isometry"), over pairs of rows.
type DistanceError struct {
	Pairs          int     // pairs of rows at a positive distance
	Mean, RMS, Max float64 // mean, root mean square and maximum of |d̂/d − 1|
}

// CompareDistances measures how well an approximate kernel, such as a sketch,
// preserves the distances between all pairs of the given rows, a sample. It
// leaves out pairs that the exact kernel cannot distinguish from equal rows; if
// there are no others, it returns an error.
func CompareDistances[T matrix.Float](ctx context.Context, approximate, exact Kernel[T], rows matrix.Dense[T]) (DistanceError, error) {
	near, err := squaredDistances(ctx, approximate, rows)
	if err != nil {
		return DistanceError{}, err
	}
	far, err := squaredDistances(ctx, exact, rows)
	if err != nil {
		return DistanceError{}, err
	}
	var e DistanceError
	for i := range rows.Rows {
		for j := range i {
			if far.At(i, j) == 0 {
				continue
			}
			relative := math.Abs(math.Sqrt(near.At(i, j)/far.At(i, j)) - 1)
			e.Pairs++
			e.Mean += relative
			e.RMS += relative * relative
			e.Max = max(e.Max, relative)
		}
	}
	if e.Pairs == 0 {
		return DistanceError{}, fmt.Errorf("no two of the %d rows differ under the exact kernel", rows.Rows)
	}
	e.Mean /= float64(e.Pairs)
	e.RMS = math.Sqrt(e.RMS / float64(e.Pairs))
	return e, nil
}

// squaredDistances returns d² of all pairs, and 0 where it is no larger than
// rounding errors.
func squaredDistances[T matrix.Float](ctx context.Context, k Kernel[T], rows matrix.Dense[T]) (matrix.Dense[float64], error) {
	diag := make([]T, rows.Rows)
	if err := k.Diag(ctx, diag, rows); err != nil {
		return matrix.Dense[float64]{}, err
	}
	cross := matrix.New[T](rows.Rows, rows.Rows)
	if err := k.Cross(ctx, cross, rows, rows); err != nil {
		return matrix.Dense[float64]{}, err
	}
	squared := matrix.Converted[float64](cross)
	for i := range squared.Rows {
		row := squared.Row(i)
		for j, v := range row {
			sum := float64(diag[i]) + float64(diag[j])
			row[j] = sum - 2*v
			if row[j] < 100*epsilon[T]()*sum {
				row[j] = 0
			}
		}
	}
	return squared, nil
}

// epsilon is the distance from 1 to the next larger number.
func epsilon[T matrix.Float]() float64 {
	one := T(1)
	if one+T(1e-10) == one {
		return 0x1p-23
	}
	return 0x1p-52
}
