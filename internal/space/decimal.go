package space

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// decimal is the number value · 10^-digits, exactly; digits is not negative.
type decimal struct {
	value  int64
	digits int
}

// Numbers have at most so many digits, before and after the point.
const (
	mostDigits = 15
	mostValue  = 1_000_000_000_000_000
)

// decimalOf returns the number that people wrote, such as 0.1, not the nearest binary one.
func decimalOf(v float64) (decimal, error) {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return decimal{}, fmt.Errorf("%s is not a finite number", text)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil || n >= mostValue || n <= -mostValue || len(fraction) > mostDigits {
		return decimal{}, fmt.Errorf("%s has too many digits; at most %d can be used", text, mostDigits)
	}
	return decimal{n, len(fraction)}, nil
}

// in returns the number in units of 10^-digits; false if it is too large.
func (d decimal) in(digits int) (int64, bool) {
	v := d.value
	for range digits - d.digits {
		if v >= mostValue || v <= -mostValue {
			return 0, false
		}
		v *= 10
	}
	return v, v < mostValue && v > -mostValue
}

func (d decimal) float() float64 { return floatOf(d.value, d.digits) }
func (d decimal) rat() *big.Rat  { return ratOf(d.value, d.digits) }
func (d decimal) String() string { return strconv.FormatFloat(d.float(), 'f', -1, 64) }

// floatOf returns the float64 that is nearest to value · 10^-digits: a quotient of two exact ones.
func floatOf(value int64, digits int) float64 { return float64(value) / math.Pow10(digits) }

func ratOf(value int64, digits int) *big.Rat {
	return new(big.Rat).SetFrac(big.NewInt(value), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))
}
