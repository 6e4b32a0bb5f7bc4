package transform

// Fit describes the outcome of fitting a transformation to rows.
type Fit struct {
	// Lambda is the factor of the features, 1 if they are not scaled.
	Lambda float64
	// FeatureSpace reports that the posterior was computed from features, not
	// from the kernel matrix of the rows.
	FeatureSpace bool
	// Jitter was added to the diagonal of a matrix that rounding errors had left
	// without a Cholesky factorisation; usually it is 0. It raises the noise
	// variance of the posterior by that amount.
	Jitter float64
}
