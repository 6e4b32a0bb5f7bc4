package report

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

func labels(ticks []plot.Tick) string {
	var list []string
	for _, t := range ticks {
		if t.Label != "" {
			list = append(list, t.Label)
		}
	}
	return strings.Join(list, " ")
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ticker    plot.Ticker
		low, high float64
		want      string
	}{
		{linearTicks{}, 0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{linearTicks{}, -1.63, -1.38, "-1.60 -1.55 -1.50 -1.45 -1.40"},
		{linearTicks{}, -0.3, 0.7, "-0.2 0.0 0.2 0.4 0.6"},
		{linearTicks{}, 0, 4352, "0 1,000 2,000 3,000 4,000"},
		{linearTicks{}, 0, 3e7, "0 5e6 1e7 1.5e7 2e7 2.5e7 3e7"},
		{linearTicks{}, 0, 4e-5, "0 1e-5 2e-5 3e-5 4e-5"},
		{linearTicks{}, 2, 2, "2"},
		{logTicks{Base: 2}, 250, 4400, "256 512 1,024 2,048 4,096"},
		{logTicks{Base: 2}, 1, 1 << 20, "1 8 64 512 4,096 32,768 262,144"},
		{logTicks{Base: 2}, 250, 520, "250 300 350 400 450 500"},
		{logTicks{}, 0.07, 0.6, "0.1 0.2 0.3 0.5"},
		{logTicks{}, 0.1, 0.5, "0.1 0.2 0.3 0.4 0.5"},
		{logTicks{}, 0.05, 5, "0.05 0.1 0.2 0.5 1 2 5"},
		{logTicks{}, 0.01, 100, "0.01 0.1 1 10 100"},
		{logTicks{}, 1e-9, 1e9, "1e-9 1e-6 0.001 1 1,000 1e6 1e9"},
		{logTicks{}, 0.72, 0.78, "0.72 0.73 0.74 0.75 0.76 0.77 0.78"},
		{logTicks{}, 0, 1, "0"},
		{logTicks{}, 1, math.Inf(1), "1"},
	} {
		if got := labels(c.ticker.Ticks(c.low, c.high)); got != c.want {
			t.Errorf("%T from %v to %v: %q, want %q", c.ticker, c.low, c.high, got, c.want)
		}
	}
}

func TestTicksLieOnTheAxis(t *testing.T) {
	t.Parallel()
	for _, ticker := range []plot.Ticker{linearTicks{}, logTicks{}, logTicks{Base: 2}} {
		for low := 1e-7; low < 1e7; low *= 3.3 {
			for ratio := 1.0001; ratio < 1e9; ratio *= 1.7 {
				ticks := ticker.Ticks(low, low*ratio)
				if len(ticks) > 200 || labels(ticks) == "" && ratio > 2 {
					t.Fatalf("%T from %v to %v: %d ticks, labels %q", ticker, low, low*ratio, len(ticks), labels(ticks))
				}
				for _, tick := range ticks {
					if tick.Value < low*(1-1e-6) || tick.Value > low*ratio*(1+1e-6) {
						t.Fatalf("%T from %v to %v: a tick at %v", ticker, low, low*ratio, tick.Value)
					}
				}
			}
		}
	}
}

func TestTicksOfExtremes(t *testing.T) {
	t.Parallel()
	for _, ticker := range []plot.Ticker{linearTicks{}, logTicks{}, logTicks{Base: 2}} {
		for _, v := range []float64{1, 0.1, 1e300, math.MaxFloat64, 1e-300, 5e-324, 256, 1e16, -3, -1e200} {
			next := math.Nextafter(v, math.Inf(1))
			for _, high := range []float64{next, math.Nextafter(next, math.Inf(1)), v + math.Abs(v)*1e-12} {
				if n := len(ticker.Ticks(v, high)); n < 1 || n > 200 {
					t.Errorf("%T from %v to %v: %d ticks", ticker, v, high, n)
				}
			}
		}
		for _, c := range [][2]float64{{-math.MaxFloat64, math.MaxFloat64}, {0, math.MaxFloat64}, {0, 5e-324},
			{5e-324, math.MaxFloat64}, {math.NaN(), 1}, {1, 0}} {
			if n := len(ticker.Ticks(c[0], c[1])); n < 1 || n > 20_000 {
				t.Errorf("%T from %v to %v: %d ticks", ticker, c[0], c[1], n)
			}
		}
	}
}

// TestMeasuredTicks: there is a tick at every measured size, and no two labels touch.
func TestMeasuredTicks(t *testing.T) {
	t.Parallel()
	var at []float64
	for i := range 17 {
		at = append(at, 256*float64(i+1))
	}
	for _, width := range []vg.Length{60, 130, 360} {
		for _, log := range []bool{false, true} {
			m := measuredTicks{at, width, log}
			ticks := m.Ticks(200, 4600)
			if len(ticks) != 17 || ticks[0].Label != "256" || ticks[16].Label != "4,352" {
				t.Fatalf("%v points: %v", width, ticks)
			}
			last := -1
			for i, tick := range ticks {
				if tick.Label == "" {
					continue
				}
				if last >= 0 && m.collide(last, i, 200, 4600) {
					t.Errorf("%v points: %s touches %s", width, ticks[last].Label, tick.Label)
				}
				last = i
			}
		}
	}
}
