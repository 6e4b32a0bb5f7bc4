package nextbatch

import "slices"

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

// methods is the registry, in the order of the constants.
var methods = []MethodInfo{
	{Method: Random, Name: "random", published: "random", Section: "4.2 Random Selection",
		Description: "rows drawn uniformly; looks at no kernel"},
	{Method: MaxDiag, Name: "maxdiag", published: "maxdiag", Section: "4.2 Naive Active Learning",
		Description: "the rows of largest k(x, x), one by one; diversity is not looked at"},
	{Method: MaxDet, Name: "maxdet", published: "maxdet", Section: "4.2 Greedy Determinant Maximization", Modes: true, Noise: true,
		Description: "the row of largest variance after conditioning on the rows selected so far"},
	{Method: BAITForward, Name: "bait-f", published: "bait-f", Section: "4.2 Greedy total uncertainty minimization", Modes: true, Features: true, Noise: true,
		Description: "the row that lowers the summed variance of train and pool most"},
	{Method: BAITForwardBackward, Name: "bait-fb", published: "bait-fb", Section: "4.2 Greedy total uncertainty minimization", Modes: true, Features: true, Noise: true,
		Description: "bait-f for twice the batch, then removes the rows that matter least"},
	{Method: FrankWolfe, Name: "frankwolfe", published: "fw", Section: "4.2 Frank-Wolfe optimization", Modes: true, Features: true,
		Description: "rows whose weighted sum of features comes close to that of the pool"},
	{Method: MaxDist, Name: "maxdist", published: "maxdist", Section: "4.2 Greedy distance maximization", Modes: true,
		Description: "the row farthest from all selected ones"},
	{Method: KMeansPP, Name: "kmeanspp", published: "kmeanspp", Section: "4.2 k-means++ seeding", Modes: true,
		Description: "a row drawn in proportion to its squared distance from the selected ones"},
	{Method: GreedyKMeansPP, Name: "greedy-kmeanspp", Section: "4.2 Other options", Modes: true,
		Description: "kmeanspp with several draws a step, of which the best is kept"},
	{Method: LCMD, Name: "lcmd", published: "lcmd", Section: "4.2 Largest cluster maximum distance", Modes: true,
		Description: "the farthest row of the largest cluster; size is the sum of squared distances"},
	{Method: LCMDDistance, Name: "lcmd-dist", Section: "4.2 Largest cluster maximum distance", Modes: true,
		Description: "lcmd with the sum of distances as the size of a cluster"},
	{Method: LCMDCount, Name: "lcmd-count", Section: "4.2 Largest cluster maximum distance", Modes: true,
		Description: "lcmd with the number of rows as the size of a cluster"},
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
