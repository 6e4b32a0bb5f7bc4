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

func TestGrouped(t *testing.T) {
	for want, v := range map[string]float64{
		"9,999,999": 9999999, "999": 999, "1,000": 1000, "-999": -999, "-1,234.5": -1234.5, "0.25": 0.25, "0": math.Copysign(0, -1), "1e+20": 1e20, "1e-09": 1e-9,
		"+Inf": math.Inf(1), "NaN": math.NaN(),
	} {
		if got := Grouped(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func TestRange(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		want      string
	}{
		{58012.3, 83400.1, "58,000 to 83,000"}, {66, 74, "66 to 74"}, {66.04, 74.26, "66.0 to 74.3"}, {-1.2345, 0.0001, "-1.2 to 0"}, {-0.0001, 1.2, "0 to 1.2"},
		{0.00123, 0.00456, "0.0012 to 0.0046"}, {5, 5, "5 to 5"}, {1e17, 2e17, "1e+17 to 2e+17"}, {1234567.8, 1234569, "1,234,567.8 to 1,234,569.0"}, {90, 110, "90 to 110"},
	} {
		low, high := Range(test.low, test.high)
		if got := low + " to " + high; got != test.want {
			t.Errorf("%v to %v: %q, want %q", test.low, test.high, got, test.want)
		}
	}
}
