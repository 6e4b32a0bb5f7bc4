package explain

import (
	"slices"
	"testing"
)

// TestReasonsFarFromZero: a reason shows numbers that differ with the digits in which they do.
func TestReasonsFarFromZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want []string }{
		{Numbers(3.14159, 2), []string{"3.142", "2"}},
		{Numbers(1.7e9+1.25, 1.7e9-2), []string{"1700000001", "1699999998"}},
		{Numbers(1e12+0.25, 1e12, 1e12+0.5), []string{"1000000000000.25", "1000000000000", "1000000000000.5"}},
		{Numbers(1.7e9, 1.7e9), []string{"1700000000", "1700000000"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
