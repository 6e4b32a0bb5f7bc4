package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unit is the unit of the numbers in a column, as its file says it.
type Unit struct {
	Name  string // such as mg; empty if nothing says one
	Row   int    // the first row whose cell says it, from 0; -1 if the header does
	Mixed bool   // other cells are numbers without a unit
}

// scale says how a unit relates to others of its quantity: a number of it is (number + offset) · factor · 10^power of
// the base.
type scale struct {
	quantity       string
	power          int
	factor, offset float64
}

// prefixes of units of the SI, as powers of ten.
var prefixes = map[string]int{"": 0, "f": -15, "p": -12, "n": -9, "µ": -6, "μ": -6, "u": -6, "m": -3, "c": -2, "d": -1,
	"h": 2, "k": 3, "M": 6, "G": 9, "T": 12}

// scales are the units that can be converted.
var scales = func() map[string]scale {
	all := map[string]scale{}
	for _, base := range []string{"m", "g", "s", "A", "K", "mol", "L", "M", "N", "Pa", "J", "W", "V", "Ω", "Ω", "ohm",
		"Hz", "C", "F", "S", "T", "eV", "Å", "bp", "B"} {
		for prefix, power := range prefixes {
			all[prefix+base] = scale{base, power, 1, 0}
		}
	}
	add := func(quantity string, factor float64, names ...string) {
		for _, name := range names {
			all[name] = scale{quantity, 0, factor, 0}
		}
	}
	add("s", 1, "sec", "secs")
	add("s", 60, "min", "mins")
	add("s", 3600, "h", "hr", "hrs", "hour", "hours", "Std", "Std.", "Stunden")
	add("s", 86400, "d", "day", "days", "Tage")
	for name, power := range map[string]int{"l": 0, "dl": -1, "cl": -2, "ml": -3, "cc": -3, "μl": -6,
		"µl": -6, "ul": -6, "nl": -9} {
		all[name] = scale{"L", power, 1, 0}
	}
	for name, power := range map[string]int{"fraction": 0, "%": -2, "‰": -3} {
		all[name] = scale{"share", power, 1, 0}
	}
	for _, name := range []string{"°C", "° C", "ºC", "℃", "degC", "C"} {
		all[name] = scale{"K", 0, 1, 273.15}
	}
	all["°F"] = scale{"K", 0, 5.0 / 9, 459.67}
	all["Ohm"], all["kOhm"], all["MOhm"] = all["ohm"], all["kohm"], all["Mohm"]
	delete(all, "dB")
	return all
}()

// Currencies stand before or after a number.
var Currencies = []string{"€", "$", "£", "¥", "EUR", "USD", "CHF", "GBP", "JPY"}

// otherUnits are those that cannot be converted.
var otherUnits = append([]string{
	"°", "deg", "wt%", "wt.%", "vol%", "vol.%", "mol%", "at%", "m%", "v%", "ppm", "ppb", "ppt", "pH", "weeks",
	"months", "years", "yr", "yrs",
	"rpm", "bar", "mbar", "atm", "psi", "mmHg", "Torr", "torr", "cP", "cal", "kcal", "Da", "kDa", "U", "IU", "CFU", "cfu",
	"dB", "px", "t", "ha", "in", "ft", "lb", "lbs", "oz", "mi",
	"a.u.", "AU", "mAU", "rfu", "RFU", "eq", "eq.", "equiv", "equiv.", "kWh", "Wh", "Ah", "mAh", "cells",
	"copies", "u", "N·m", "Nm",
}, Currencies...)

// gluedUnits are those of one letter that may follow a number without a blank. After other
// letters it may be a code, such as 12B.
var gluedUnits = []string{"g", "h", "s"}

// KnownUnit reports whether a text after a number is a unit, perhaps in brackets, or a quotient or product of units.
// Glued means that nothing stands between them.
func KnownUnit(text string, glued bool) bool {
	const longest = 20
	if len(text) > longest {
		return false
	}
	text = strings.Trim(text, "[]()")
	if isUnit(text) {
		return !glued || slices.Contains(gluedUnits, text) || utf8.RuneCountInString(text) > 1 || !isLetters(text)
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/·*× ", r) })
	for _, part := range parts {
		base := strings.TrimRight(part, "0123456789¹²³⁻-−^")
		if !isUnit(base) || base != part && glued && len(parts) == 1 && !strings.ContainsAny(part, "¹²³^") {
			return false
		}
	}
	return len(parts) > 0
}

func isUnit(text string) bool { return convertible(text) || slices.Contains(otherUnits, text) }

func isLetters(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

// convertible reports whether numbers with a unit can be converted to others of its quantity.
func convertible(unit string) bool { return scales[unit] != scale{} }

// SameUnit reports whether two units differ in their spelling at most, as mL and ml do.
func SameUnit(a, b string) bool {
	return a == b || convertible(a) && scales[a] == scales[b]
}

// ConvertUnit returns a function that converts numbers from one unit to another; nil if they cannot be converted.
// Powers of ten keep the digits of a number.
func ConvertUnit(from, to string) func(v float64) float64 {
	a, b := scales[from], scales[to]
	if a.quantity == "" || a.quantity != b.quantity {
		return nil
	}
	return func(v float64) float64 {
		if a.factor != b.factor || a.offset != b.offset {
			v = (v+a.offset)*a.factor/b.factor - b.offset
		}
		return shifted(v, a.power-b.power)
	}
}

// shifted returns v·10^power without touching its decimal digits.
func shifted(v float64, power int) float64 {
	if power == 0 || v == 0 || v-v != 0 {
		return v
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	now, _ := strconv.Atoi(exponent)
	v, _ = strconv.ParseFloat(digits+"e"+strconv.Itoa(now+power), 64)
	return v
}

// HeaderUnit returns the unit at the end of a column's name, as in mass [mg] or yield (%); empty if there is none.
func HeaderUnit(name string) string {
	name = strings.TrimSpace(name)
	for _, brackets := range []string{"[]", "()"} {
		at := strings.LastIndexByte(name, brackets[0])
		if at > 0 && strings.HasSuffix(name, brackets[1:]) {
			if unit := strings.TrimSpace(name[at+1 : len(name)-1]); KnownUnit(unit, false) {
				return unit
			}
		}
	}
	return ""
}

// Unit returns the unit of the numbers: its OwnUnit, or else that of the column's name.
func (c *Numeric) Unit() Unit {
	if c.OwnUnit.Name != "" {
		return c.OwnUnit
	}
	return Unit{Name: HeaderUnit(c.name), Row: -1}
}

// HasValues reports whether any number is there.
func (c *Numeric) HasValues() bool { return !allMissing(c) }

// InUnit returns a column in the unit in which the same column is known; empty means numbers without a unit. Words say
// what was done, empty if nothing. Numbers that cannot be in that unit, or may mean something else, are an error.
func InUnit(c Column, known string) (in Column, said string, err error) {
	numbers, ok := c.(*Numeric)
	if !ok || allMissing(c) {
		return c, "", nil
	}
	own := numbers.Unit()
	refuse := func(row int, format string, args ...any) (Column, string, error) {
		return nil, "", &ColumnError{Column: c.Name(), Row: row, Problem: fmt.Sprintf(format, args...)}
	}
	convert := ConvertUnit(own.Name, known)
	switch {
	case SameUnit(own.Name, known):
		return c, "", nil
	case own.Name == "":
		if row := firstShare(numbers); known == "%" && row >= 0 {
			return refuse(row, "%s has no unit, and the column is in %%: it may be a percentage or a fraction; write it with %%",
				c.Format(row))
		}
		in, err = numbers.as(known, nil)
		//warning:taken-unit
		return in, fmt.Sprintf("column %q: numbers without a unit are taken as %s", c.Name(), known), err
	case known == "":
		return refuse(own.Row,
			"the unit is %s, but the column has had none so far; write the numbers alone, in the unit of the others", own.Name)
	case convert == nil:
		return refuse(own.Row, "the unit is %s, but the column is in %s; write the numbers in %s", own.Name, known, known)
	case own.Mixed:
		return refuse(own.Row,
			"the unit is %s here and not said in other cells, but the column is in %s; write the unit in every cell", own.Name,
			known)
	}
	in, err = numbers.as(known, convert)
	//warning:converted-unit
	return in, fmt.Sprintf("column %q: numbers in %s are converted to %s", c.Name(), own.Name, known), err
}

// firstShare returns the first row with a number that may be a fraction where others are percentages; -1 if there is
// none.
func firstShare(c *Numeric) int {
	for row := range c.Len() {
		if MayBeShare(c.Float(row)) {
			return row
		}
	}
	return -1
}

// MayBeShare reports whether a number without a unit may be a fraction, in a column of percentages.
func MayBeShare(v float64) bool { return v != 0 && math.Abs(v) <= 1 }

// as returns a copy of the column in another unit; the function converts the numbers, nil for none.
func (c *Numeric) as(unit string, convert func(float64) float64) (*Numeric, error) {
	in := c.blank()
	in.OwnUnit = Unit{Name: unit, Row: -1}
	return in, appendAll(in, []Column{c}, func(_ Column, row int) {
		v := c.Float(row)
		if convert != nil && !math.IsNaN(v) {
			v = convert(v)
		}
		in.Append(v)
	})
}
