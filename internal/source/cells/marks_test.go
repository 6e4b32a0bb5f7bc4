package cells

import "testing"

// TestTypedBesideStored: a workbook stores 36.5 with a point, and holds what someone typed as text with a comma.
func TestTypedBesideStored(t *testing.T) {
	stored := &Numerals{Decimal: '.', Typed: &Numerals{Decimal: ',', Thousands: '.'}}
	for text, want := range map[string]float64{"36.5": 36.5, "36,5": 36.5, "1.043,7": 1043.7, "7": 7} {
		if got, ok := stored.Number([]byte(text)); !ok || got != want {
			t.Errorf("%s: %v, %v", text, got, ok)
		}
	}
	if c := stored.Loose([]byte("<0,5")); c.Kind != belowCell || c.value != 0.5 {
		t.Errorf("%+v", c)
	}
	if _, ok := stored.Number([]byte("1,2,3")); ok {
		t.Error("1,2,3 is a number")
	}
}
