package words

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 rows have", 1: "1 row has", 2: "2 rows have", 17379: "17,379 rows have"} {
		if got := Count(n, "row has", "rows have"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// TestNumbers: the page of the service writes numbers in the same way, and its tests read the same cases.
func TestNumbers(t *testing.T) {
	raw, err := os.ReadFile("testdata/numbers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Number, Grouped []struct {
			Of   float64
			Want string
		}
		Range, Estimate []struct {
			Of   []float64
			Want string
		}
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	check := func(name string, of any, got, want string) {
		if got != want {
			t.Errorf("%s of %v: %q, want %q", name, of, got, want)
		}
	}
	for _, c := range cases.Number {
		check("Number", c.Of, Number(c.Of), c.Want)
	}
	for _, c := range cases.Grouped {
		check("Grouped", c.Of, Grouped(c.Of), c.Want)
	}
	for _, c := range cases.Range {
		low, high := Range(c.Of[0], c.Of[1])
		check("Range", c.Of, low+" to "+high, c.Want)
	}
	for _, c := range cases.Estimate {
		check("Estimate", c.Of, Estimate(c.Of[0], c.Of[1], c.Of[2]).String(), c.Want)
	}
	if n := len(cases.Number) + len(cases.Grouped) + len(cases.Range) + len(cases.Estimate); n < 40 {
		t.Errorf("%d cases", n)
	}
}

func TestBrief(t *testing.T) {
	for v, want := range map[float64]string{170: "170", 1.7: "1.7", 12345: "12,000", 0.0042: "0.0042", 1: "1", 99.6: "100",
		-103: "-100", math.Inf(1): "+Inf"} {
		if got := Brief(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	for share, want := range map[float64]string{0.125: "1/8", 1.0 / 3: "1/3", 0.3: "0.3", 1: "1", 0: "0"} {
		if got := Share(share); got != want {
			t.Errorf("%v is %s, want %s", share, got, want)
		}
	}
}

// TestNotNumbers: JSON cannot write these.
func TestNotNumbers(t *testing.T) {
	for want, v := range map[string]float64{"NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1),
		"0": math.Copysign(0, -1)} {
		if got := Grouped(v); got != want {
			t.Errorf("Grouped: %q, want %q", got, want)
		}
		if got := Number(v); got != want && v != 0 {
			t.Errorf("Number: %q, want %q", got, want)
		}
	}
}

func TestArgument(t *testing.T) {
	for text, want := range map[string]string{"name": "name", "Unnamed: 0": "'Unnamed: 0'", "it's": `'it'\''s'`, "": "''",
		"größe": "größe", "$x": "'$x'"} {
		if got := Argument(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"price", "Yield [%]", "x1", "x2", "temperature"}
	for name, want := range map[string]string{"Price": "price", "prise": "price", "temprature": "temperature",
		"yield[%]": "Yield [%]", "Yeld": "Yield [%]", "yield": "Yield [%]", "cost": "", "y": "", "": ""} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := DidYouMean("Price", names); got != `did you mean "price"? ` {
		t.Error(got)
	}
}

// TestText: numbers of a text get the mark; names and the commas between its words stay.
func TestText(t *testing.T) {
	t.Parallel()
	weights := []Text{Textf("%.2f %s", 0.96, "gp"), Textf("%.2f %s", float32(0.04), "A1.5")}
	text := Textf("%v (%5.1f %% of %s, %s, %d), %v and %v", Joined(weights, ", 1% "), 12.25, Num("1,046.5"), "sketch(1,5)",
		1500, Counted(1234, "row of 1.5", "rows of 1.5"), Estimate(3030, 2310, 4560))
	for decimal, want := range map[byte]string{
		0:   "0.96 gp, 1% 0.04 A1.5 ( 12.2 % of 1,046.5, sketch(1,5), 1500), 1,234 rows of 1.5 and 3,030 (2,310 to 4,560)",
		',': "0,96 gp, 1% 0,04 A1.5 ( 12,2 % of 1.046,5, sketch(1,5), 1500), 1.234 rows of 1.5 and 3.030 (2.310 to 4.560)",
	} {
		if got := text.In(decimal); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	raw, err := json.Marshal(text)
	var back Text
	if err != nil || json.Unmarshal(raw, &back) != nil || back.String() != text.String() {
		t.Errorf("%s, %v", raw, err)
	}
	if got := fmt.Sprintf("%s %v", Counted(1, "row", "rows"), Text{}); got != "1 row " {
		t.Errorf("%q", got)
	}
}

func TestMemory(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 MiB", 1: "1 byte", 1023: "1,023 bytes", 1 << 10: "1 KiB", 1<<10 + 1: "2 KiB",
		5 << 20: "5 MiB", 3 << 29: "1.5 GiB",
	} {
		if got := Memory(bytes); got != want {
			t.Errorf("%d: %q, want %q", bytes, got, want)
		}
	}
}

func TestFreeName(t *testing.T) {
	for name, want := range map[string]string{"score": "score", "row": "nextbatch_row",
		"pick": "nextbatch_nextbatch_pick"} {
		if got := FreeName(name, "row", "pick", "nextbatch_pick"); got != want {
			t.Errorf("%s becomes %s, not %s", name, got, want)
		}
	}
}
