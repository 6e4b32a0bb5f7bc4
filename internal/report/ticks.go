package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/nextbatch/nextbatch/internal/words"
)

// linearTicks puts ticks on a linear axis at round numbers, multiples of 1, 2 or 5
// times a power of ten, in about this many steps; zero means five.
type linearTicks struct{ Steps int }

func (t linearTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	if !hasRoomForTicks(low, high) {
		return []plot.Tick{{Value: low, Label: tickLabel(low)}}
	}
	step := roundStep((high - low) / float64(cmp.Or(t.Steps, 5)))
	for _, v := range multiples(step/2, low, high) {
		tick := plot.Tick{Value: v}
		if k := v / step; math.Abs(k-math.Round(k)) < 0.25 { // otherwise it is halfway between two labels
			tick.Label = fixedLabel(v, step)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// hasRoomForTicks reports whether ticks fit between low and high. Steps between
// numbers that agree in nearly all digits are lost in rounding, and the tiniest
// steps have no power of ten in float64.
func hasRoomForTicks(low, high float64) bool {
	length := high - low
	return length > nearlyEqual*max(math.Abs(low), math.Abs(high)) && length > 1e-290 && !math.IsInf(length, 0)
}

// nearlyEqual is the relative difference of two numbers that is too small for an
// axis.
const nearlyEqual = 1e-9

// roundStep returns the round number whose ratio to the step is closest to one.
func roundStep(step float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(step)))
	switch part := step / unit; {
	case part < 1.5:
		return unit
	case part < 3.5:
		return 2 * unit
	case part < 7.5:
		return 5 * unit
	}
	return 10 * unit
}

// multiples lists the multiples of step from low to high, ends included, or none
// if there are too many to count or to draw.
func multiples(step, low, high float64) (list []float64) {
	const slack = 1e-9
	first, last := math.Ceil(low/step-slack), math.Floor(high/step+slack)
	if !(last-first < 10_000) {
		return nil
	}
	for i := range int(last-first) + 1 {
		list = append(list, (first+float64(i))*step)
	}
	return list
}

// logTicks puts ticks on a logarithmic axis of base 10 or 2; zero means 10. Base 2
// labels powers of two. Base 10 labels powers of ten and, on a short axis, some
// multiples of them. On a very short axis, ticks are round numbers at equal steps.
type logTicks struct{ Base int }

func (t logTicks) Ticks(low, high float64) []plot.Tick {
	switch {
	case !(low > 0) || !hasRoomForTicks(low, high):
		return []plot.Tick{{Value: low, Label: tickLabel(low)}}
	case high/low < 2 || t.Base == 2 && high/low < 3.9: // too few powers
		return linearTicks{}.Ticks(low, high)
	case t.Base == 2:
		return powersOfTwo(low, high)
	case high/low < 6:
		return oneToNine(low, high, "123456789")
	case high/low < 20:
		return oneToNine(low, high, "1235")
	case high/low < 200:
		return oneToNine(low, high, "125")
	}
	return oneToNine(low, high, "1")
}

// measuredTicks puts a tick at every measured place, and labels as many of them as
// fit on an axis of this width: the first and the last, then the others in order.
type measuredTicks struct {
	at    []float64 // ascending
	width vg.Length
	log   bool
}

func (m measuredTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	taken := []int{}
	order := append([]int{0, len(m.at) - 1}, upTo(len(m.at))...)
	for _, v := range m.at {
		ticks = append(ticks, plot.Tick{Value: v})
	}
	for _, i := range order {
		if !slices.ContainsFunc(taken, func(j int) bool { return m.collide(i, j, low, high) }) {
			ticks[i].Label = tickLabel(m.at[i])
			taken = append(taken, i)
		}
	}
	return ticks
}

// collide reports whether the labels of two ticks would touch.
func (m measuredTicks) collide(i, j int, low, high float64) bool {
	style := textStyle(tickSize, black)
	needed := (style.Width(tickLabel(m.at[i]))+style.Width(tickLabel(m.at[j])))/2 + 6
	distance := math.Abs(m.at[i]-m.at[j]) / (high - low)
	if m.log {
		distance = math.Abs(math.Log(m.at[i]/m.at[j])) / math.Log(high/low)
	}
	return vg.Length(distance)*m.width < needed
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// maxLabels is the most labels that an axis gets.
const maxLabels = 8

func powersOfTwo(low, high float64) (ticks []plot.Tick) {
	powers := multiples(1, math.Log2(low), math.Log2(high))
	every := 1 + (len(powers)-1)/maxLabels
	for i, k := range powers {
		tick := plot.Tick{Value: math.Exp2(k)}
		if i%every == 0 {
			tick.Label = tickLabel(tick.Value)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// oneToNine puts a tick at 1 to 9 times each power of ten, and labels those whose
// first digit is in labelled.
func oneToNine(low, high float64, labelled string) (ticks []plot.Tick) {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	every := 1 + (last-first)/maxLabels
	for k := first; k <= last; k++ {
		for digit := 1; digit <= 9; digit++ {
			v := round(float64(digit) * math.Pow(10, float64(k)))
			if v < low || v > high {
				continue
			}
			tick := plot.Tick{Value: v}
			if (k-first)%every == 0 && strings.ContainsRune(labelled, rune('0'+digit)) {
				tick.Label = tickLabel(v)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// round removes the rounding errors of a power of ten.
func round(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	return r
}

// tickLabel writes a number in as few characters as possible.
func tickLabel(v float64) string {
	v = round(v)
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e6) {
		s := strconv.FormatFloat(v, 'e', -1, 64)
		mantissa, exponent, _ := strings.Cut(s, "e")
		n, _ := strconv.Atoi(exponent)
		return mantissa + "e" + strconv.Itoa(n)
	}
	return words.Grouped(v)
}

// markedTicks labels the ticks of an axis with a decimal mark.
type markedTicks struct {
	plot.Ticker
	decimal byte
}

func (t markedTicks) Ticks(low, high float64) []plot.Tick {
	ticks := t.Ticker.Ticks(low, high)
	for i := range ticks {
		ticks[i].Label = words.Marked(ticks[i].Label, t.decimal)
	}
	return ticks
}

// fixedLabel writes a multiple of step with as many decimals as the step has, so
// that all labels of an axis have the same form.
func fixedLabel(v, step float64) string {
	if math.Abs(v) < step/2 {
		v = 0
	}
	if math.Abs(v) >= 1e6 || step < 1e-4 {
		return tickLabel(v)
	}
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	if decimals == 0 {
		return words.Grouped(math.Round(v))
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
