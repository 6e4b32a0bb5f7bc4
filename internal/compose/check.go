package compose

import (
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/spec"
)

// Check reports everything that the kernel lacks: labelled rows, labels, and what learners have learnt.
func (p *Parts) Check() error {
	var found []error
	complain := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Errorf(format, args...))
		}
	}
	for _, k := range p.Spec.BaseKernels() {
		p.checkKernel(k, complain)
	}
	complain(p.Weights != nil && len(p.Weights) != p.targets(), "there are %d weights, but %d targets",
		len(p.Weights), p.targets())
	for _, t := range p.Spec.AllTransforms() {
		complain(t.Info().Train && p.Train.Rows == 0, "%v needs labelled rows, but there are none", t)
		complain(t.Info().Labels && !p.hasLabels(), "%v needs the labels of the %d labelled rows, but there are %d", t,
			p.Train.Rows, p.Labels.Rows)
		complain(t.Info().Labels && p.Labels.Cols > 1,
			"%v fits its hyperparameters to the labels of one target, but there are %d targets; use acs-rf, which needs no "+
				"labels", t, p.Labels.Cols)
	}
	return errors.Join(found...)
}

// checkKernel reports what a base kernel lacks.
func (p *Parts) checkKernel(k spec.Kernel, complain func(wrong bool, format string, args ...any)) {
	info, processes := k.Info(), p.Learnt.Processes
	if info.Process && len(processes) > 0 {
		complain(p.Labels.Cols > 0 && len(processes) != p.Labels.Cols,
			"there are fitted Gaussian processes for %d targets, but labels for %d", len(processes), p.Labels.Cols)
		for i, process := range processes {
			complain(len(process.Lengths) != p.Pool.Cols,
				"the Gaussian process of target %d (from 0) takes %d columns, the pool has %d", i,
				len(process.Lengths), p.Pool.Cols)
		}
	} else {
		complain(info.Train && p.Train.Rows == 0, "%v needs labelled rows, but there are none", k)
		complain(info.Labels && !p.hasLabels(), "%v needs the labels of the %d labelled rows, but there are %d", k,
			p.Train.Rows, p.Labels.Rows)
	}
	learnt := func(needed bool, by interface{ Inputs() int }, what, lacks string) {
		switch {
		case needed && by == nil:
			complain(true, "%v needs %s", k, lacks)
		case needed:
			complain(by.Inputs() != p.Pool.Cols, "%s take %d columns, the pool has %d", what, by.Inputs(), p.Pool.Cols)
		}
	}
	learnt(info.Leaves, p.Learnt.Leaves, "the trees",
		"fitted trees, but there are none: choose a learner that fits some, trees or auto (in Go, set Learnt.Leaves)")
	learnt(info.Members, p.Learnt.Members, "the members of the ensemble",
		"the members of an ensemble, but there are none: choose a learner that has some, such as auto (in Go, set "+
			"Learnt.Members)")
}

// targets is the number of targets that kernels are fitted to.
func (p *Parts) targets() int { return max(p.Labels.Cols, len(p.Learnt.Processes)) }

func (p *Parts) hasLabels() bool { return p.Labels.Rows == p.Train.Rows && p.Labels.Cols > 0 }
