package transform

// Fit says how a transformation came out on the rows that it was fitted to.
type Fit struct {
	// Lambda is the factor of the features, 1 without a scale.
	Lambda float64
	// FeatureSpace says that the posterior was computed from features, not from
	// the kernel matrix of the rows.
	FeatureSpace bool
	// Jitter is what had to be added to the diagonal of a matrix that rounding
	// had left without a Cholesky factorisation; usually 0. The posterior is
	// then that of a noise variance higher by as much.
	Jitter float64
}
