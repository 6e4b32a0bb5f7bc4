package spec

import (
	"fmt"
	"math"
)

// Parameter describes the number in parentheses behind a name. The zero value
// means that there is none. All numbers are positive.
type Parameter struct {
	Name     string  // as in sketch(p)
	Whole    bool    // 2 is allowed, 2.5 is not
	Even     bool    // 2 is allowed, 3 is not
	Optional bool    // it may be omitted
	Default  float64 // its value if omitted; may be zero
	Most     float64 // the largest number that makes sense; zero for no limit
}

// syntax shows how to write a name with this parameter.
func (p Parameter) syntax(name string) string {
	switch {
	case p.Name == "":
		return name
	case p.Optional:
		return fmt.Sprintf("%s, %s(%s)", name, name, p.Name)
	}
	return fmt.Sprintf("%s(%s)", name, p.Name)
}

// canonical writes the default as zero, so that one spec has one form.
func (p Parameter) canonical(v float64) float64 {
	if v == p.Default {
		return 0
	}
	return v
}

// value returns the number that a canonical one stands for.
func (p Parameter) value(v float64) float64 {
	if v == 0 {
		return p.Default
	}
	return v
}

// fault returns what is wrong with a number, or "".
func (p Parameter) fault(name string, v float64) string {
	if v == 0 && (p.Name == "" || p.Optional) {
		return ""
	}
	switch whole := v == math.Trunc(v) && (!p.Even || math.Mod(v, 2) == 0); {
	case p.Name == "":
		return fmt.Sprintf("%s takes no number", name)
	case p.Most > 0 && (!(v > 0) || v > p.Most || p.Whole && !whole):
		return fmt.Sprintf("%s takes %s from %s to %s", p.syntax(name), p.kind(), p.least(), number(p.Most))
	case !positive(v) || p.Whole && !whole:
		return fmt.Sprintf("%s takes %s that is positive and finite", p.syntax(name), p.kind())
	}
	return ""
}

func (p Parameter) kind() string {
	switch {
	case p.Even:
		return "an even number"
	case p.Whole:
		return "a whole number"
	}
	return "a number"
}

func (p Parameter) least() string {
	if p.Even {
		return "2"
	}
	return "1"
}

// check returns what is wrong with the parameter itself, or "".
func (p Parameter) check() string {
	switch {
	case p == Parameter{}:
		return ""
	case !wellFormed(p.Name):
		return fmt.Sprintf("its parameter is called %q, but a name has only lower-case letters, digits and hyphens", p.Name)
	case p.Even && !p.Whole:
		return "its parameter is even and so must be whole"
	case p.Default != 0 && !p.Optional:
		return "its parameter has a default and so must be optional"
	case p.Default < 0 || p.Most < 0:
		return "its parameter allows negative numbers"
	}
	return ""
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
