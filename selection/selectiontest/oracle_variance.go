package selectiontest

import "math"

// MaxDiag is the paper's algorithm of that name.
type MaxDiag struct{ in *Input }

func (o *MaxDiag) Init(in *Input) { o.in = in }
func (o *MaxDiag) Add(int)        {}
func (o *MaxDiag) Next(rem []int) int {
	return argmax(rem, func(x int) float64 { return o.in.per(x, o.in.k(x, x)) })
}

// MaxDetKernel is "MaxDet pseudocode implementation in kernel space", with the
// square root in the denominator, where it belongs.
type MaxDetKernel struct {
	Sigma2 float64

	in   *Input
	cand []int
	b    [][]float64 // row by row
	c    []float64   // by candidate
}

func (o *MaxDetKernel) Init(in *Input) {
	o.in, o.cand, o.b = in, in.cand(), nil
	o.c = make([]float64, len(in.Rows))
	for _, x := range o.cand {
		o.c[x] = in.k(x, x) + o.Sigma2
	}
}

//go:norace
func (o *MaxDetKernel) Add(x int) {
	v := make([]float64, len(o.in.Rows))
	for _, y := range o.cand {
		v[y] = o.in.k(y, x)
		if y == x {
			v[y] += o.Sigma2
		}
		for _, row := range o.b {
			v[y] -= row[y] * row[x]
		}
		v[y] /= math.Sqrt(o.c[x])
	}
	o.b = append(o.b, v)
	for _, y := range o.cand {
		o.c[y] -= v[y] * v[y]
	}
}

func (o *MaxDetKernel) Next(rem []int) int {
	return argmax(rem, func(x int) float64 { return o.in.per(x, o.c[x]-o.Sigma2) })
}

// MaxDetFeatures is "MaxDet pseudocode implementation in feature space".
type MaxDetFeatures struct {
	Sigma2 float64

	in  *Input
	phi [][]float64
	c   []float64
}

func (o *MaxDetFeatures) Init(in *Input) {
	o.in, o.phi = in, clone(in.Rows)
	o.c = make([]float64, len(o.phi))
	for x, row := range o.phi {
		o.c[x] = dot(row, row)
	}
}

//go:norace
func (o *MaxDetFeatures) Add(x int) {
	gamma := math.Sqrt(o.Sigma2 + o.c[x])
	beta := 1 / (gamma * (gamma + math.Sqrt(o.Sigma2)))
	px := append([]float64{}, o.phi[x]...)
	u := mulVec(o.phi, px)
	for y := range o.phi {
		o.c[y] -= u[y] * u[y] / (gamma * gamma)
		for i := range px {
			o.phi[y][i] -= beta * u[y] * px[i]
		}
	}
}

func (o *MaxDetFeatures) Next(rem []int) int {
	return argmax(rem, func(x int) float64 { return o.in.per(x, o.c[x]) })
}

// BAIT is "Bait-F pseudocode implementation in feature space". Σ is over the
// training rows and the pool, or over the target.
type BAIT struct {
	Sigma2 float64

	in    *Input
	phi   [][]float64
	c, v  []float64
	sigma [][]float64
}

func (o *BAIT) Init(in *Input) {
	o.in, o.phi = in, clone(in.Rows)
	d := len(o.phi[0])
	o.sigma = make([][]float64, d)
	for i := range o.sigma {
		o.sigma[i] = make([]float64, d)
	}
	o.eachTarget(in, func(row []float64, weight float64) {
		for i := range row {
			for j := range row {
				o.sigma[i][j] += weight * row[i] * row[j]
			}
		}
	})
	o.c, o.v = make([]float64, len(o.phi)), make([]float64, len(o.phi))
	for x, row := range o.phi {
		o.c[x] = dot(row, row)
		o.v[x] = dot(row, mulVec(o.sigma, row))
	}
}

// eachTarget visits X_tp, or what replaces it.
func (o *BAIT) eachTarget(in *Input, visit func(row []float64, weight float64)) {
	switch {
	case in.Target != nil:
		for _, row := range in.Target {
			visit(row, 1)
		}
	case in.Weight != nil:
		for x, w := range in.Weight {
			visit(in.Rows[x], w)
		}
	default:
		for _, row := range in.Rows {
			visit(row, 1)
		}
	}
}

func (o *BAIT) Add(x int) {
	gamma := math.Sqrt(o.Sigma2 + o.c[x])
	beta := 1 / (gamma * (gamma + math.Sqrt(o.Sigma2)))
	o.update(x, -1/(gamma*gamma), -beta)
}

// update is ADD, and REMOVE with the signs the other way: a is ∓γ⁻², b is ∓β.
//
//go:norace
func (o *BAIT) update(x int, a, b float64) {
	px := append([]float64{}, o.phi[x]...)
	u := mulVec(o.phi, px)
	w := mulVec(o.sigma, px)
	vx := o.v[x]
	for y := range o.phi {
		o.v[y] += 2*a*dot(o.phi[y], w)*u[y] + a*a*vx*u[y]*u[y]
	}
	for i := range o.sigma {
		for j := range o.sigma {
			o.sigma[i][j] += b*(w[i]*px[j]+w[j]*px[i]) + b*b*vx*px[i]*px[j]
		}
	}
	for y := range o.phi {
		o.c[y] += a * u[y] * u[y]
		for i := range px {
			o.phi[y][i] += b * u[y] * px[i]
		}
	}
}

func (o *BAIT) Next(rem []int) int {
	return argmax(rem, func(x int) float64 { return o.in.per(x, o.v[x]/(o.Sigma2+o.c[x])) })
}

// BAITBackward adds the functions of "Bait-FB".
type BAITBackward struct{ BAIT }

func (o *BAITBackward) Remove(x int) {
	gamma := math.Sqrt(o.left(x))
	beta := 1 / (gamma * (gamma + math.Sqrt(o.Sigma2)))
	o.update(x, 1/(gamma*gamma), beta)
}

func (o *BAITBackward) NextBackward(batch []int) int {
	return argmax(batch, func(x int) float64 { return -o.v[x] / o.left(x) })
}

func (o *BAITBackward) left(x int) float64 { return max(o.Sigma2-o.c[x], 1e-15) }
