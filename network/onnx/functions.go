package onnx

import "math"

// functions are the activations by the name of their operator. Each returns the
// function for the attributes of a node.
var functions = map[string]struct {
	kind loopKind
	of   func(n *node) (function, error)
}{
	"Relu":     {relu, fixed(reluAt)},
	"Tanh":     {tanh, fixed(nil)},
	"Sigmoid":  {sigmoid, fixed(sigmoidAt)},
	"Softplus": {plain, fixed(softplusAt)},
	"Softsign": {plain,
		fixed(func(z float64) (float64, float64) { d := 1 + math.Abs(z); return z / d, 1 / (d * d) })},
	"Erf": {plain, fixed(func(z float64) (float64, float64) {
		return math.Erf(z),
			2 / math.Sqrt(math.Pi) * math.Exp(-z*z)
	})},
	"Exp":             {plain, fixed(func(z float64) (float64, float64) { e := math.Exp(z); return e, e })},
	"Log":             {plain, fixed(func(z float64) (float64, float64) { return math.Log(z), 1 / z })},
	"Sqrt":            {plain, fixed(func(z float64) (float64, float64) { r := math.Sqrt(z); return r, 0.5 / r })},
	"Reciprocal":      {plain, fixed(func(z float64) (float64, float64) { return 1 / z, -1 / (z * z) })},
	"Neg":             {plain, fixed(func(z float64) (float64, float64) { return -z, -1 })},
	"Abs":             {plain, fixed(func(z float64) (float64, float64) { return math.Abs(z), sign(z) })},
	"Mish":            {plain, fixed(mishAt)},
	"HardSwish":       {plain, fixed(hardSwishAt)},
	"LeakyRelu":       {plain, withAlpha(0.01, leakyAt)},
	"ThresholdedRelu": {plain, withAlpha(1, thresholdedAt)},
	"Elu":             {plain, withAlpha(1, eluAt)},
	"Celu":            {plain, withAlpha(1, celuAt)},
	"Swish":           {plain, withAlpha(1, swishAt)},
	"Selu":            {plain, selu},
	"HardSigmoid":     {plain, hardSigmoid},
	"Gelu":            {plain, gelu},
}

func fixed(f function) func(*node) (function, error) {
	return func(*node) (function, error) { return f, nil }
}

// withAlpha returns a function of z and the attribute alpha.
func withAlpha(otherwise float64, f func(z, alpha float64) (float64, float64)) func(*node) (function, error) {
	return func(n *node) (function, error) {
		alpha := n.float("alpha", otherwise)
		return func(z float64) (float64, float64) { return f(z, alpha) }, nil
	}
}

func sign(z float64) float64 {
	switch {
	case z > 0:
		return 1
	case z < 0:
		return -1
	}
	return 0
}

func reluAt(z float64) (value, slope float64) { return leakyAt(z, 0) }

func leakyAt(z, alpha float64) (value, slope float64) {
	if z > 0 {
		return z, 1
	}
	return alpha * z, alpha
}

func thresholdedAt(z, alpha float64) (value, slope float64) {
	if z > alpha {
		return z, 1
	}
	return 0, 0
}

func eluAt(z, alpha float64) (value, slope float64) {
	if z > 0 {
		return z, 1
	}
	return alpha * math.Expm1(z), alpha * math.Exp(z)
}

func celuAt(z, alpha float64) (value, slope float64) {
	if z > 0 {
		return z, 1
	}
	return alpha * math.Expm1(z/alpha), math.Exp(z / alpha)
}

func sigmoidAt(z float64) (value, slope float64) {
	e := math.Exp(-math.Abs(z)) // never overflows
	s := 1 / (1 + e)
	if z < 0 {
		s = e / (1 + e)
	}
	return s, e / ((1 + e) * (1 + e))
}

func swishAt(z, alpha float64) (value, slope float64) {
	s, ds := sigmoidAt(alpha * z)
	return z * s, s + alpha*z*ds
}

func softplusAt(z float64) (value, slope float64) {
	s, _ := sigmoidAt(z)
	return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))), s
}

func mishAt(z float64) (value, slope float64) {
	p, s := softplusAt(z)
	t := math.Tanh(p)
	return z * t, t + z*s*(1-t*t)
}

func hardSwishAt(z float64) (value, slope float64) {
	switch {
	case z <= -3:
		return 0, 0
	case z >= 3:
		return z, 1
	}
	return z * (z/6 + 0.5), z/3 + 0.5
}

func selu(n *node) (function, error) {
	alpha, gamma := n.float("alpha", 1.67326319217681884765625), n.float("gamma", 1.05070102214813232421875)
	return func(z float64) (float64, float64) {
		value, slope := eluAt(z, alpha)
		return gamma * value, gamma * slope
	}, nil
}

func hardSigmoid(n *node) (function, error) {
	alpha, beta := n.float("alpha", 0.2), n.float("beta", 0.5)
	return func(z float64) (float64, float64) {
		v := alpha*z + beta
		if v <= 0 || v >= 1 {
			return min(max(v, 0), 1), 0
		}
		return v, alpha
	}, nil
}

func gelu(n *node) (function, error) {
	switch kind := n.text("approximate", "none"); kind {
	case "none":
		return geluAt, nil
	case "tanh":
		return geluTanhAt, nil
	default:
		return nil, n.failf("approximate is %q, not none or tanh", kind)
	}
}

func geluAt(z float64) (value, slope float64) {
	below := 0.5 * math.Erfc(-z/math.Sqrt2)
	return z * below, below + z*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
}

func geluTanhAt(z float64) (value, slope float64) {
	c := math.Sqrt(2 / math.Pi)
	t := math.Tanh(c * (z + 0.044715*z*z*z))
	return z * (1 + t) / 2, (1+t)/2 + z*(1-t*t)*c*(1+3*0.044715*z*z)/2
}

// clipped limits numbers to a range.
func clipped(low, high float64) function {
	return func(z float64) (float64, float64) {
		if z < low || z > high {
			return min(max(z, low), high), 0
		}
		return z, 1
	}
}

// power raises numbers to a constant exponent.
func power(e float64) function {
	return func(z float64) (float64, float64) { return math.Pow(z, e), e * math.Pow(z, e-1) }
}
