package nextbatch

import (
	"slices"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/spec"
)

// Sizes are what the memory of a selection depends on.
type Sizes struct {
	Train, Pool, Aims int   // rows
	Inputs            int   // columns after encoding, or features
	Hidden            []int // widths of the network's layers
	Batch             int
}

// Bytes of a number.
const (
	single = 4
	double = 8
)

// Memory forecasts the bytes that Select needs at its peak: for the rows that it is
// given, and for what it makes of them. The features or embedded rows of the kernel
// are most of it. The networks are not counted.
func Memory(s spec.Spec, z Sizes) int64 {
	rows, pool, inputs := int64(z.Train+z.Pool+z.Aims), int64(z.Pool), int64(z.Inputs)
	if s.Method == spec.Random {
		return rows*inputs*single + 16*pool
	}
	e := embedded(s, z)
	size := int64(single)
	if e.wide {
		size = double
	}
	w := int64(e.width)
	total := rows*inputs*single + rows*w*size + blocks(s, z) + steps(s, pool, int64(z.Batch), e)
	if e.wide {
		total += rows * inputs * double // the rows once more
	}
	return total
}

// blocks is what a block of rows needs on its way through the networks, and the
// random matrices of a sketch.
func blocks(s spec.Spec, z Sizes) (total int64) {
	widths := int64(z.Inputs + 1)
	if s.TrainedNetworks() > 0 {
		for _, d := range z.Hidden {
			widths += 2 * int64(d+1)
		}
		total = kernel.BlockRows * widths * (single + double) // converted where the kernel is in float64
	}
	for _, t := range s.Transforms {
		if sketch, ok := t.(spec.Sketch); ok {
			total = kernel.BlockRows * widths * single // a sketch is computed in float32
			total += int64(sketch.P) * (widths*single + 3*kernel.BlockRows*single)
		}
	}
	return total * int64(s.Members())
}

// steps is what the method keeps for each candidate, and in feature space.
func steps(s spec.Spec, pool, batch int64, e embeddedRows) int64 {
	const short = 112 // coordinates of a short row
	w := int64(e.width)
	info := s.Method.Info()
	switch {
	case info.Noise && e.features:
		perRow := w // in bytes, of which each feature takes one
		if s.Method == spec.MaxDet {
			perRow = 0
		}
		return pool*(perRow+64) + 4*w*w*double
	case info.Noise:
		return pool * (batch*double + 64)
	case s.Method == spec.FrankWolfe:
		return pool * (w + 64)
	}
	return pool * (min(w, short)*single + 64)
}

// embeddedRows is what the kernel keeps for each row.
type embeddedRows struct {
	width    int  // numbers
	wide     bool // in float64
	features bool // the features themselves, not what they are made of
}

func embedded(s spec.Spec, z Sizes) embeddedRows {
	e := embeddedRows{width: z.Inputs, wide: s.Method.Info().Noise, features: s.Kernel.Info().Explicit()}
	switch k := s.Kernel.(type) {
	case spec.LastLayer:
		e.width = 1
		layers := slices.Concat([]int{z.Inputs}, z.Hidden)
		for l := range min(max(1, k.Layers), len(layers)) {
			e.width += layers[len(layers)-1-l] + l*layers[len(layers)-1-l]
		}
	case spec.Gradient:
		e.width = z.Inputs + 1
		for _, d := range z.Hidden {
			e.width += 2*d + 1
		}
	case spec.NNGP, spec.NTK:
		e.width = z.Inputs + 1
	}
	e.width *= s.Members()
	for _, t := range s.Transforms {
		switch t := t.(type) {
		case spec.Sketch:
			e.width, e.features = t.P, true
		case spec.ACSRandomFeatures:
			e.width, e.wide, e.features = t.P, true, true
		case spec.ACSRandomFeaturesHyper:
			e.width, e.wide, e.features = t.P, true, true
		case spec.ACSGrad:
			e.width, e.wide = 2*e.width, true
		case spec.Posterior, spec.Train:
			e.wide = true
			if !e.features && e.width > z.Train {
				e.width += z.Train
			}
		}
	}
	return e
}
