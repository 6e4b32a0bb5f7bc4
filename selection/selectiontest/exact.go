package selectiontest

import "math/big"

// exactDigits is the precision of Exact, in binary digits: about 72 decimal ones.
const exactDigits = 240

// Exact is the posterior covariance of all candidates, with 72 digits: what MaxDet
// and BAIT would score by without rounding.
type Exact struct {
	in     *Input
	sigma2 *big.Float
	cov    [][]*big.Float // k_{→post}(x, y) for y ≤ x
}

// NewExact returns the covariance before the first selected row. The numbers of
// the input, and values of its kernel, count as exact.
func NewExact(in *Input, sigma2 float64) *Exact {
	e := &Exact{in: in, sigma2: exact(sigma2), cov: make([][]*big.Float, len(in.Rows))}
	rows := make([][]*big.Float, len(in.Rows))
	for x, row := range in.Rows {
		for _, v := range row {
			rows[x] = append(rows[x], exact(v))
		}
		for y := range x + 1 {
			if in.Kernel != nil {
				e.cov[x] = append(e.cov[x], exact(in.Kernel(row, in.Rows[y])))
			} else {
				e.cov[x] = append(e.cov[x], exactDot(rows[x], rows[y]))
			}
		}
	}
	return e
}

func exact(v float64) *big.Float { return new(big.Float).SetPrec(exactDigits).SetFloat64(v) }

func exactDot(x, y []*big.Float) *big.Float {
	sum, product := exact(0), exact(0)
	for i := range x {
		sum.Add(sum, product.Mul(x[i], y[i]))
	}
	return sum
}

func (e *Exact) at(x, y int) *big.Float {
	if x < y {
		x, y = y, x
	}
	return e.cov[x][y]
}

// Add conditions on a candidate.
func (e *Exact) Add(x int) { e.change(x, exact(0).Neg(exact(0).Add(e.sigma2, e.at(x, x)))) }

// Remove takes a candidate back.
func (e *Exact) Remove(x int) { e.change(x, exact(0).Sub(e.sigma2, e.at(x, x))) }

// change adds the product of the covariances with x, divided by a number.
func (e *Exact) change(x int, by *big.Float) {
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

// Variance is the posterior variance of a candidate: MaxDet's score.
func (e *Exact) Variance(x int) *big.Float { return e.at(x, x) }

// Gain is by how much a candidate lowers the summed variance: BAIT's score. The sum
// is over all candidates, or over the target's weights.
func (e *Exact) Gain(x int) *big.Float {
	return exact(0).Quo(e.summed(x), exact(0).Add(e.sigma2, e.at(x, x)))
}

// Loss is by how much the summed variance rises without a selected candidate.
func (e *Exact) Loss(x int) *big.Float {
	return exact(0).Quo(e.summed(x), exact(0).Sub(e.sigma2, e.at(x, x)))
}

func (e *Exact) summed(x int) *big.Float {
	sum, product := exact(0), exact(0)
	for y := range e.cov {
		product.Mul(e.at(x, y), e.at(x, y))
		if e.in.Weight != nil {
			product.Mul(product, exact(e.weight(y)))
		}
		sum.Add(sum, product)
	}
	return sum
}

func (e *Exact) weight(x int) float64 {
	if x < len(e.in.Weight) {
		return e.in.Weight[x]
	}
	return 0
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
