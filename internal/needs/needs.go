// Package needs derives from a spec what its selection needs: networks, labels, features, digits.
package needs

import (
	"slices"

	"github.com/nextbatch/nextbatch/spec"
)

// terms returns all terms of a sum as specs; none if the kernel is no sum.
func terms(s spec.Spec) []spec.Spec {
	list := make([]spec.Spec, len(s.Terms))
	for i := range list {
		list[i] = s.Term(i)
	}
	return list
}

// anyKernel reports whether a base kernel has a property.
func anyKernel(s spec.Spec, has func(spec.KernelInfo) bool) bool {
	return slices.ContainsFunc(s.BaseKernels(), func(k spec.Kernel) bool { return has(k.Info()) })
}

// Ties reports whether the kernel has few values, so that a method finds many rows equally good.
func Ties(s spec.Spec) bool {
	return s.UsesKernel() && anyKernel(s, func(k spec.KernelInfo) bool { return k.Leaves })
}

// OwnFeatures reports whether the spec uses features that the user supplies.
func OwnFeatures(s spec.Spec) bool {
	return s.UsesKernel() && anyKernel(s, func(k spec.KernelInfo) bool { return k.OwnFeatures })
}

// Passes returns how many networks a row goes through: the members of every term of a sum.
func Passes(s spec.Spec) int {
	if len(s.Terms) == 0 {
		return s.Members()
	}
	passes := 0
	for _, term := range terms(s) {
		passes += term.TrainedNetworks()
	}
	return max(1, passes)
}

// Networks returns how many networks the kernel needs, trained or not.
func Networks(s spec.Spec) int {
	if anyKernel(s, func(k spec.KernelInfo) bool { return k.Networks == spec.AnyNetwork }) {
		return max(1, s.TrainedNetworks())
	}
	return s.TrainedNetworks()
}

// UsesLearner reports whether a kernel uses what other learners than networks have learnt, if there
// is something.
func UsesLearner(s spec.Spec) bool {
	return s.UsesKernel() && anyKernel(s, func(k spec.KernelInfo) bool { return k.Process || k.Leaves || k.Members })
}

// Labelled reports whether the spec cannot do without labelled rows.
func Labelled(s spec.Spec) bool {
	return s.TrainedNetworks() > 0 || s.Mode == spec.TP ||
		anyKernel(s, func(k spec.KernelInfo) bool { return k.Train || k.Leaves || k.Members }) ||
		slices.ContainsFunc(s.AllTransforms(), func(t spec.Transform) bool { return t.Info().Train })
}

// SinglePart returns how many of the transformations can be computed in float32:
// the first one that cannot, and all after it, are computed in float64. Those of the terms
// of a sum are not counted.
func SinglePart(s spec.Spec) int {
	if startsInDouble(s) {
		return 0
	}
	for i, t := range s.Transforms {
		if t.Info().DoubleOnly {
			return i
		}
	}
	return len(s.Transforms)
}

// startsInDouble reports whether the kernel is in float64 before the first transformation.
func startsInDouble(s spec.Spec) bool {
	return s.Kernel.Info().DoubleOnly || slices.ContainsFunc(terms(s), DoubleKernel)
}

// SketchesInSingle reports whether a transformation that can be computed in float32 needs
// features. A kernel in float64 then starts from features in float32.
func SketchesInSingle(s spec.Spec) bool {
	return slices.ContainsFunc(s.Transforms[:SinglePart(s)], needFeatures)
}

// DoubleKernel reports whether the spec's kernel is in float64, whatever the
// method.
func DoubleKernel(s spec.Spec) bool {
	return s.UsesKernel() && (startsInDouble(s) || SinglePart(s) < len(s.Transforms))
}

// Double reports whether the method is computed in float64.
func Double(s spec.Spec) bool { return DoubleKernel(s) || s.Method.Info().DoubleOnly }

// ComputesInDouble reports whether a selection by the spec computes in float64
// where the rows are in float64, and so depends on digits that float32 does not
// hold.
func ComputesInDouble(s spec.Spec) bool { return Double(s) || s.Method.Info().PrefersDouble }

// KeepFeatures reports whether anything after the first done transformations
// needs features.
func KeepFeatures(s spec.Spec, done int) bool {
	return s.Method.Info().Features || slices.ContainsFunc(s.Transforms[done:], needFeatures)
}

func needFeatures(t spec.Transform) bool { return t.Info().Needs != spec.Values }
