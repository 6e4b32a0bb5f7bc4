package network

// Memory forecasts, in bytes, what Fit needs in float32 with this configuration and
// so many members, in addition to the rows that it is given: at its peak, and for
// the model that it returns.
func (c Config) Memory(inputs, labelled, members int) (fit, kept int64) {
	const single, double = 4, 8
	sizes := c.Architecture.withDefaults().sizes(inputs)
	parameters, width := int64(0), int64(0)
	for l, d := range sizes[:len(sizes)-1] {
		parameters += int64(d+1) * int64(sizes[l+1]) * single
		width += int64(d+sizes[l+1]) * single
	}
	last := int64(sizes[len(sizes)-2] + 1)
	factor := last * last * double
	targets := int64(sizes[len(sizes)-1])
	kept = int64(members) * (parameters + targets*factor) // a posterior for each target

	// Two copies of the labelled rows, as they are and scaled, live through the
	// training.
	copies := 2 * int64(labelled) * int64(inputs) * single
	batch := int64(min(c.WithDefaults().Training.Batch, labelled))
	// The parameters, their gradient, two moments, the best so far, and scratch; the
	// blocks of rows that run forward and backward.
	training := 5*parameters + 3*batch*width + int64(min(forwardBlock, labelled))*width
	// The posteriors come last, with a block of rows for each member.
	judging := 2*factor + int64(min(forwardBlock, labelled))*(int64(members)*width+last*double)
	return copies + kept + max(training, judging), kept
}
