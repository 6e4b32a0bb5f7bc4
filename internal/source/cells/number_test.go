package cells

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func checkNumber(t *testing.T, text string) {
	t.Helper()
	want, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(want, 0) {
		t.Fatalf("%q: %v", text, err)
	}
	got, ok := WholeNumber([]byte(text))
	if !ok || math.Float64bits(got) != math.Float64bits(want) {
		t.Errorf("%q is %v (%v), want %v", text, got, ok, want)
	}
}

func TestNumbersAreThoseOfStrconv(t *testing.T) {
	for _, text := range []string{"0", "-0", "+1", "1.", ".5", "-.5e3", "1e22", "1e23",
		"123456789e-22", "9007199254740993",
		"9007199254740992e22", "18446744073709551616", "0.1", "0.30000000000000004", "1E5", "1e+5", "1e-400", "4.9e-324",
		"1e400", "-1e400", "1e99999999999999999999", "0e99999999999999999999", "inf", "-Inf", "+Infinity",
		"000000000000000000000000000001", "0.0000000000000000000000000000001", "179769313486231570000000000000000000000"} {
		checkNumber(t, text)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		v := math.Float64frombits(r.Uint64())
		if math.IsNaN(v) {
			continue
		}
		checkNumber(t, strconv.FormatFloat(v, "eg"[r.IntN(2)], r.IntN(20)-1, 64))
		checkNumber(t, strconv.FormatFloat(r.NormFloat64()*100, 'f', r.IntN(18)-1, 64))
		checkNumber(t, halfway(r))
	}
}

func TestTextsThatAreNotNumbers(t *testing.T) {
	for _, text := range []string{"", "-", "+", ".", "-.", "e5", "1e", "1e+", "1x", "x1", "0x10", "1_000", "nan", "--1",
		"1,5", " 1", "infinit"} {
		if v, ok := WholeNumber([]byte(text)); ok {
			t.Errorf("%q is read as %v", text, v)
		}
	}
}

// halfway returns a number of at most 19 digits at or next to the midpoint
// between two float64 neighbours, where rounding is hardest.
func halfway(r *rand.Rand) string {
	odd := (1<<53 + r.Uint64N(1<<53)) | 1 // 54 bits: the midpoint of two with 53
	v := new(big.Rat).SetFrac(new(big.Int).SetUint64(odd), new(big.Int).SetUint64(1<<r.IntN(11)))
	digits, err := strconv.ParseUint(strings.ReplaceAll(v.FloatString(3), ".", ""), 10, 64)
	if err != nil {
		return "0"
	}
	text := strconv.FormatUint(digits+r.Uint64N(3)-1, 10)
	return text[:len(text)-3] + "." + text[len(text)-3:]
}

// FuzzNumber: numbers have the value that strconv gives them, and no decimal
// number is refused.
func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"1.5", "-0", "1e5", "9007199254740993", ".5e-3", "12345678901234567.8", "inf", "1e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := WholeNumber([]byte(text))
		want, err := strconv.ParseFloat(text, 64)
		valid := err == nil || errors.Is(err, strconv.ErrRange)
		decimal := !strings.ContainsAny(text, "xX_nN") ||
			strings.HasPrefix(strings.ToLower(strings.TrimLeft(text, "+-")), "inf")
		if ok != (valid && decimal) {
			t.Fatalf("%q: is a number: %v, strconv: %v", text, ok, err)
		}
		if ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	})
}
