package rng

import (
	"errors"
	"math"
	"sort"
)

// ErrNoWeight reports that a weighted draw has nothing to draw from: there are no
// weights, or all are zero.
var ErrNoWeight = errors.New("no positive weight to draw from")

// Weighted returns an index i with probability w[i] / (w[0] + w[1] + …); an
// index of weight zero is never returned. It draws one number from the stream.
//
// The error is a WeightError if a weight is negative, infinite or NaN, or if the
// sum overflows float64; it is ErrNoWeight if no weight is positive. On an error
// nothing is drawn.
func (s *Stream) Weighted(w []float64) (int, error) {
	Must("rng.Weighted", s)
	total, err := sum(w)
	if err != nil {
		return 0, err
	}
	return find(w, s.source.Float64()*total), nil
}

// Cumulate writes the running sums of weights to dst, for Cumulated. It returns
// the same errors as Weighted.
func Cumulate(dst, w []float64) error {
	_, err := cumulate(dst[:len(w)], w)
	return err
}

// Cumulated returns the index that Weighted would return, from the running sums of
// the weights, so that many draws take little more time than one.
func (s *Stream) Cumulated(sums []float64) int {
	Must("rng.Cumulated", s)
	total := sums[len(sums)-1]
	point := s.source.Float64() * total
	if i := sort.Search(len(sums), func(i int) bool { return sums[i] > point }); i < len(sums) {
		return i
	}
	return sort.SearchFloat64s(sums, total) // a point may round up to the total
}

func sum(w []float64) (float64, error) { return cumulate(nil, w) }

// cumulate returns the sum of the weights, and writes the running sums to dst
// unless dst is nil.
func cumulate(dst, w []float64) (float64, error) {
	total := 0.0
	for i, v := range w {
		if !(v >= 0) || math.IsInf(v, 1) {
			return 0, WeightError{Index: i, Weight: v}
		}
		if total += v; math.IsInf(total, 1) {
			return 0, WeightError{Index: i, Weight: v, Overflow: true}
		}
		if dst != nil {
			dst[i] = total
		}
	}
	if total == 0 {
		return 0, ErrNoWeight
	}
	return total, nil
}

// find returns the index whose share of the interval 0 … total contains the point.
// If the total is subnormal, a point may round up to it: it then belongs to the
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
