package selection

// B and c of maxdet_kernel.go with twice as many digits. c is without the noise
// here; the noise comes in where a row is added, as in the feature space's γ².

import "github.com/nextbatch/nextbatch/matrix"

type preciseKernel struct {
	space  *Space[float64]
	sigma2 float64
	b      []doubles
	c      doubles
}

func newPreciseKernel(s *Space[float64], sigma2 float64) *preciseKernel {
	p := &preciseKernel{space: s, sigma2: sigma2, c: newDoubles(s.PoolSize())}
	copy(p.c.hi, s.Diag())
	return p
}

// variances writes the variance of each row.
func (p *preciseKernel) variances(dst []float64) {
	for i := range dst {
		dst[i] = max(p.c.at(i).value(), 0)
	}
}

// add conditions on candidates, of which training rows come first, and returns false
// if even these digits are too few.
func (p *preciseKernel) add(candidates []int) (bool, error) {
	train := 0
	for train < len(candidates) && candidates[train] >= p.space.PoolSize() {
		train++
	}
	if done, err := p.addTrain(candidates[:train]); err != nil || !done {
		return done, err
	}
	for _, x := range candidates[train:] {
		column := newDoubles(len(p.b))
		for j, b := range p.b {
			column.set(j, b.at(x))
		}
		if err := p.extend(x, column, twoSum(p.c.hi[x], p.sigma2).addProduct(p.c.lo[x], 1).normal().root()); err != nil {
			return false, err
		}
	}
	return true, nil
}

// addTrain conditions on training rows, the first of all.
func (p *preciseKernel) addTrain(candidates []int) (bool, error) {
	if len(candidates) == 0 {
		return true, nil
	}
	rows, _ := p.space.gather(candidates)
	k := matrix.New[float64](rows.Rows, rows.Rows)
	if err := p.space.cross(k, rows, rows); err != nil {
		return false, err
	}
	l := newTriangle(rows.Rows)
	for i, row := range l {
		copy(row.hi, k.Row(i))
		row.set(i, twoSum(row.hi[i], p.sigma2))
	}
	if !l.factor(p.space.team, p.space.Cancelled) {
		return false, nil
	}
	for i, x := range candidates {
		if err := p.extend(x, l[i].part(0, i), l[i].at(i)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// extend adds (k(·, x) − Bᵀcolumn)/pivot to B and lowers c. There is no σ²e_x here: it
// would matter for x alone, which is selected.
func (p *preciseKernel) extend(x int, column doubles, pivot double) error {
	v := newDoubles(p.space.PoolSize())
	if err := p.space.Kernel(v.hi, x); err != nil {
		return err
	}
	p.space.team.OverPieces(len(v.hi), readPiece, func(_, from, to int) {
		for i := from; i < to; i++ {
			at := v.at(i)
			for j, b := range p.b {
				at = at.subProduct(column.at(j), b.at(i))
			}
			at = at.normal().over(pivot)
			v.set(i, at)
			p.c.set(i, p.c.at(i).subProduct(at, at).normal())
		}
	})
	p.b = append(p.b, v)
	return nil
}
