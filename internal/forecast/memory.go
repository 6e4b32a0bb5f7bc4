// Package forecast estimates what a selection takes before it starts: the memory, from the numbers of
// rows, columns and layers, and the time, from samples that the caller has measured.
package forecast

import (
	"fmt"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// Sizes are the numbers that the memory of a selection depends on.
type Sizes struct {
	Train, Pool, Aims int   // rows
	Pending           int   // of Pool
	Inputs            int   // columns after encoding, or features
	Hidden            []int // widths of the network's layers
	Outputs           int   // of the network, one for each target; 0 means 1
	Trees, Members    int   // of what other learners have learnt; 0 means unknown (spec.Size)
	Batch             int
	// InFile means that the pool is in files: its inputs, or the user's own features, and its
	// embedded rows (nextbatch.Problem.Folder). Only what is kept per row counts as memory then.
	InFile bool
}

// Of returns the sizes of encoded tables.
func Of(z tables.Sizes) Sizes {
	return Sizes{Train: z.Train, Pool: z.Pool, Aims: z.Aims, Inputs: z.Inputs, Outputs: z.Outputs}
}

// InMemory is the number of rows that are not in files.
func (z Sizes) InMemory() int {
	if z.InFile {
		return z.Train + z.Aims
	}
	return z.Train + z.Pool + z.Aims
}

// Bytes per number.
const (
	single = 4
	double = 8
)

// Memory forecasts the bytes that nextbatch.Select needs at its peak: for the rows that it is
// given, and for what it computes from them, mostly features or embedded rows of the
// kernel. The networks are not counted.
func Memory(s spec.Spec, z Sizes) int64 {
	rows, inputs := float64(z.InMemory()), float64(z.Inputs)
	if !s.UsesKernel() {
		return footprint.Bytes(rows*inputs*single + 16*float64(z.Pool))
	}
	size := float64(single)
	if needs.Double(s) {
		size = double
	}
	width, explicit := Width(s, z)
	method := s.Method.Info().Bytes(spec.Load{Pool: z.Pool, Batch: min(z.Batch, z.Pool) + z.Pending,
		Width: width, Explicit: explicit})
	total := rows*inputs*single + rows*float64(width)*size + blocks(s, z) + float64(method)
	if needs.Double(s) {
		total += rows * inputs * double // a copy of the rows
	}
	if needs.Ties(s) && !z.InFile { // the rows of the pool in another order
		total += float64(z.Pool) * inputs * size
	}
	if z.InFile {
		total += readAtOnce(s) * (float64(width) + inputs) * double
	}
	return footprint.Bytes(total)
}

// readAtOnce is the number of rows of a file that are converted at a time.
func readAtOnce(s spec.Spec) float64 {
	if needs.ComputesInDouble(s) {
		return 1 << 14 // a block of sums
	}
	return kernel.BlockRows
}

// FileBytes forecasts the size of the temporary file that nextbatch.Select writes if the embedded
// rows of the pool are in a file: 0 if they are the user's own features as they are.
func FileBytes(s spec.Spec, z Sizes) int64 {
	if !s.UsesKernel() || s.Kernel.Info().OwnFeatures && len(s.Transforms) == 0 {
		return 0
	}
	size := float64(single)
	if needs.Double(s) {
		size = double
	}
	width, _ := Width(s, z)
	return footprint.Bytes(float64(z.Pool) * float64(width) * size)
}

// InputFileBytes forecasts the size of the temporary files of the inputs of the pool, as they
// are encoded and as they are scaled.
func InputFileBytes(z Sizes) int64 { return 2 * footprint.Float32(z.Pool, z.Inputs) }

// Width returns how many numbers the kernel keeps per row, and whether they are features.
func Width(s spec.Spec, z Sizes) (numbers int, explicit bool) {
	return s.Width(spec.Size{Train: z.Train + z.Pending, Inputs: z.Inputs, Hidden: z.Hidden, Outputs: z.Outputs,
		Trees: z.Trees, Members: z.Members})
}

// blocks is the memory of a block of rows on its way through the networks, of the random
// matrices of projections, and of the matrices of posteriors.
func blocks(s spec.Spec, z Sizes) (total float64) {
	for i := range s.Terms {
		total += blocks(s.Term(i), z)
	}
	if len(s.Terms) > 0 {
		sum := s
		sum.Transforms = nil
		width, _ := Width(sum, z)
		return total + matrices(s, z, float64(width), 0)
	}
	widths := float64(z.Inputs + 1)
	if s.TrainedNetworks() > 0 {
		for _, d := range z.Hidden {
			widths += float64(1+max(z.Outputs, 1)) * float64(d+1)
		}
		total = kernel.BlockRows * widths * (single + double) // converted where the kernel is in float64
	}
	return matrices(s, z, widths, total) * float64(s.Members())
}

// matrices adds the matrices of the transformations to a total, which is the memory of a block
// of rows of the given width.
func matrices(s spec.Spec, z Sizes, widths, total float64) float64 {
	before := widths // numbers of a row that the next projection takes
	for i, t := range s.Transforms {
		info := t.Info()
		switch {
		case info.Projects && !info.DoubleOnly: // in float32
			if before == widths {
				total = kernel.BlockRows * widths * single
			}
			total += t.Number * (before*single + 3*kernel.BlockRows*single)
		case info.Projects:
			total += t.Number * before * double
		}
		if info.Projects {
			before = t.Number
		}
		if info.Conditions {
			total += posteriorBytes(s, i, z)
		}
	}
	return total
}

// posteriorBytes is the memory of a transformation that computes a posterior: the Gram matrix,
// its factor, and half of that again to multiply by, in feature space if the features
// are few or a later part needs them, otherwise in kernel space.
func posteriorBytes(s spec.Spec, at int, z Sizes) float64 {
	before := s
	before.Transforms = s.Transforms[:at]
	order := z.Train + z.Pending
	features, explicit := Width(before, z)
	if explicit && (needs.KeepFeatures(s, at+1) || s.Transforms[at].Info().Projects || features <= max(1024, 3*order)) {
		order = features
	}
	return 2.5 * double * float64(order) * float64(order)
}

// TableBytes returns the memory of the tables that are there, and that of their concatenated columns
// and of lists while they are encoded.
func TableBytes(tables ...*dataset.Table) (stay, stack int64) {
	rows, several := 0, 0
	for _, t := range tables {
		if t != nil {
			stay += t.Bytes()
			rows += t.Rows()
			several++
		}
	}
	if several > 1 {
		stack = 2 * stay // columns grow, and the shorter ones wait to be collected
	}
	return stay, max(stack, listedBytes*int64(rows))
}

// listedBytes is what the numbers of a row take in the lists of rows, and its value in the
// list that a median is computed from.
const listedBytes = 40

// SmallerKernel lists changes to a kernel, perhaps of features of the user's own, that would need less memory.
func SmallerKernel(s spec.Spec, own bool) (list []string) {
	var sketch spec.Transform // the smallest of the spec
	for _, t := range s.AllTransforms() {
		if info := t.Info(); info.Projects && !info.DoubleOnly && (sketch.Number == 0 || t.Number < sketch.Number) {
			sketch = t
		}
	}
	switch {
	case !s.UsesKernel():
	case sketch.Number == 0 && own:
		list = append(list, "a sketch, as in lcmd-tp:features>sketch(128)")
	case sketch.Number == 0:
		list = append(list, "a sketch, as in lcmd-tp:grad>sketch(128)")
	case sketch.Number > 32: // with fewer features, a kernel hardly distinguishes rows
		half := int(sketch.Number) / 2
		if sketch.Info().Parameter.Even {
			half -= half % 2
		}
		list = append(list, fmt.Sprintf("a smaller %s, such as %s(%d)", sketch.Name, sketch.Name, half))
	}
	return list
}
