package selection

import (
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

// DefaultSigma2 is the noise variance σ² of the paper's experiments.
const DefaultSigma2 = 1e-6

// sigma2Of returns a method's σ²: the given one, or the default for zero.
func sigma2Of(method string, sigma2 float64) (float64, error) {
	if sigma2 == 0 {
		return DefaultSigma2, nil
	}
	if !(sigma2 > 0) || sigma2-sigma2 != 0 {
		return 0, &MethodError{method, "σ² must be positive and finite"}
	}
	return sigma2, nil
}

// inFloat64 returns rows in float64: the rows themselves, or a copy.
func inFloat64[T matrix.Float](s *Space[T], m matrix.Dense[T]) matrix.Dense[float64] {
	if same, ok := any(m).(matrix.Dense[float64]); ok {
		return same
	}
	converted := matrix.New[float64](m.Rows, m.Cols)
	s.team.OverPieces(m.Rows, 256, func(_, from, to int) { matrix.Convert(converted.Slice(from, to), m.Slice(from, to)) })
	return converted
}

// float64Rows returns the features of candidates, in float64.
func (s *Space[T]) float64Rows(candidates []int) matrix.Dense[float64] {
	if len(candidates) == 0 {
		return matrix.New[float64](0, s.pool.rows.Cols)
	}
	rows, _ := s.gather(candidates)
	return matrix.Converted[float64](rows)
}

// float64Norms returns the squared norms of the features of a set, in float64.
func float64Norms[T matrix.Float](s *Space[T], of *set[T], pool matrix.Dense[float64]) []float64 {
	norms := matrix.Alloc[float64](pool.Rows)
	if known, ok := any(of.diag).([]float64); ok {
		copy(norms, known)
	} else {
		linalg.RowNorms(s.team, norms, pool)
		tally.Rows[float64](s.tally, pool.Rows, pool.Cols)
	}
	return norms
}
