package spec

import (
	"slices"

	"github.com/nextbatch/nextbatch/selection"
)

// Method is a selection method.
type Method int

const (
	Random Method = iota
	MaxDiag
	MaxDet
	BAITForward
	BAITForwardBackward
	FrankWolfe
	MaxDist
	KMeansPP
	GreedyKMeansPP
	LCMD
	LCMDDistance
	LCMDCount
)

// MethodInfo describes a selection method.
type MethodInfo struct {
	Method      Method
	Name        string
	Description string
	Section     string // of the paper

	Modes    bool // P and TP differ
	Features bool // it needs features, a kernel alone will not do
	Noise    bool // σ² is in it

	published string // its name in published ids; empty if there is none
}

// methods is the registry, in the order of the constants: what package selection
// says of its methods, and what specs make of it.
var methods = describe([]MethodInfo{
	Random:              {published: "random"},
	MaxDiag:             {published: "maxdiag"},
	MaxDet:              {published: "maxdet", Noise: true},
	BAITForward:         {published: "bait-f", Noise: true, Features: true},
	BAITForwardBackward: {published: "bait-fb", Noise: true, Features: true},
	// In kernel space its time is quadratic in the pool: no way to go.
	FrankWolfe:     {published: "fw", Features: true},
	MaxDist:        {published: "maxdist"},
	KMeansPP:       {published: "kmeanspp"},
	GreedyKMeansPP: {},
	LCMD:           {published: "lcmd"},
	LCMDDistance:   {},
	LCMDCount:      {},
})

func describe(list []MethodInfo) []MethodInfo {
	for i, entry := range selection.Methods[float64]() {
		m := &list[i]
		m.Method, m.Name, m.Description, m.Section, m.Modes = Method(i), entry.Name, entry.Description, entry.Section, entry.Modes
	}
	return list
}

// Methods lists the selection methods.
func Methods() []MethodInfo { return slices.Clone(methods) }

// Info describes the method. A method that does not exist has no name.
func (m Method) Info() MethodInfo {
	if m < 0 || int(m) >= len(methods) {
		return MethodInfo{Method: m}
	}
	return methods[m]
}

func (m Method) String() string { return m.Info().Name }

func methodNamed(name string) (MethodInfo, bool) {
	return findMethod(func(m MethodInfo) bool { return m.Name == name })
}

func findMethod(match func(MethodInfo) bool) (MethodInfo, bool) {
	i := slices.IndexFunc(methods, match)
	if i < 0 {
		return MethodInfo{}, false
	}
	return methods[i], true
}

// heads are the methods with their modes, as they are written.
func heads() (list []string) {
	for _, m := range methods {
		if m.Modes {
			list = append(list, head(m.Method, P), head(m.Method, TP))
		} else {
			list = append(list, m.Name)
		}
	}
	return list
}
