package selection

// DefaultSigma2 is the noise variance σ² of the paper's experiments.
const DefaultSigma2 = 1e-6

// sigma2Of returns a method's σ²: the given one, or the default for zero.
func sigma2Of(method string, sigma2 float64) (float64, error) {
	if sigma2 == 0 {
		return DefaultSigma2, nil
	}
	if !(sigma2 > 0) || sigma2-sigma2 != 0 {
		return 0, &MethodError{Method: method, Reason: "σ² must be positive and finite"}
	}
	return sigma2, nil
}
