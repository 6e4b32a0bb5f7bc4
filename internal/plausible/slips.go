package plausible

import (
	"math"
	"strconv"

	"github.com/nextbatch/nextbatch/internal/words"
)

// close is how many widths outside of the interval a value may be after a slip was undone that is to be named.
const close = 1.0

// explain reports whether undoing a slip brings a value much closer to the interval, and names it if that brings it
// close. A wrong unit has a name, but explains nothing: there are so many units that one of them often fits by chance.
func (i interval) explain(value float64) (explained bool, slip string) {
	least := math.Inf(1)
	eachSlip(value, func(undone float64, words string) {
		if out := i.out(undone); out < least {
			least, slip = out, words
		}
	})
	if least > close {
		slip = i.unit(value)
	}
	return closer*least <= i.out(value), slip
}

// factors are slips that multiply a label.
var factors = []struct {
	factor float64
	words  string
}{
	{10, "one digit too many?"}, {0.1, "one digit too few?"}, {-1, "wrong sign?"}, {100, "two digits too many?"},
	{0.01, "two digits too few?"},
}

// eachSlip calls f with each value that a slip may have turned into this one, the most frequent slips first.
func eachSlip(value float64, f func(undone float64, words string)) {
	for _, s := range factors {
		f(value/s.factor, s.words)
	}
	eachSwap(value, func(undone float64) { f(undone, "two digits swapped?") })
}

// eachSwap calls f with each number that is written like v, except that two neighbouring digits are swapped.
func eachSwap(v float64, f func(float64)) {
	text, last := []byte(strconv.FormatFloat(v, 'f', -1, 64)), -1
	for k, digit := range text {
		if digit < '0' || digit > '9' {
			continue
		}
		if last >= 0 && text[last] != digit {
			text[last], text[k] = digit, text[last]
			if swapped, err := strconv.ParseFloat(string(text), 64); err == nil {
				f(swapped)
			}
			text[last], text[k] = text[k], digit
		}
		last = k
	}
}

// units are ratios of units that are mixed up: a thousand, inch and cm, inch and mm, metre and foot, kg and pound,
// calorie and joule.
var units = []float64{1000, 2.54, 25.4, 3.281, 2.205, 4.184}

// temperatures convert between units of temperature.
var temperatures = []struct {
	undo  func(float64) float64
	words string
}{
	{func(v float64) float64 { return (v - 32) / 1.8 }, "°F instead of °C?"},
	{func(v float64) float64 { return v*1.8 + 32 }, "°C instead of °F?"},
	{func(v float64) float64 { return v - 273.15 }, "K instead of °C?"},
	{func(v float64) float64 { return v + 273.15 }, "°C instead of K?"},
}

// unit names the wrong unit that fits best: one that brings a value into an interval that is narrow enough for that to
// mean something.
func (i interval) unit(value float64) (slip string) {
	low, high := i.scale.undo(i.low), i.scale.undo(i.high)
	middle, least := (low+high)/2, (high-low)/2
	try := func(undone float64, words string) {
		if off := math.Abs(undone - middle); off < least && 4*(high-low) < math.Abs(undone) {
			least, slip = off, words
		}
	}
	for _, ratio := range units {
		try(value/ratio, unitText(ratio, "large").String())
		try(value*ratio, unitText(ratio, "small").String())
	}
	for _, t := range temperatures {
		try(t.undo(value), t.words)
	}
	return slip
}

func unitText(ratio float64, how string) words.Text {
	return words.Textf("%s times too %s: another unit?", words.Num(words.Grouped(ratio)), how)
}

// slipText is the text of a slip.
func slipText(slip string) words.Text {
	for _, ratio := range units {
		for _, how := range []string{"large", "small"} {
			if text := unitText(ratio, how); text.String() == slip {
				return text
			}
		}
	}
	return words.Textf("%s", slip)
}
