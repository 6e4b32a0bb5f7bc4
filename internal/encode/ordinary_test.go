package encode

import (
	"math"
	"testing"
)

func TestOrdinaryLabels(t *testing.T) {
	var labels []float64
	for i := range 100 {
		labels = append(labels, float64(i)) // the middle four fifths are 10 to 89
	}
	for _, c := range []struct {
		more      []float64
		low, high float64
	}{
		{nil, 0, 99},
		{[]float64{math.NaN(), 240}, 0, 240},
		{[]float64{1e9, 250}, 0, 250},
		{[]float64{-1e9, -1e9, 500}, 0, 99},
	} {
		if low, high := OrdinaryLabels(append(labels[:100:100], c.more...), 2); low != c.low || high != c.high {
			t.Errorf("with %v: %v to %v, want %v to %v", c.more, low, high, c.low, c.high)
		}
	}
	equal := append(make([]float64, 50), 1e9)
	for _, list := range [][]float64{labels[:19], equal, nil, append(labels[:30:30], 1e308, -1e308, 1e308, -1e308, 1e308,
		-1e308, 1e308, -1e308)} {
		if low, high := OrdinaryLabels(list, 2); !math.IsInf(low, -1) || !math.IsInf(high, 1) {
			t.Errorf("%d labels: %v to %v, want no limits", len(list), low, high)
		}
	}
}
