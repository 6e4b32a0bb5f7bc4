package space

// Numbers of single candidates: their rows, their kernel values, their distances.

import (
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// row returns a candidate's row and its k(x, x).
func (s *space[T]) row(candidate int) (matrix.Dense[T], T) {
	if i := candidate - s.PoolSize(); i >= 0 {
		return s.train.rows.Slice(i, i+1), s.train.diag[i]
	}
	return s.rows.Row(candidate)
}

// gather returns the rows of candidates and k(x, x) of each, as views if there is one,
// or if they are the training rows.
func (s *space[T]) gather(candidates []int) (matrix.Dense[T], []T) {
	if len(candidates) == 1 {
		row, diag := s.row(candidates[0])
		return row, []T{diag}
	}
	if s.areTrain(candidates) {
		return s.train.rows, s.train.diag
	}
	rows, diag := matrix.New[T](len(candidates), s.pool.rows.Cols), make([]T, len(candidates))
	for i, x := range candidates {
		row, own := s.row(x)
		copy(rows.Row(i), row.Row(0))
		diag[i] = own
	}
	return rows, diag
}

func (s *space[T]) areTrain(candidates []int) bool {
	if len(candidates) != s.TrainSize() {
		return false
	}
	for i, x := range candidates {
		if x != s.PoolSize()+i {
			return false
		}
	}
	return true
}

// Float64 returns the rows of candidates, in float64.
func (s *space[T]) Float64(candidates []int) matrix.Dense[float64] {
	if len(candidates) == 0 {
		return matrix.New[float64](0, s.Cols())
	}
	rows, _ := s.gather(candidates)
	return matrix.Converted[float64](rows)
}

// Diag returns k(x, x) of the pool rows.
func (s *space[T]) Diag() []float64 {
	diag := make([]float64, len(s.pool.diag))
	widenTo(diag, s.pool.diag)
	return diag
}

// Kernel writes k(x, y) of each pool row x and the candidate y to dst.
func (s *space[T]) Kernel(dst []float64, candidate int) error {
	row, _ := s.row(candidate)
	return s.inT(dst, func(values []T) error { return s.kernelColumn(values, &s.pool, row) })
}

// SqDist writes the squared distance of each pool row and the candidate to dst.
func (s *space[T]) SqDist(dst []float64, candidate int) error {
	return s.inT(dst, func(values []T) error { return s.sqDist(values, &s.pool, candidate) })
}

// inT has numbers computed in the precision of the rows.
func (s *space[T]) inT(dst []float64, compute func(values []T) error) error {
	if values, same := any(dst).([]T); same {
		return compute(values)
	}
	values := make([]T, len(dst))
	err := compute(values)
	widenTo(dst, values)
	return err
}

func widenTo[T matrix.Float](dst []float64, values []T) {
	for i, v := range values {
		dst[i] = float64(v)
	}
}

// kernelColumn writes k(x, y) of each row x of a set and the row y to dst.
func (s *space[T]) kernelColumn(dst []T, of *set[T], row matrix.Dense[T]) error {
	if s.kernel == nil {
		linalg.MulVec(s.team, dst, of.rows, row.Row(0))
		return nil
	}
	if err := s.kernel.Cross(s.ctx, matrix.View(1, len(dst), dst), row, of.rows); err != nil {
		return inSet(err, of.name)
	}
	return of.checkValues(dst)
}

func (s *space[T]) sqDist(dst []T, of *set[T], candidate int) error {
	row, diag := s.row(candidate)
	if s.kernel == nil {
		linalg.SqDistTo(s.team, dst, of.rows, row.Row(0))
		return nil
	}
	if err := s.kernelColumn(dst, of, row); err != nil {
		return err
	}
	toSqDist(dst, of.diag, diag)
	return nil
}

// toSqDist turns kernel values with one row into squared distances from it. Those that
// rounding makes negative become zero.
func toSqDist[T matrix.Float](values, diag []T, own T) {
	for i, v := range values {
		values[i] = max(own+diag[i]-2*v, 0)
	}
}

// Gram returns the kernel matrix of rows in float64, which is then the type of the space.
func (s *space[T]) Gram(rows matrix.Dense[float64]) (matrix.Dense[float64], error) {
	k := matrix.New[float64](rows.Rows, rows.Rows)
	in64 := any(s).(*space[float64])
	return k, in64.cross(k, rows, rows)
}

// cross computes kernel values; without a kernel rows are features.
func (s *space[T]) cross(dst, a, b matrix.Dense[T]) error {
	if s.kernel != nil {
		return s.kernel.Cross(s.ctx, dst, a, b)
	}
	linalg.Gemm(s.team, dst, 1, a, linalg.NoTrans, b, linalg.Trans, 0)
	return nil
}
