package selection

// MaxDet in kernel space with twice as many digits. c is without the noise here; the
// noise comes in where a row is added, as in the feature space's γ².

import "github.com/nextbatch/nextbatch/matrix"

type preciseKernel[T matrix.Float] struct {
	space  *Space[T]
	sigma2 float64
	pool   precisePivotSearch
}

func newPreciseKernel[T matrix.Float](s *Space[T], sigma2 float64) (*preciseKernel[T], error) {
	pool, err := s.rows.PrecisePivots()
	return &preciseKernel[T]{s, sigma2, pool}, err
}

// add conditions on candidates, of which training rows come first, and returns false
// if even these digits are too few.
func (p *preciseKernel[T]) add(candidates []int) (bool, error) {
	train := 0
	for train < len(candidates) && candidates[train] >= p.space.PoolSize() {
		train++
	}
	if done, err := p.addTrain(candidates[:train]); err != nil || !done {
		return done, err
	}
	for i, x := range candidates[train:] {
		column, c := p.pool.Column(x)
		pivot := twoSum(c.hi, p.sigma2).addProduct(c.lo, 1).normal().root()
		if err := p.pool.Add(p.space.float64Rows(candidates[train+i:][:1]), column, pivot); err != nil {
			return false, err
		}
	}
	return true, nil
}

// addTrain conditions on training rows, the first of all.
func (p *preciseKernel[T]) addTrain(candidates []int) (bool, error) {
	if len(candidates) == 0 {
		return true, nil
	}
	rows := p.space.float64Rows(candidates)
	k, err := p.space.gram(rows)
	if err != nil {
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
	for i := range candidates {
		if err := p.pool.Add(rows.Slice(i, i+1), l[i].part(0, i), l[i].at(i)); err != nil {
			return false, err
		}
	}
	return true, nil
}
