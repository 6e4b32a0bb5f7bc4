package rng

import (
	"errors"
	"math"
)

// ErrNoWeight says that a weighted draw has nothing to draw from: there are no
// weights, or all are zero.
var ErrNoWeight = errors.New("no positive weight to draw from")

// Weighted returns an index i with probability w[i] / (w[0] + w[1] + …); an
// index of weight zero is never returned. It draws one number from the stream.
//
// The error is a WeightError for a weight that is negative, infinite or NaN,
// or for a sum beyond the range of float64; it is ErrNoWeight where no weight is
// positive. On an error nothing is drawn.
func (s *Stream) Weighted(w []float64) (int, error) {
	Must("rng.Weighted", s)
	total, err := sum(w)
	if err != nil {
		return 0, err
	}
	return find(w, s.source.Float64()*total), nil
}

func sum(w []float64) (float64, error) {
	total := 0.0
	for i, v := range w {
		if !(v >= 0) || math.IsInf(v, 1) {
			return 0, WeightError{Index: i, Weight: v}
		}
		if total += v; math.IsInf(total, 1) {
			return 0, WeightError{Index: i, Weight: v, Overflow: true}
		}
	}
	if total == 0 {
		return 0, ErrNoWeight
	}
	return total, nil
}

// find returns the index in whose share of the line 0 … total the point lies.
// A point may round up to the total where that is subnormal: it belongs to the
// last share that is not empty.
func find(w []float64, point float64) int {
	reached, last := 0.0, 0
	for i, v := range w {
		if v == 0 {
			continue
		}
		if reached += v; point < reached {
			return i
		}
		last = i
	}
	return last
}
