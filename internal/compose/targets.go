package compose

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// A base kernel that is fitted to labels, such as rbf and matern, is fitted to each target
// by itself, on the rows that have its label. With k_o the kernel of target o and w_o its
// weight, the kernel of all targets is
//
//	k = Σ_o w_o·k_o,
//
// which is the covariance of Σ_o √w_o·f_o for independent Gaussian processes f_o, and the
// same sum that the outputs of a network have (network/taps.go). Each k_o is in units in
// which the noise of its target is σ² (spec.Source), so that a target with much noise
// counts less. Where a Gaussian process has been fitted to each target, matern is not fitted
// again.

// sumOverTargets returns the sum over the targets of what construct makes.
func sumOverTargets[T matrix.Float](c *Composer, s spec.Source[T],
	construct func(context.Context, spec.Source[T]) (kernel.Kernel[T], error)) (kernel.Kernel[T], error) {
	labels, train, processes := c.parts.Labels, s.Train, c.parts.Learnt.Processes
	if !c.baseKernel().Info().Process {
		processes = nil
	}
	kernels := make([]kernel.Kernel[T], max(labels.Cols, len(processes)))
	for target := range kernels {
		if len(processes) > 0 {
			s.Process = &processes[target]
		} else {
			rows, own := encode.Labelled(labels, target)
			if s.Train, s.Labels = train, own; len(rows) < train.Rows {
				s.Train = train.SelectRows(rows)
			}
		}
		k, err := construct(c.ctx, s)
		if err != nil && len(kernels) > 1 {
			err = fmt.Errorf("target %d (from 0): %w", target, err)
		}
		if err != nil {
			return nil, err
		}
		if kernels[target] = k; c.parts.Weights != nil {
			if kernels[target], err = transform.ScaleBy(k, math.Sqrt(c.parts.Weights[target])); err != nil {
				return nil, err
			}
		}
	}
	if len(kernels) == 1 {
		return kernels[0], nil
	}
	return transform.Ensemble(kernels...)
}
