package plausible

import "math"

// Labels is a summary of the labels of one target so far.
type Labels struct {
	count int
	plain summary // of the labels as they are
	even  summary // on the scale on which they are even (scale.go)
}

// summary describes labels on a scale.
type summary struct {
	scale               scale
	low, median, high   float64 // the quantiles of 5, 50 and 95 %
	fenceLow, fenceHigh float64 // limits outside of which a label is doubtful even without a prediction
	floor               float64 // the same for positive labels that are too small
	first, last         float64 // the smallest and the largest label within the fences
}

// Fewest is how many labels a look needs.
const Fewest = 20

const (
	tails     = 3.5   // from the median to a fence, in distances from there to the quantile on that side
	longTails = 1.75  // the same for the upper fence of skewed labels on a logarithmic scale, if that is further out
	longFloor = 3     // the same for the floor
	skewed    = 2     // ratio of these distances from which on labels are skewed
	thinnest  = 0.25  // how much shorter one of these distances may be than the other
	narrowest = 0.002 // the least width of an interval, relative to that of nine of ten labels
	margin    = 0.05  // how far outside the labels so far a label still counts as among them, relative to their range

	// The same for labels that spread over magnitudes, on their scale. The quantiles of few labels are rough: these
	// fences are further out by logFew divided by the number of labels that are not zero. Away from zero, the sizes of
	// the labels decide (scale.go).
	logTails     = 1.9
	logFew       = 30.0
	logThinnest  = 0.5
	logNarrowest = 0.5
)

// Learn summarises labels. Those that are not finite are left out.
func Learn(values []float64) *Labels { return sorted(values).Labels() }

// Labels summarises the labels.
func (s *Sorted) Labels() *Labels {
	l := &Labels{count: s.count}
	if l.count == 0 {
		return l
	}
	l.plain = s.summarise(scale{})
	l.even = l.plain
	if even := s.scale(); even.logarithmic() {
		l.even = s.summarise(even)
	}
	return l
}

// summarise summarises the labels on a scale.
func (s *Sorted) summarise(on scale) summary {
	at := func(share float64) float64 { return on.of(s.quantile(share)) }
	m := summary{scale: on, low: at(0.05), median: at(0.5), high: at(0.95)}
	m.fence(s.at(0) > 0)
	// An earlier slip must not hide others. There is a floor only where all labels are positive, so that those within the
	// fences are next to each other.
	first := s.below(func(y float64) bool { v := on.of(y); return v >= m.fenceLow && !m.tooSmall(v) })
	last := s.below(func(y float64) bool { return on.of(y) > m.fenceHigh }) - 1
	m.first, m.last = m.median, m.median
	if first <= last {
		m.first, m.last = min(m.median, on.of(s.at(first))), max(m.median, on.of(s.at(last)))
	}
	return m
}

// fence sets the limits. Positive labels with a long upper tail may be spread over magnitudes.
func (m *summary) fence(allPositive bool) {
	if m.scale.logarithmic() {
		below, above := sides(m.low, m.median, m.high, logThinnest)
		far := logTails + logFew/float64(m.scale.told)
		m.fenceLow, m.fenceHigh = m.median-far*below, m.median+far*above
		switch m.scale.kind {
		case positive:
			m.fenceHigh = m.scale.of(m.scale.fence)
		case negative:
			m.fenceLow = m.scale.of(-m.scale.fence)
		default:
			m.fenceLow, m.fenceHigh = max(m.fenceLow, m.scale.of(-m.scale.fence)), m.scale.of(m.scale.fence)
		}
		return
	}
	below, above := sides(m.low, m.median, m.high, thinnest)
	m.fenceLow, m.fenceHigh = m.median-tails*below, m.median+tails*above
	if allPositive && above > skewed*below {
		below, above = sides(math.Log(m.low), math.Log(m.median), math.Log(m.high), thinnest)
		m.fenceHigh = max(m.fenceHigh, m.median*math.Exp(longTails*above))
		m.floor = m.median * math.Exp(-longFloor*below)
	}
}

// sides returns the distances from the median to both quantiles. None is much shorter than the other: labels of which
// many have the lowest value may be lower.
func sides(low, median, high, thinnest float64) (below, above float64) {
	below, above = median-low, high-median
	return max(below, thinnest*above), max(above, thinnest*below)
}

// constant reports whether nine of ten labels are the same. Nothing can be said about others then.
func (l *Labels) constant() bool { return l.plain.low == l.plain.high }

// on returns the summary that a value is compared with.
func (l *Labels) on(value float64) *summary {
	if l.even.scale.has(value) {
		return &l.even
	}
	return &l.plain
}

// within reports whether a value is within the fences. Zero is not a slip by a factor, and is above the floor.
func (m *summary) within(v float64) bool {
	return m.fenceLow <= v && v <= m.fenceHigh && !m.tooSmall(v)
}

// tooSmall reports whether a value is below the floor, if there is one.
func (m *summary) tooSmall(v float64) bool { return v > 0 && v < m.floor }

// tiny reports whether a label of one sign is much closer to zero than the others.
func (m *summary) tiny(y float64) bool {
	switch v := m.scale.of(y); m.scale.kind {
	case positive:
		return v < m.fenceLow
	case negative:
		return v > m.fenceHigh
	}
	return false
}

// holds reports whether a value is among the labels so far, or close to them.
func (m *summary) holds(v float64) bool {
	gap := margin * (m.last - m.first)
	return m.first-gap <= v && v <= m.last+gap
}

// ends reports whether a value is the smallest or the largest label within the fences.
func (m *summary) ends(v float64) bool { return v == m.first || v == m.last }

// middle is where nine of ten labels lie.
func (m *summary) middle() interval { return interval{m.scale, m.low, m.high} }

// interval returns where a label was expected. Models that fit their labels perfectly predict intervals without a
// width; these are widened. On a logarithmic scale, an interval ends where the labels end: models that do not know the
// scale expect negative concentrations.
func (m *summary) interval(e *Expected) interval {
	low, high, width := e.Low, e.High, narrowest
	if m.scale.logarithmic() {
		low, high, width = m.clamp(low), m.clamp(high), logNarrowest
	}
	lack := max(0, width*(m.high-m.low)-(high-low)) / 2
	return interval{m.scale, low - lack, high + lack}
}

// clamp returns where a value is on the scale, or the nearest label if it is beyond all of them.
func (m *summary) clamp(y float64) float64 {
	switch {
	case m.scale.has(y):
		return min(max(m.scale.of(y), m.first), m.last)
	case m.scale.kind == negative:
		return m.last
	}
	return m.first
}

// tail is how many widths outside its interval a label has to be that is compared on a logarithmic scale: as many times
// as the fence is further out than most labels.
func (l *Labels) tail() float64 {
	return max(far, l.even.scale.fence/max(-l.plain.low, l.plain.high)-1)
}

// out is how many widths of the interval that was expected a value lies outside of it. Models that do not know the
// scale are as precise for small labels as for large ones, or less, so that both scales have to agree.
func (l *Labels) out(value float64, e *Expected) float64 {
	out := l.plain.interval(e).out(value)
	if m := l.on(value); m.scale.logarithmic() {
		out = min(out, m.interval(e).out(value))
	}
	return out
}
