package spec

import "slices"

// Preset is a method that has a name of its own.
type Preset struct {
	Name        string
	Spec        Spec
	Description string
	Section     string // of the paper
}

const existing = "6.1 Comparison to Existing Methods"

// presets are the methods from the literature as the paper compares them: its
// table of existing methods, with the adjustments for regression that its text
// lists (a last-layer Gaussian process, a scaled kernel, 512 random features).
var presets = []Preset{
	{"default", plain(lcmd, TP, gradientKernel(), sketchTransform(512)),
		"the combination that the paper proposes", existing},
	{"bald", plain(maxDiag, NoMode, lastLayerKernel(), trainTransform()),
		"BALD (Houlsby et al., 2011) with a last-layer Gaussian process", existing},
	{"batchbald", plain(maxDet, P, lastLayerKernel(), trainTransform()),
		"BatchBALD (Kirsch et al., 2019) with a last-layer Gaussian process", existing},
	{"bait", plain(baitForwardBackward, P, lastLayerKernel(), trainTransform()),
		"BAIT (Ash et al., 2021)", existing},
	{"acs-fw", plain(frankWolfe, P, lastLayerKernel(), acsHyperTransform(512)),
		"ACS-FW (Pinsler et al., 2019)", existing},
	{"coreset", plain(maxDist, TP, lastLayerKernel()),
		"Core-Set (Sener and Savarese, 2018), k-center-greedy", existing},
	{"ff-active", plain(maxDist, TP, lastLayerKernel()),
		"FF-Active (Geifman and El-Yaniv, 2017); the same as coreset", existing},
	{"badge", plain(kMeansPP, P, lastLayerKernel(), trainTransform()),
		"BADGE (Ash et al., 2019) with last-layer Gaussian process uncertainty", existing},
}

func plain(m Method, mode Mode, k Kernel, t ...Transform) Spec {
	return Spec{Method: m, Mode: mode, Kernel: k, Transforms: t}
}

// Presets lists the names that Parse knows besides the text of specs.
func Presets() []Preset {
	list := slices.Clone(presets)
	for i := range list {
		list[i].Spec.Transforms = slices.Clone(list[i].Spec.Transforms)
	}
	return list
}

func presetNamed(name string) (Preset, bool) {
	for _, p := range Presets() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

func presetNames() (names []string) {
	for _, p := range presets {
		names = append(names, p.Name)
	}
	return names
}

// presetLayout maps every part of a preset to the preset's name.
func presetLayout(name extent, transforms int) layout {
	return layout{method: name, chainLayout: chainLayout{kernel: name,
		transforms: slices.Repeat([]extent{name}, transforms)}}
}
