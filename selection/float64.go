package selection

import "github.com/nextbatch/nextbatch/matrix"

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

// float64Rows returns the features of candidates, in float64.
func (s *Space[T]) float64Rows(candidates []int) matrix.Dense[float64] {
	if len(candidates) == 0 {
		return matrix.New[float64](0, s.pool.rows.Cols)
	}
	rows, _ := s.gather(candidates)
	return matrix.Converted[float64](rows)
}
