package selectiontest

import "math"

// FrankWolfeFeatures is "FrankWolfe pseudocode implementation in feature space".
// A row without a direction (zero features) is never picked.
type FrankWolfeFeatures struct {
	in   *Input
	phi  [][]float64
	c    []float64
	r    float64
	u, v []float64
}

//go:norace
func (o *FrankWolfeFeatures) Init(in *Input) {
	d := len(in.Rows[0])
	*o = FrankWolfeFeatures{in: in, phi: clone(in.Rows), c: make([]float64, len(in.Rows)),
		u: make([]float64, d), v: make([]float64, d)}
	for _, x := range in.cand() {
		o.c[x] = math.Sqrt(dot(o.phi[x], o.phi[x]))
		o.r += o.c[x]
		for i := range o.u {
			o.u[i] += o.phi[x][i]
		}
		if o.c[x] > 0 {
			for i := range o.phi[x] {
				o.phi[x][i] /= o.c[x] // Φ̃ from now on
			}
		}
	}
}

func (o *FrankWolfeFeatures) Add(x int) {
	if o.c[x] == 0 {
		return
	}
	way, rest := make([]float64, len(o.v)), make([]float64, len(o.v))
	for i := range way {
		way[i] = o.r*o.phi[x][i] - o.v[i]
		rest[i] = o.u[i] - o.v[i]
	}
	if dot(way, way) == 0 {
		return
	}
	gamma := dot(way, rest) / dot(way, way)
	for i := range o.v {
		o.v[i] = (1-gamma)*o.v[i] + gamma*o.r*o.phi[x][i]
	}
}

func (o *FrankWolfeFeatures) Next(rem []int) int {
	return argmax(rem, func(x int) float64 {
		if o.c[x] == 0 {
			return math.Inf(-1)
		}
		sum := 0.0
		for i := range o.u {
			sum += o.phi[x][i] * (o.u[i] - o.v[i])
		}
		return o.in.noisy(x, sum, math.Sqrt(dot(o.u, o.u)))
	})
}

// FrankWolfeKernel is "FrankWolfe pseudocode implementation in kernel space".
type FrankWolfeKernel struct {
	in      *Input
	cand    []int
	c, u, v []float64
	r, s, t float64
}

//go:norace
func (o *FrankWolfeKernel) Init(in *Input) {
	n := len(in.Rows)
	*o = FrankWolfeKernel{in: in, cand: in.cand(), c: make([]float64, n), u: make([]float64, n), v: make([]float64, n)}
	for _, x := range o.cand {
		o.c[x] = math.Sqrt(in.k(x, x))
		o.r += o.c[x]
		for _, y := range o.cand {
			o.u[x] += in.k(x, y)
		}
	}
}

//go:norace
func (o *FrankWolfeKernel) Add(x int) {
	if o.c[x] == 0 {
		return
	}
	rc := o.r / o.c[x]
	square := o.r*o.r - 2*rc*o.v[x] + o.s
	if square <= 0 {
		return
	}
	gamma := (rc*(o.u[x]-o.v[x]) + o.s - o.t) / square
	o.s = (1-gamma)*(1-gamma)*o.s + 2*(1-gamma)*gamma*rc*o.v[x] + gamma*gamma*o.r*o.r
	o.t = (1-gamma)*o.t + gamma*rc*o.u[x]
	for _, y := range o.cand {
		o.v[y] = (1-gamma)*o.v[y] + gamma*rc*o.in.k(x, y)
	}
}

func (o *FrankWolfeKernel) Next(rem []int) int {
	return argmax(rem, func(x int) float64 {
		if o.c[x] == 0 {
			return math.Inf(-1)
		}
		return o.in.noisy(x, (o.u[x]-o.v[x])/o.c[x], math.Abs(o.u[x])/o.c[x])
	})
}
