package plausible

import (
	"math"
	"slices"
)

// Labels is a summary of the labels of one target so far.
type Labels struct {
	count               int
	low, median, high   float64 // the quantiles of 5, 50 and 95 %
	fenceLow, fenceHigh float64 // limits outside of which a label is doubtful even without a prediction
	floor               float64 // the same for positive labels that are too small
	first, last         float64 // the smallest and the largest label within the fences
}

// Fewest is how many labels a look needs.
const Fewest = 20

const (
	tails     = 3.5   // from the median to a fence, in distances from there to the quantile on that side
	logTails  = 1.75  // the same for the upper fence on a logarithmic scale, if that is further out
	logFloor  = 3     // the same for the floor
	skewed    = 2     // ratio of these distances from which on the scale is logarithmic
	thinnest  = 0.25  // how much shorter one of these distances may be than the other
	narrowest = 0.002 // the least width of an interval, relative to that of nine of ten labels
	margin    = 0.05  // how far outside the labels so far a label still counts as among them, relative to their range
)

// Learn summarises labels. Those that are not finite are left out.
func Learn(values []float64) *Labels {
	sorted := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	slices.Sort(sorted)
	l := &Labels{count: len(sorted)}
	if l.count == 0 {
		return l
	}
	at := func(share float64) float64 { return sorted[int(share*float64(l.count-1)+0.5)] }
	l.low, l.median, l.high = at(0.05), at(0.5), at(0.95)
	l.fence(sorted[0] > 0)
	l.first, l.last = l.median, l.median
	for _, v := range sorted {
		if l.within(v) { // an earlier slip must not hide others
			l.first, l.last = min(l.first, v), max(l.last, v)
		}
	}
	return l
}

// fence sets the limits. Positive labels with a long upper tail may be spread over magnitudes.
func (l *Labels) fence(positive bool) {
	below, above := sides(l.low, l.median, l.high)
	l.fenceLow, l.fenceHigh = l.median-tails*below, l.median+tails*above
	if positive && above > skewed*below {
		below, above = sides(math.Log(l.low), math.Log(l.median), math.Log(l.high))
		l.fenceHigh = max(l.fenceHigh, l.median*math.Exp(logTails*above))
		l.floor = l.median * math.Exp(-logFloor*below)
	}
}

// sides returns the distances from the median to both quantiles. None is much shorter than the other: labels of which many
// have the lowest value may be lower.
func sides(low, median, high float64) (below, above float64) {
	below, above = median-low, high-median
	return max(below, thinnest*above), max(above, thinnest*below)
}

// constant reports whether nine of ten labels are the same. Nothing can be said about others then.
func (l *Labels) constant() bool { return l.low == l.high }

// within reports whether a value is within the fences. Zero is no slip of a factor, and is above the floor.
func (l *Labels) within(v float64) bool {
	return l.fenceLow <= v && v <= l.fenceHigh && !(v > 0 && v < l.floor)
}

// holds reports whether a value is among the labels so far, or close to them.
func (l *Labels) holds(v float64) bool {
	m := margin * (l.last - l.first)
	return l.first-m <= v && v <= l.last+m
}

// middle is where nine of ten labels lie.
func (l *Labels) middle() interval { return interval{l.low, l.high} }

// interval returns where a label was expected. Models that fit their labels perfectly predict intervals without a width;
// these are widened.
func (l *Labels) interval(e *Expected) interval {
	lack := max(0, narrowest*(l.high-l.low)-(e.High-e.Low)) / 2
	return interval{e.Low - lack, e.High + lack}
}
