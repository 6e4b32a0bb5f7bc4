package transform

// Variant says whose formula a transformation follows where the code that the
// paper was published with differs from the paper.
type Variant int

const (
	// Paper is what the paper says.
	Paper Variant = iota
	// Published is what the published code does, which produced the paper's
	// tables. Sketch, ACSGrad, ACSRandomFeatures and ACSRandomFeaturesHyper say
	// how it differs.
	Published
)
