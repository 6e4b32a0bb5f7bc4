package selection

// MaxDet in kernel space with twice as many digits. c is without the noise here; the
// noise comes in where a row is added, as in the feature space's γ².

import (
	"github.com/nextbatch/nextbatch/selection/internal/double"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

type preciseKernel struct {
	space  *Space
	sigma2 float64
	rows   space.PrecisePivots
}

func newPreciseKernel(s *Space, sigma2 float64) (*preciseKernel, error) {
	rows, err := s.rows.PrecisePivots()
	return &preciseKernel{s, sigma2, rows}, err
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
	for i, x := range candidates[train:] {
		column, c := p.rows.Column(x)
		pivot := double.TwoSum(c.Hi, p.sigma2).AddProduct(c.Lo, 1).Normal().Root()
		if err := p.rows.Add(p.space.rows.Float64(candidates[train+i:][:1]), column, pivot); err != nil {
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
	rows := p.space.rows.Float64(candidates)
	k, err := p.space.rows.Gram(rows)
	if err != nil {
		return false, err
	}
	l := double.NewTriangle(rows.Rows)
	for i, row := range l {
		copy(row.Hi, k.Row(i))
		row.Set(i, double.TwoSum(row.Hi[i], p.sigma2))
	}
	if !l.Factor(p.space.rows.Team(), p.space.Cancelled) {
		return false, nil
	}
	for i := range candidates {
		if err := p.rows.Add(rows.Slice(i, i+1), l[i].Part(0, i), l[i].At(i)); err != nil {
			return false, err
		}
	}
	return true, nil
}
