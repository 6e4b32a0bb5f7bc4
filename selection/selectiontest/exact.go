package selectiontest

import "math/big"

// exactDigits is the precision of Exact, in binary digits: about 72 decimal ones.
const exactDigits = 240

// Exact is the posterior covariance of all candidates, with 72 digits: what MaxDet
// and BAIT would score by without rounding.
type Exact struct {
	sigma2 *big.Float
	exactCovariance
}

// exactCovariance holds the covariances c(x, y) of all candidates.
type exactCovariance interface {
	variance(x int) *big.Float
	// summed is the sum of the squared covariances with x, over all candidates or
	// over the target's weights.
	summed(x int) *big.Float
	// change adds c(y, x)·c(x, z)/by to every c(y, z).
	change(x int, by *big.Float)
}

// NewExact returns the covariance before the first selected row. The numbers of
// the input, and values of its kernel, count as exact.
func NewExact(in *Input, sigma2 float64) *Exact {
	if in.Kernel != nil {
		return &Exact{exact(sigma2), newExactKernel(in)}
	}
	return &Exact{exact(sigma2), newExactFeatures(in)}
}

// Add conditions on a candidate.
func (e *Exact) Add(x int) { e.change(x, exact(0).Neg(exact(0).Add(e.sigma2, e.variance(x)))) }

// Remove takes a candidate back.
func (e *Exact) Remove(x int) { e.change(x, exact(0).Sub(e.sigma2, e.variance(x))) }

// Variance is the posterior variance of a candidate: MaxDet's score.
func (e *Exact) Variance(x int) *big.Float { return e.variance(x) }

// Gain is by how much a candidate lowers the summed variance: BAIT's score.
func (e *Exact) Gain(x int) *big.Float {
	return exact(0).Quo(e.summed(x), exact(0).Add(e.sigma2, e.variance(x)))
}

// Loss is by how much the summed variance rises without a selected candidate.
func (e *Exact) Loss(x int) *big.Float {
	return exact(0).Quo(e.summed(x), exact(0).Sub(e.sigma2, e.variance(x)))
}

// exactKernel writes every covariance down.
type exactKernel struct {
	in  *Input
	cov [][]*big.Float // c(x, y) for y ≤ x
}

func newExactKernel(in *Input) *exactKernel {
	e := &exactKernel{in: in, cov: make([][]*big.Float, len(in.Rows))}
	for x, row := range in.Rows {
		for y := range x + 1 {
			e.cov[x] = append(e.cov[x], exact(in.Kernel(row, in.Rows[y])))
		}
	}
	return e
}

func (e *exactKernel) at(x, y int) *big.Float {
	if x < y {
		x, y = y, x
	}
	return e.cov[x][y]
}

func (e *exactKernel) variance(x int) *big.Float { return e.at(x, x) }

func (e *exactKernel) summed(x int) *big.Float {
	sum, product := exact(0), exact(0)
	for y := range e.cov {
		product.Mul(e.at(x, y), e.at(x, y))
		sum.Add(sum, product.Mul(product, exact(weight(e.in, y))))
	}
	return sum
}

func (e *exactKernel) change(x int, by *big.Float) {
	column, product := make([]*big.Float, len(e.cov)), exact(0)
	for y := range column {
		column[y] = exact(0).Set(e.at(x, y))
	}
	for y, row := range e.cov {
		share := exact(0).Quo(column[y], by)
		for z := range row {
			row[z].Add(row[z], product.Mul(share, column[z]))
		}
	}
}

// exactFeatures is the covariance in few dimensions, with the features φ and the
// weights w of the candidates:
//
//	c(x, y) = φ(x)ᵀ·S·φ(y),   Σ_y w_y·c(x, y)² = (S·φ(x))ᵀ·M·(S·φ(x)),   M = Σ_y w_y·φ(y)·φ(y)ᵀ
//
// S is the identity at first, and c(y, x)·c(x, z)/by adds (S·φ(x))·(S·φ(x))ᵀ/by to it.
type exactFeatures struct {
	rows, s, moments [][]*big.Float
}

func newExactFeatures(in *Input) *exactFeatures {
	d := len(in.Rows[0])
	e := &exactFeatures{rows: exactMatrix(len(in.Rows), d), s: exactMatrix(d, d), moments: exactMatrix(d, d)}
	for i := range d {
		e.s[i][i].SetInt64(1)
	}
	for x, row := range in.Rows {
		for j, v := range row {
			e.rows[x][j].SetFloat64(v)
		}
		addOuter(e.moments, e.rows[x], exact(weight(in, x)))
	}
	return e
}

func (e *exactFeatures) variance(x int) *big.Float { return exactDot(e.rows[x], times(e.s, e.rows[x])) }

func (e *exactFeatures) summed(x int) *big.Float {
	g := times(e.s, e.rows[x])
	return exactDot(g, times(e.moments, g))
}

func (e *exactFeatures) change(x int, by *big.Float) {
	addOuter(e.s, times(e.s, e.rows[x]), exact(0).Quo(exact(1), by))
}

// weight is that of a candidate in BAIT's sum: 1 without a target.
func weight(in *Input, x int) float64 {
	switch {
	case in.Weight == nil:
		return 1
	case x < len(in.Weight):
		return in.Weight[x]
	}
	return 0
}

func exact(v float64) *big.Float { return new(big.Float).SetPrec(exactDigits).SetFloat64(v) }

func exactMatrix(rows, cols int) [][]*big.Float {
	m := make([][]*big.Float, rows)
	for i := range m {
		for range cols {
			m[i] = append(m[i], exact(0))
		}
	}
	return m
}

func exactDot(x, y []*big.Float) *big.Float {
	sum, product := exact(0), exact(0)
	for i := range x {
		sum.Add(sum, product.Mul(x[i], y[i]))
	}
	return sum
}

// times returns m·v.
func times(m [][]*big.Float, v []*big.Float) []*big.Float {
	product := make([]*big.Float, len(m))
	for i, row := range m {
		product[i] = exactDot(row, v)
	}
	return product
}

// addOuter adds factor·v·vᵀ to m.
func addOuter(m [][]*big.Float, v []*big.Float, factor *big.Float) {
	share, product := exact(0), exact(0)
	for i, row := range m {
		share.Mul(v[i], factor)
		for j := range row {
			row[j].Add(row[j], product.Mul(share, v[j]))
		}
	}
}

// Short is by what share the score of one candidate falls short of the best of
// others.
func Short(score func(x int) *big.Float, picked int, others []int) float64 {
	return apart(score, picked, others, 1)
}

// Over is by what share the score of one candidate is above the least of others.
func Over(score func(x int) *big.Float, picked int, others []int) float64 {
	return apart(score, picked, others, -1)
}

// apart is by what share a score differs from the best: the largest for the sign 1,
// the least for -1.
func apart(score func(x int) *big.Float, picked int, others []int, sign int) float64 {
	own := exact(0).Set(score(picked))
	best := exact(0).Set(own)
	for _, x := range others {
		if s := score(x); s.Cmp(best) == sign {
			best.Set(s)
		}
	}
	if best.Sign() <= 0 {
		return 0
	}
	difference := exact(0).Sub(best, own)
	share, _ := difference.Quo(difference, best).Float64()
	return share * float64(sign)
}
