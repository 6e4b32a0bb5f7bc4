package kernel

// Learnt is what other learners than networks have learnt from the labelled rows. Kernels
// use it as it is and fit nothing again. All of it takes rows as the kernels see them.
type Learnt struct {
	Processes []Process // the fitted Gaussian process of each target; empty where there is none
	Leaves    Leaves    // fitted trees; nil where there are none
	Members   Members   // the members of an ensemble; nil where there are none
}

// Process is the stationary part of a fitted Gaussian process, and the variance of the
// noise in the same unit, the square of that of the labels.
type Process struct {
	Stationary
	Noise float64
}
