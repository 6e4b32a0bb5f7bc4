package dataset

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
)

func TestRanges(t *testing.T) {
	for text, want := range map[string]Ranges{
		"0..100": {{0, 100}}, "-1.5 .. 2e3": {{-1.5, 2000}}, "0..": {{0, math.Inf(1)}},
		"..1,0..100": {{math.Inf(-1), 1}, {0, 100}}, "..": {anything},
	} {
		got, err := ParseRanges(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		raw, err := json.Marshal(got)
		var read Ranges
		if err := errors.Join(err, json.Unmarshal(raw, &read)); err != nil || !slices.Equal(read, want) {
			t.Errorf("%s was read as %v, %v", raw, read, err)
		}
		if again, err := ParseRanges(got.String()); err != nil || !slices.Equal(again, want) {
			t.Errorf("%v was read as %v, %v", got, again, err)
		}
	}
	for _, text := range []string{"", "0", "0-100", "100..0", "1..1", "a..b", "0..100,", "NaN..1", "-Inf..0", "0..1e999"} {
		if got, err := ParseRanges(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestRangesOfTargets(t *testing.T) {
	list := []float64{-3, 0, 50, 100, 101, math.NaN()}
	Ranges{{0, 100}}.Of(1).Clip(list)
	if want := []float64{0, 0, 50, 100, 100}; !slices.Equal(list[:5], want) || !math.IsNaN(list[5]) {
		t.Errorf("clipped: %v", list)
	}
	const one = "there are 2 ranges for 1 target: declare one for all, or one for each"
	if err := (Ranges{{0, 1}, {2, 3}}).Check(1); err == nil || err.Error() != one {
		t.Error(err)
	}
	if two := (Ranges{{0, 1}, {2, 3}}); two.Check(2) != nil || two.Check(3) == nil || two.Of(1).Fault(1) == "" ||
		two.Of(1).Fault(math.NaN()) != "" {
		t.Errorf("%v: %v, %v, %q", two, two.Check(2), two.Check(3), two.Of(1).Fault(1))
	}
	if fault := (Ranges)(nil).Of(7).Fault(1e300); fault != "" {
		t.Error(fault)
	}
}
