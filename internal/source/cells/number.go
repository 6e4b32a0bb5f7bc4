package cells

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"
)

// powersOfTen are those that float64 holds exactly.
var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// integerPowers are the powers of ten below 2^64.
var integerPowers = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()

// ParseNumber reads a decimal number from the start of text and returns how many bytes it takes, 0 if there is none.
// The result equals that of strconv.ParseFloat: infinite where the number is too large.
//
// Most numbers in files have few digits: they are an integer below 2^53 times or divided by an exact power of ten, so
// that one operation rounds correctly. Numbers of up to 19 digits with a decimal point, as programs print float64,
// take one integer division; strconv handles the others.
func ParseNumber(text []byte) (v float64, length int) {
	i := 0
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		i = 1
	}
	first := i
	var mantissa uint64
	for i < len(text) && text[i]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(text[i]-'0')
		i++
	}
	digits, exponent := i-first, 0
	if i < len(text) && text[i] == '.' {
		i++
		point := i
		for i < len(text) && text[i]-'0' <= 9 {
			mantissa = mantissa*10 + uint64(text[i]-'0')
			i++
		}
		exponent = point - i
		digits += i - point
	}
	if digits == 0 {
		return 0, 0
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		power, n := parseExponent(text[i:])
		exponent += power
		i += n
	}
	exact := digits <= 19 && mantissa <= 1<<53
	switch {
	case exact && -22 <= exponent && exponent <= 0:
		v = float64(mantissa) / powersOfTen[-exponent]
	case exact && 0 < exponent && exponent <= 22:
		v = float64(mantissa) * powersOfTen[exponent]
	case digits <= 19 && -19 <= exponent && exponent <= 0:
		v = overPowerOfTen(mantissa, -exponent)
	default:
		v, _ = strconv.ParseFloat(string(text[:i]), 64) // the syntax is valid; out of range gives an infinity
		return v, i
	}
	if text[0] == '-' {
		v = -v
	}
	return v, i
}

// overPowerOfTen returns mantissa/10^power, correctly rounded, for a nonzero mantissa and a power of at most 19. Both
// are shifted to fill 64 bits, so that the quotient has at least 63 bits; its last bit records whether there is a
// remainder, far below the 53 bits to which the conversion rounds.
func overPowerOfTen(mantissa uint64, power int) float64 {
	divisor := integerPowers[power]
	up, down := bits.LeadingZeros64(mantissa), bits.LeadingZeros64(divisor)
	mantissa <<= up
	quotient, remainder := bits.Div64(mantissa>>1, mantissa<<63, divisor<<down)
	if remainder != 0 {
		quotient |= 1
	}
	const bias, fraction = 1023, 52 // of float64: what follows is 2^(down-up-63)
	return float64(quotient) * math.Float64frombits(uint64(bias+down-up-63)<<fraction)
}

// parseExponent reads e, a sign and digits; length is 0 if the text has no exponent. Huge exponents are truncated:
// they are out of float64's range either way.
func parseExponent(text []byte) (power, length int) {
	const huge = 10000
	i := 1
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	first := i
	for i < len(text) && text[i]-'0' <= 9 {
		power = min(power*10+int(text[i]-'0'), huge)
		i++
	}
	if i == first {
		return 0, 0
	}
	if text[1] == '-' {
		power = -power
	}
	return power, i
}

// WholeNumber reads text that is entirely a number; infinities are written inf or infinity, in any case.
func WholeNumber(text []byte) (v float64, ok bool) {
	if v, n := ParseNumber(text); n > 0 && n == len(text) {
		return v, true
	}
	sign, word := 1, text
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		word = text[1:]
		if text[0] == '-' {
			sign = -1
		}
	}
	if bytes.EqualFold(word, []byte("inf")) || bytes.EqualFold(word, []byte("infinity")) {
		return math.Inf(sign), true
	}
	return 0, false
}
