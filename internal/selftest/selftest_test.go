package selftest

import "testing"

func TestRun(t *testing.T) {
	checks := Run()
	if len(checks) == 0 || !(GFlops() > 0) {
		t.Error("nothing was computed")
	}
	for _, c := range checks {
		if !(c.Error <= c.Tolerance) {
			t.Errorf("%s: error %v, tolerance %v", c.Name, c.Error, c.Tolerance)
		}
	}
}
