package kernel

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// DistanceError says how far the distances of one kernel,
//
//	d(x, x') = √(k(x, x) + k(x', x') − 2·k(x, x')),
//
// are from those of another (paper, equations "kernel_distance" and
// "eps_isometry"), over pairs of rows.
type DistanceError struct {
	Pairs          int     // pairs of rows that are not alike
	Mean, RMS, Max float64 // of |d̂/d − 1|: the mean, the root of the mean square, the largest
}

// CompareDistances measures the distances of all pairs of the rows, which are a
// sample, under an approximate kernel such as a sketch. Pairs that the exact
// kernel cannot tell apart from equal rows are left out; if no others are there
// it is an error.
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
		return DistanceError{}, fmt.Errorf("no two of the %d rows have a distance", rows.Rows)
	}
	e.Mean /= float64(e.Pairs)
	e.RMS = math.Sqrt(e.RMS / float64(e.Pairs))
	return e, nil
}

// squaredDistances returns d² of all pairs, and 0 where rounding leaves nothing
// of it.
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

// epsilon is the distance from 1 to the next number.
func epsilon[T matrix.Float]() float64 {
	one := T(1)
	if one+T(1e-10) == one {
		return 0x1p-23
	}
	return 0x1p-52
}
