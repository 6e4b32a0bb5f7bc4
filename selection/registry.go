package selection

// Settings are the parameters of methods. The zero value is the paper's.
type Settings struct {
	Sigma2 float64 // the noise variance σ²; zero means DefaultSigma2
	Compat bool    // follow the published code where it differs from the paper
}

// Entry is a method in the registry.
type Entry struct {
	Name        string
	Description string
	Section     string // of the paper

	Modes    bool // modes P and TP differ
	Features bool // it needs features, not just a kernel
	Aims     bool // it can represent a distribution other than the pool's
	Random   bool // it draws random numbers
	Score    bool // its score can be divided by costs

	New func(Settings) Method
}

// Methods lists the methods of this package.
func Methods() []Entry {
	return []Entry{
		{Name: "random", Section: "5.2 Random Selection", Random: true,
			Description: "rows drawn uniformly; uses no kernel",
			New:         func(Settings) Method { return Random{} }},
		{Name: "maxdiag", Section: "5.2 Naive Active Learning", Score: true,
			Description: "the rows of largest k(x, x), without regard to diversity",
			New:         func(Settings) Method { return MaxDiag{} }},
		{Name: "maxdet", Section: "5.2 Greedy Determinant Maximization", Modes: true, Score: true,
			Description: "the row of largest variance after conditioning on the rows selected so far",
			New:         func(s Settings) Method { return MaxDet{Sigma2: s.Sigma2} }},
		{Name: "bait-f", Section: "5.2 Greedy total uncertainty minimization", Modes: true, Features: true,
			Aims: true, Score: true,
			Description: "the row that lowers the summed variance of train and pool most",
			New:         func(s Settings) Method { return BAIT{Sigma2: s.Sigma2, Compat: s.Compat} }},
		{Name: "bait-fb", Section: "5.2 Greedy total uncertainty minimization", Modes: true, Features: true, Aims: true,
			Description: "bait-f for twice the batch, then removes the rows that matter least",
			New: func(s Settings) Method {
				return BAIT{Sigma2: s.Sigma2, Compat: s.Compat, Backward: true}
			}},
		{Name: "frankwolfe", Section: "5.2 Frank-Wolfe optimization", Modes: true,
			Description: "rows whose weighted sum of features comes close to that of the pool",
			New:         func(Settings) Method { return FrankWolfe{} }},
		{Name: "maxdist", Section: "5.2 Greedy distance maximization", Modes: true, Score: true,
			Description: "the row farthest from all selected ones",
			New:         func(Settings) Method { return MaxDist{} }},
		{Name: "kmeanspp", Section: "5.2 k-means++ seeding", Modes: true, Aims: true, Random: true,
			Description: "a row drawn in proportion to its squared distance from the selected ones",
			New:         func(Settings) Method { return KMeansPP{} }},
		{Name: "greedy-kmeanspp", Section: "5.2 Other options", Modes: true, Aims: true, Random: true,
			Description: "kmeanspp with several draws per step, of which the best is kept",
			New:         func(Settings) Method { return GreedyKMeansPP{} }},
		{Name: "lcmd", Section: "5.2 Largest cluster maximum distance", Modes: true, Aims: true, Score: true,
			Description: "the farthest row of the largest cluster; size is the sum of squared distances",
			New:         func(Settings) Method { return LCMD{} }},
		{Name: "lcmd-dist", Section: "5.2 Largest cluster maximum distance", Modes: true, Aims: true, Score: true,
			Description: "lcmd with the sum of distances as the size of a cluster",
			New:         func(Settings) Method { return LCMD{Size: Distance} }},
		{Name: "lcmd-count", Section: "5.2 Largest cluster maximum distance", Modes: true, Aims: true, Score: true,
			Description: "lcmd with the number of rows as the size of a cluster",
			New:         func(Settings) Method { return LCMD{Size: Count} }},
	}
}
