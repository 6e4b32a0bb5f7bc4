package fitted

// What a kernel needs of a model, and whose kernel it is.

import (
	"context"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// Train trains networks for a kernel if the model is a blend that has too few of them.
func (f *Fitted) Train(ctx context.Context, o Options, need int) error {
	if !f.Model.Kind().Blends() || f.Rows == nil || len(f.Networks) >= need {
		return nil
	}
	alone := o
	alone.Learner, alone.Given = learner.NetworkAlone, nil
	how := network.Options{Config: o.Network, Members: need, Progress: o.Epoch, Scaling: new(f.Model.Scaling())}
	model, failed, err := alone.fit(ctx, f.Rows, learner.Options{Network: how})
	if err != nil {
		return err
	}
	f.warn(failed...)
	f.Networks = model.Ensemble()
	return nil
}

// PickedBy says so where rows are compared by a learner that has no weight in the predictions, and why; otherwise it is
// empty, as it is without a model.
func (f *Fitted) PickedBy(s spec.Spec) string {
	if f == nil || !f.Model.Kind().Blends() || !s.UsesKernel() {
		return ""
	}
	var idle []string
	for _, k := range s.BaseKernels() {
		if name := f.learnerOf(k.Info()); name != "" && !f.weighs(name) && !slices.Contains(idle, name) {
			idle = append(idle, name)
		}
	}
	if len(idle) == 0 {
		return ""
	}
	return fmt.Sprintf("the method %v compares rows by what has no weight in the predictions (%s): "+
		"its kernel is the same whichever learner predicts", s, words.List(idle))
}

// learnerOf names the learner that a kernel is made of; empty for none.
func (f *Fitted) learnerOf(k spec.KernelInfo) string {
	switch {
	case k.Networks == spec.TrainedNetwork:
		return learner.NetworkName
	case k.Leaves:
		return learner.ExtraTreesName
	case k.Process && f.Model.Processes() != nil:
		return learner.ProcessName
	}
	return ""
}

// weighs reports whether a learner has a weight in the predictions of a target.
func (f *Fitted) weighs(name string) bool {
	weighs := func(c learner.Candidate) bool { return c.Name == name && c.Weight > 0 }
	for k := range f.Model.Targets() {
		if slices.ContainsFunc(f.Model.Target(k).Candidates(), weighs) {
			return true
		}
	}
	return false
}
