package network

import "github.com/nextbatch/nextbatch/internal/footprint"

// Memory forecasts, in bytes, what Fit needs in float32 with this configuration and
// number of members, in addition to the rows that it is given: at its peak, and for
// the model that it returns.
func (c Config) Memory(inputs, labelled, members int) (fit, kept int64) {
	const single, double = 4, 8
	sizes := c.Architecture.withDefaults().sizes(inputs)
	parameters, width := 0.0, 0.0
	for l, d := range sizes[:len(sizes)-1] {
		parameters += float64(d+1) * float64(sizes[l+1]) * single
		width += float64(d+sizes[l+1]) * single
	}
	last := float64(sizes[len(sizes)-2] + 1)
	factor := last * last * double
	targets := float64(sizes[len(sizes)-1])
	model := float64(members) * (parameters + targets*factor) // a posterior for each target

	// Two copies of the labelled rows, as they are and scaled, live through the
	// training.
	copies := 2 * float64(labelled) * float64(inputs) * single
	batch, block := float64(min(c.WithDefaults().Training.Batch, labelled)), float64(min(forwardBlock, labelled))
	// The parameters, their gradient, two moments, the best so far, and scratch; the
	// blocks of rows that run forward and backward.
	training := 5*parameters + 3*batch*width + block*width
	// The posteriors come last, with a block of rows for each member.
	judging := 2*factor + block*(float64(members)*width+last*double)
	return footprint.Bytes(copies + model + max(training, judging)), footprint.Bytes(model)
}
