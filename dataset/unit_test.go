package dataset

import (
	"math"
	"strings"
	"testing"
)

// TestConvertUnit: powers of ten keep the digits of a number, and only units of one quantity are converted.
func TestConvertUnit(t *testing.T) {
	for _, c := range []struct {
		from, to string
		v, want  float64
	}{
		{"g", "mg", 0.0307, 30.7}, {"mg", "kg", 3, 3e-6}, {"µg", "mg", 1234.5, 1.2345}, {"ml", "L", 5, 0.005},
		{"cc", "µL", 0.25, 250},
		{"h", "min", 1.5, 90}, {"ms", "s", 20, 0.02}, {"%", "fraction", 55, 0.55},
		{"fraction", "%", 0.07, 7}, {"mK", "K", 4, 0.004},
		{"°C", "K", 25, 298.15}, {"K", "degC", 298.15, 25}, {"°F", "°C", 212, 100},
	} {
		convert := ConvertUnit(c.from, c.to)
		if convert == nil {
			t.Errorf("%s cannot be converted to %s", c.from, c.to)
		} else if got := convert(c.v); math.Abs(got-c.want) > 1e-12*math.Abs(c.want) {
			t.Errorf("%v %s is %v %s, not %v", c.v, c.from, got, c.to, c.want)
		}
	}
	for _, pair := range [][2]string{{"mg", "mL"}, {"dB", "B"}, {"wt%", "%"}, {"U", "IU"}, {"", ""},
		{"", "mg"}, {"min", "m"}} {
		if ConvertUnit(pair[0], pair[1]) != nil {
			t.Errorf("%q is converted to %q", pair[0], pair[1])
		}
	}
}

// TestHeaderUnit reads the unit in a column's name.
func TestHeaderUnit(t *testing.T) {
	for name, want := range map[string]string{"mass [mg]": "mg", "yield (%)": "%", "T(°C)": "°C", "rate [mg/L]": "mg/L",
		"mass": "", "mass (old)": "", "[mg]": "", "share (fraction)": "fraction"} {
		if got := HeaderUnit(name); got != want {
			t.Errorf("%q has the unit %q, not %q", name, got, want)
		}
	}
}

// TestInUnit: numbers come into the unit in which their column is known, or are refused.
func TestInUnit(t *testing.T) {
	of := func(u Unit, values ...float64) *Numeric {
		c := NewNumeric("mass", values...)
		c.OwnUnit = u
		return c
	}
	for _, c := range []struct {
		column *Numeric
		known  string
		want   float64
		says   string // in the words, or in the error
	}{
		{of(Unit{Name: "g", Row: 0}, 0.55), "mg", 550, "converted to mg"},
		{of(Unit{Name: "ml"}, 5), "mL", 5, ""},
		{of(Unit{}, 7), "mg", 7, "taken as mg"},
		{of(Unit{}, 7), "", 7, ""},
		{of(Unit{Name: "g", Row: -1}, math.NaN()), "", math.NaN(), ""},
		{of(Unit{}, 55), "%", 55, "taken as %"},
		{of(Unit{}, 0.55), "%", math.NaN(), "row 0 (from 0): 0.55 has no unit"},
		{of(Unit{Name: "mL", Row: 0}, 5), "mg", math.NaN(), "the unit is mL, but the column is in mg"},
		{of(Unit{Name: "g", Row: 0}, 5), "", math.NaN(), "none so far"},
		{of(Unit{Name: "g", Row: 0, Mixed: true}, 5), "mg", math.NaN(), "not said in other cells"},
	} {
		got, says, err := InUnit(c.column, c.known)
		if err != nil {
			says, got = err.Error(), NewNumeric("", math.NaN())
		}
		if v := got.(*Numeric).Float(0); v != c.want && !(math.IsNaN(v) && math.IsNaN(c.want)) ||
			!strings.Contains(says, c.says) || c.says == "" && says != "" {
			t.Errorf("%v %+v in %q: %v, %q", c.column.Float(0), c.column.Unit(), c.known, v, says)
		}
	}
}
