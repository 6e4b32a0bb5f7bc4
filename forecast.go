package nextbatch

import (
	"slices"

	"github.com/nextbatch/nextbatch/spec"
)

// Sizes are what the memory of a selection depends on.
type Sizes struct {
	Train, Pool, Aims int   // rows
	Inputs            int   // columns after encoding, or features
	Hidden            []int // widths of the network's layers
	Batch             int
}

// Memory forecasts the bytes that Select needs at its peak, with the rows and the
// network that it is given: the features or embedded rows of the kernel are most
// of it.
func Memory(s spec.Spec, z Sizes) int64 {
	rows := int64(z.Train + z.Pool + z.Aims)
	inputs := rows * int64(z.Inputs) * 4
	if s.Method == spec.Random {
		return inputs + 16*int64(z.Pool)
	}
	width, wide := widthOf(s, z)
	size := int64(4)
	if wide {
		size = 8
		inputs *= 3 // rows in float64, too
	}
	w := int64(width)
	total := inputs + rows*w*size + 64*int64(z.Pool) // a few numbers for each candidate
	if s.Method.Info().Noise {
		total += 4 * w * w * 8
		if s.Method == spec.MaxDet && !s.Method.Info().Features {
			total += int64(z.Pool) * 16
		}
	}
	return total + weights(z)
}

// weights is the memory of a network with its moments.
func weights(z Sizes) (total int64) {
	sizes := slices.Concat([]int{z.Inputs}, z.Hidden, []int{1})
	for l, d := range sizes[:len(sizes)-1] {
		total += int64(d+1) * int64(sizes[l+1]) * 4 * 4
	}
	return total * 2
}

// widthOf is how many numbers the kernel keeps for each row, and whether they are
// in float64.
func widthOf(s spec.Spec, z Sizes) (width int, wide bool) {
	width = z.Inputs
	switch k := s.Kernel.(type) {
	case spec.LastLayer:
		width = 1
		layers := slices.Concat([]int{z.Inputs}, z.Hidden)
		for l := range min(max(1, k.Layers), len(layers)) {
			width += layers[len(layers)-1-l] + l*layers[len(layers)-1-l]
		}
	case spec.Gradient:
		width = z.Inputs + 1
		for _, d := range z.Hidden {
			width += 2*d + 1
		}
	case spec.NNGP, spec.NTK:
		width = z.Inputs + 1
	}
	wide = s.Method.Info().Noise
	members := s.Members()
	width *= members
	atHand := s.Kernel.Info().Explicit() // the features themselves, not what they are made of
	for _, t := range s.Transforms {
		switch t := t.(type) {
		case spec.Sketch:
			width, atHand = t.P, true
		case spec.ACSRandomFeatures:
			width, wide = t.P, true
		case spec.ACSRandomFeaturesHyper:
			width, wide = t.P, true
		case spec.ACSGrad:
			width, wide = 2*width, true
		case spec.Posterior, spec.Train:
			wide = true
			if !atHand && width > z.Train {
				width += z.Train
			}
		}
	}
	return width, wide
}
