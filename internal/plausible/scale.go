package plausible

import (
	"math"
	"sort"
)

// Labels such as concentrations, counts and titres spread over magnitudes: on their own scale, most of them lie in a
// corner, and right ones lie far outside of everything. They are compared on a logarithmic scale, on which they are
// even. How far labels spread is the ratio of the 95 % quantile of the sizes of those that are not zero to their
// median. Where most are zero, few others do not tell.
const (
	spread       = 4.0 // from which on labels of one sign have a logarithmic scale
	spreadCounts = 2.5 // the same where the least label is zero
	spreadAround = 4.0 // the same for labels of both signs
)

// A fence away from zero is so many distances from the median size of the labels that are not zero to their 95 %
// quantile, on a logarithmic scale, or from the largest of them, whichever is closer: labels whose spread has an end
// lie hardly beyond the largest. Both quantiles are rough where labels are few, so that the fence is further out then,
// by the constants for few labels divided by their number.
const (
	fromMedian, fromMedianFew   = 1.7, 20.0
	fromLargest, fromLargestFew = 0.25, 18.0
	outermost                   = 0.3 // from there to the fence for labels that a prediction comes close to
	shortest                    = 1.0 // the least of these distances: a factor of e
)

// comparison is how labels are compared.
type comparison int

const (
	linear   comparison = iota
	positive            // by the logarithm
	negative            // by the logarithm of the size
	around              // by magnitude above and below zero, and near zero as they are
)

// scale is one on which labels are compared.
type scale struct {
	kind comparison
	unit float64 // of around: a size that counts as near zero
	told int     // labels that tell how far they spread: those that are not zero

	fence, outer float64 // sizes beyond which a label is doubtful even without a prediction, and even near one
}

func (s scale) logarithmic() bool { return s.kind != linear }

// name is what messages call the scale, empty for the labels as they are.
func (s scale) name() string {
	if s.logarithmic() {
		return "logarithmic"
	}
	return ""
}

// has reports whether a value is on the scale.
func (s scale) has(y float64) bool {
	switch s.kind {
	case positive:
		return y > 0
	case negative:
		return y < 0
	}
	return true
}

// of returns where a value is on the scale.
func (s scale) of(y float64) float64 {
	switch s.kind {
	case positive:
		return math.Log(y)
	case negative:
		return -math.Log(-y)
	case around:
		return math.Asinh(y / s.unit)
	}
	return y
}

// undo returns the value at a place on the scale.
func (s scale) undo(v float64) float64 {
	switch s.kind {
	case positive:
		return math.Exp(v)
	case negative:
		return -math.Exp(-v)
	case around:
		return s.unit * math.Sinh(v)
	}
	return v
}

// scale returns the scale on which the labels are even.
func (s *Sorted) scale() scale {
	sizes := s.sizes()
	if sizes.count == 0 {
		return scale{}
	}
	typical := sizes.quantile(0.5)
	ratio := sizes.quantile(0.95) / typical
	even, least, most := scale{told: sizes.count}, s.at(0), s.at(s.count-1)
	switch few := sizes.count < min(2*Fewest, s.count/2); {
	case least > 0 && ratio > spread:
		even.kind = positive
	case most < 0 && ratio > spread:
		even.kind = negative
	case least == 0 && (ratio > spreadCounts || few):
		even.kind, even.unit = around, sizes.quantile(0.1)
	case least < 0 && most >= 0 && ratio > spreadAround:
		even.kind, even.unit = around, typical
	}
	if even.logarithmic() {
		even.fence, even.outer = sizes.fences(math.Log(ratio))
	}
	return even
}

// fences returns the limits of sizes whose 95 % quantile is so far from their median on a logarithmic scale.
func (z sizes) fences(distance float64) (fence, outer float64) {
	distance = max(shortest, distance)
	beyond := func(size, far, few float64) float64 { return size * math.Exp((far+few/float64(z.count))*distance) }
	fence = beyond(z.quantile(0.5), fromMedian, fromMedianFew)
	largest := z.at(sort.Search(z.count, func(i int) bool { return z.at(i) > fence }) - 1) // an earlier slip hides nothing
	fence = min(fence, beyond(largest, fromLargest, fromLargestFew))
	return fence, beyond(fence, outermost, 0)
}
