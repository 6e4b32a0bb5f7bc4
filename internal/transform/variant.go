package transform

// Variant selects the formula that a transformation follows where the published
// code differs from the paper.
type Variant int

const (
	// Paper follows the paper.
	Paper Variant = iota
	// Published is what the published code does, which produced the paper's
	// tables. The comments of Sketch, ACSGrad, ACSRandomFeatures and
	// ACSRandomFeaturesHyper explain how it differs.
	Published
)
