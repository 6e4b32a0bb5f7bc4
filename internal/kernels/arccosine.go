package kernels

import "math"

// arcCosine are the expectations of ReLU (paper, appendix "NNGP Kernel"), with
// u = b/√(ac):
//
//	E[φφ]   = √(ac)/(2π)·(√(1−u²) + u·(π − arccos u))
//	E[φ'φ'] = (π − arccos u)/(2π)
type arcCosine struct{}

func (arcCosine) size() int { return 1 }

// prepare computes a/2 by the formula for two rows. It then rounds as that
// formula does, so that u of a row and itself is 1 in every layer. Just below 1,
// the arccosine would magnify the last bit of u to the seventh digit.
func (c arcCosine) prepare(state []float64, a float64) float64 {
	state[0] = a
	value, _ := c.expect(state, state, a)
	return value
}

func (arcCosine) expect(x, y []float64, b float64) (value, slope float64) {
	norm := math.Sqrt(x[0] * y[0])
	u := correlation(b, norm)
	angle := math.Pi - math.Acos(u)
	value = norm / (2 * math.Pi) * (math.Sqrt((1-u)*(1+u)) + u*angle)
	return value, angle / (2 * math.Pi)
}

// correlation returns b/norm, which rounding must not take beyond ±1. It is zero
// where one of the two numbers has variance zero.
func correlation(b, norm float64) float64 {
	if norm == 0 {
		return 0
	}
	return max(-1, min(b/norm, 1))
}
