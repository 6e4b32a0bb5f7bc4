package words

import (
	"math"
	"testing"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 rows have", 1: "1 row has", 2: "2 rows have"} {
		if got := Count(n, "row has", "rows have"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestNumber(t *testing.T) {
	for want, v := range map[string]float64{
		"98512": 98512.3, "0.1344": 0.13441, "-0.1344": -0.13441, "12.5": 12.5, "0": 0, "100": 100, "10": 9.9999,
		"123456789": 123456789, "1.235e+09": 1234567890, "1e-05": 1e-5, "0.0001234": 0.00012341, "NaN": math.NaN(), "+Inf": math.Inf(1),
	} {
		if got := Number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func TestArgument(t *testing.T) {
	for text, want := range map[string]string{"name": "name", "Unnamed: 0": "'Unnamed: 0'", "it's": `'it'\''s'`, "": "''", "größe": "größe", "$x": "'$x'"} {
		if got := Argument(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"price", "Yield [%]", "x1", "x2", "temperature"}
	for name, want := range map[string]string{"Price": "price", "prise": "price", "temprature": "temperature", "yield[%]": "Yield [%]", "cost": "", "y": "", "": ""} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := DidYouMean("Price", names); got != `did you mean "price"? ` {
		t.Error(got)
	}
}
