package nextbatch

import (
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/spec"
)

// Sizes are the numbers that the memory of a selection depends on.
type Sizes struct {
	Train, Pool, Aims int   // rows
	Pending           int   // of Pool
	Inputs            int   // columns after encoding, or features
	Hidden            []int // widths of the network's layers
	Outputs           int   // of the network, one for each target; 0 means 1
	Batch             int
}

// Bytes per number.
const (
	single = 4
	double = 8
)

// Memory forecasts the bytes that Select needs at its peak: for the rows that it is
// given, and for what it computes from them, mostly features or embedded rows of the
// kernel. The networks are not counted.
func Memory(s spec.Spec, z Sizes) int64 {
	rows, pool, inputs := int64(z.Train+z.Pool+z.Aims), int64(z.Pool), int64(z.Inputs)
	if !s.UsesKernel() {
		return rows*inputs*single + 16*pool
	}
	size := int64(single)
	if s.Double() {
		size = double
	}
	width, explicit := s.Width(spec.Size{Train: z.Train + z.Pending, Inputs: z.Inputs, Hidden: z.Hidden, Outputs: z.Outputs})
	method := s.Method.Info().Bytes(spec.Load{Pool: z.Pool, Batch: z.Batch + z.Pending, Width: width, Explicit: explicit})
	total := rows*inputs*single + rows*int64(width)*size + blocks(s, z) + method
	if s.Double() {
		total += rows * inputs * double // a copy of the rows
	}
	return total
}

// blocks is the memory of a block of rows on its way through the networks, and of the
// random matrices of a sketch.
func blocks(s spec.Spec, z Sizes) (total int64) {
	widths := int64(z.Inputs + 1)
	if s.TrainedNetworks() > 0 {
		for _, d := range z.Hidden {
			widths += int64(1+max(z.Outputs, 1)) * int64(d+1)
		}
		total = kernel.BlockRows * widths * (single + double) // converted where the kernel is in float64
	}
	for _, t := range s.Transforms {
		if info := t.Info(); info.Projects && info.Single != nil {
			total = kernel.BlockRows * widths * single // a sketch is computed in float32
			total += int64(t.Number) * (widths*single + 3*kernel.BlockRows*single)
		}
	}
	return total * int64(s.Members())
}
