package nextbatch

import (
	"math"
	"testing"
)

func TestExtrapolation(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{alongLine(1, 3, 2, 4, 10), 12}, // 2 + x
		{alongLine(1, 5, 2, 4, 10), 4},  // never less than the second
		{alongLine(1, 1, 2, 4, 10), 20}, // never more than in proportion
		{alongLine(4, 3, 4, 4, 8), 8},   // one point
		{alongPower(1, 1, 16, 16, 64), 64},
		{alongPower(1, 1, 4, 64, 8), 64 * math.Pow(2, 1.3)},
		{alongPower(1, 0, 1, 2, 3), 6},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}
