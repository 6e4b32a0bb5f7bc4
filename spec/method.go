package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/selection"
)

// MethodInfo describes a selection method: what it needs.
type MethodInfo struct {
	Name        string
	Title       string // in tables and figures; the name if empty
	Family      string // tables group methods by family; the name if empty
	Description string // one line
	Section     string // of the paper; empty if the paper does not cover the method

	NoKernel  bool // it uses no kernel: its spec is the name alone
	Modes     bool // P and TP differ
	Features  bool // it needs finitely many features; kernel values alone are not enough
	Noise     bool // it uses the noise variance σ²
	Aims      bool // it can represent a target distribution other than the pool's
	Draws     bool // it draws random numbers
	Score     bool // its score can be divided by the costs of rows
	TakesBack bool // it takes rows back (selection.Backward), so a run that was cut off cannot resume

	// DoubleOnly means that the method needs rows in float64.
	DoubleOnly bool
	// PrefersDouble means that the method computes in float64 even on rows in
	// float32, and so gains from rows in float64 where the caller has them.
	PrefersDouble bool

	// Memory is how many bytes the method keeps beside the rows. Nil means as
	// many as the distance-based methods keep.
	Memory func(Load) int64

	published string // its name in published ids; empty if there is none
}

// MethodMaker constructs a method.
type MethodMaker func(selection.Settings) selection.Method

// Load holds what determines the memory of a method.
type Load struct {
	Pool, Batch int  // rows
	Width       int  // numbers that the kernel keeps per row
	Explicit    bool // those numbers are features
}

// Bytes forecasts how many bytes the method keeps besides the rows.
func (m MethodInfo) Bytes(l Load) int64 {
	if m.Memory == nil {
		return distanceMemory(l)
	}
	return m.Memory(l)
}

// perCandidate is what every method keeps per candidate, in bytes.
const perCandidate = 64

// distanceMemory: per candidate, the coordinates of its short row.
func distanceMemory(l Load) int64 {
	const short = 112
	return perRow(l, 4*float64(min(l.Width, short)))
}

// byteMemory: per candidate, one byte per feature.
func byteMemory(l Load) int64 { return perRow(l, float64(l.Width)) }

// maxDetMemory: in feature space a few square matrices, otherwise one number
// per candidate and step.
func maxDetMemory(l Load) int64 {
	if l.Explicit {
		return perRow(l, 0) + squares(l)
	}
	return perRow(l, 8*float64(l.Batch))
}

func baitMemory(l Load) int64 { return byteMemory(l) + squares(l) }

// perRow is a number of bytes per candidate, besides those of every method.
func perRow(l Load, bytes float64) int64 {
	return footprint.Bytes(float64(l.Pool) * (bytes + perCandidate))
}

// squares are the matrices of methods with a covariance in feature space.
func squares(l Load) int64 { return footprint.Bytes(4 * 8 * float64(l.Width) * float64(l.Width)) }

func (m MethodInfo) name() string { return m.Name }

func (m MethodInfo) fault() string {
	switch base, mode := cutMode(m.Name); {
	case mode != NoMode:
		return fmt.Sprintf("-%v at the end of a name denotes the mode; call it %s and set Modes", mode, base)
	case m.Description == "" || strings.ContainsAny(m.Description, "\r\n"):
		return "its description must be one line"
	case m.NoKernel && (m.Modes || m.Features):
		return "a method without a kernel has neither modes nor features"
	}
	return ""
}

// methods holds what package selection states about its methods, and what specs
// derive from that.
var methods = newRegistry("method",
	described(MethodInfo{Name: string(random), Title: "Random", NoKernel: true, published: "random"}),
	described(MethodInfo{Name: string(maxDiag), Title: "MaxDiag", published: "maxdiag"}),
	inDouble(described(MethodInfo{Name: string(maxDet), Title: "MaxDet", Noise: true, Memory: maxDetMemory,
		published: "maxdet"})),
	inDouble(described(MethodInfo{Name: string(baitForward), Title: "Bait-F", Family: "bait", Noise: true,
		Memory: baitMemory, published: "bait-f"})),
	inDouble(described(MethodInfo{Name: string(baitForwardBackward), Title: "Bait-FB", Family: "bait", Noise: true,
		TakesBack: true, Memory: baitMemory, published: "bait-fb"})),
	// In kernel space its time is quadratic in the pool, so specs ask for features.
	described(MethodInfo{Name: string(frankWolfe), Title: "FrankWolfe", Features: true, PrefersDouble: true,
		Memory: byteMemory, published: "fw"}),
	described(MethodInfo{Name: string(maxDist), Title: "MaxDist", published: "maxdist"}),
	described(MethodInfo{Name: string(kMeansPP), Title: "KMeansPP", Family: "kmeanspp", published: "kmeanspp"}),
	described(MethodInfo{Name: string(greedyKMeansPP), Title: "GreedyKMeansPP", Family: "kmeanspp"}),
	described(MethodInfo{Name: string(lcmd), Title: "LCMD", Family: "lcmd", published: "lcmd"}),
	described(MethodInfo{Name: string(lcmdDistance), Family: "lcmd"}),
	described(MethodInfo{Name: string(lcmdCount), Family: "lcmd"}),
)

// described fills in what package selection states about a method.
func described(m MethodInfo) MethodInfo {
	ours := selectionEntry(m.Name)
	m.Description, m.Section = ours.Description, ours.Section
	m.Modes, m.Aims, m.Draws = ours.Modes, ours.Aims, ours.Random
	m.Score = ours.Score
	m.Features = m.Features || ours.Features
	return m
}

// inDouble is for methods that use σ².
func inDouble(m MethodInfo) MethodInfo {
	m.DoubleOnly = true
	return m
}

// selectionEntry returns package selection's entry for a name, or the zero
// value, which the registry refuses.
func selectionEntry(name string) selection.Entry {
	list := selection.Methods()
	if i := slices.IndexFunc(list, func(e selection.Entry) bool { return e.Name == name }); i >= 0 {
		return list[i]
	}
	return selection.Entry{}
}

// methodMakers construct the methods that users registered; selection constructs its own.
var methodMakers makers[MethodMaker]

// MakerOfMethod returns how a method is constructed.
func MakerOfMethod(m Method) MethodMaker {
	if made := methodMakers.find(string(m)); made != nil {
		return made
	}
	return selectionEntry(string(m)).New
}

// Methods lists the selection methods, those registered by the user last.
func Methods() []MethodInfo { return methods.all() }

// Info describes the method. The result for an unknown method has no name.
func (m Method) Info() MethodInfo {
	info, _ := methods.find(string(m))
	return info
}

// Order is the method's place in Methods; unknown methods come last.
func (m Method) Order() int { return methods.order(string(m)) }

// head is a method with its mode.
func head(m Method, mode Mode) string {
	if mode == NoMode {
		return string(m)
	}
	return string(m) + "-" + mode.String()
}

// cutMode splits the mode off a method's name.
func cutMode(written string) (string, Mode) {
	if base, ok := strings.CutSuffix(written, "-tp"); ok {
		return base, TP
	}
	if base, ok := strings.CutSuffix(written, "-p"); ok {
		return base, P
	}
	return written, NoMode
}

// heads lists the methods with their modes, as specs write them.
func heads() (list []string) {
	for _, m := range Methods() {
		if m.Modes {
			list = append(list, head(Method(m.Name), P), head(Method(m.Name), TP))
		} else {
			list = append(list, m.Name)
		}
	}
	return list
}
