package plausible

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// TestSorted adds and removes labels at random. After every step, the summary is that of the same labels when they are
// summarised all at once, in another order, and what depends on single labels is what loops over all of them find.
func TestSorted(t *testing.T) {
	t.Parallel()
	draws := map[string]func(d *rng.Stream) float64{
		"few values": func(d *rng.Stream) float64 { return float64(d.IntN(5)) },
		"level":      func(d *rng.Stream) float64 { return 50 + d.NormFloat64() },
		"skewed":     func(d *rng.Stream) float64 { return math.Exp(0.5 * d.NormFloat64()) },
		"magnitudes": func(d *rng.Stream) float64 { return math.Exp(2 * d.NormFloat64()) },
		"negative":   func(d *rng.Stream) float64 { return -math.Exp(2 * d.NormFloat64()) },
		"both signs": func(d *rng.Stream) float64 { return math.Sinh(3 * d.NormFloat64()) },
		"counts":     func(d *rng.Stream) float64 { return math.Floor(math.Exp(2*d.NormFloat64() - 1)) },
		"zeros":      func(d *rng.Stream) float64 { return math.Copysign(float64(d.IntN(2)), d.NormFloat64()) },
	}
	for name, draw := range draws {
		d, labels, values := rng.New(1, name), &Sorted{}, []float64{}
		for step := range 3000 {
			if len(values) > 0 && d.IntN(1500) < step-1000 {
				at := d.IntN(len(values))
				labels.Remove(values[at], math.NaN(), 1e9)
				values = slices.Delete(values, at, at+1)
			} else {
				v := draw(d)
				labels.Add(v, math.NaN(), math.Inf(1))
				values = append(values, v)
			}
			if step%7 > 0 && len(values) > 3 {
				continue
			}
			got, want := labels.Labels(), Learn(values)
			if labels.Len() != len(values) || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: of %d labels\n%+v\nand afresh\n%+v", name, len(values), got, want)
			}
			compareWithLoops(t, name, labels, got, values)
		}
	}
}

func compareWithLoops(t *testing.T, name string, labels *Sorted, l *Labels, values []float64) {
	t.Helper()
	var list []float64
	for _, v := range values {
		if v != 0 {
			list = append(list, math.Abs(v))
		}
	}
	slices.Sort(list)
	sizes := labels.sizes()
	if sizes.count != len(list) {
		t.Fatalf("%s: %d of %d labels are not zero, not %d", name, len(list), len(values), sizes.count)
	}
	for i, want := range list {
		if got := sizes.at(i); got != want {
			t.Fatalf("%s: size %d is %v, not %v", name, i, got, want)
		}
	}
	for _, m := range []summary{l.plain, l.even} {
		first, last := m.median, m.median
		for _, y := range values {
			if v := m.scale.of(y); m.within(v) {
				first, last = min(first, v), max(last, v)
			}
		}
		if m.first != first || m.last != last {
			t.Fatalf("%s: labels within the fences from %v to %v, not from %v to %v", name, m.first, m.last, first, last)
		}
	}
}
