package selection

// Greedy k-means++ (paper, "Other options"; Celebi et al., 2013): each step draws
// several candidates as k-means++ does and keeps the one that leaves the
// smallest sum of squared distances, which is the one that takes most from it,
//
//	NEXT = argmax_{x drawn} Σ_y w(y)·max(d(y)² − d_k(x, y)², 0)
//
// over the target distribution, which is the pool unless another one is given.

import "math"

// GreedyKMeansPP draws several rows per step and keeps the best.
type GreedyKMeansPP struct {
	Candidates int // draws per step; zero means 2 + ⌊ln N_batch⌋
}

// Name returns "greedy-kmeanspp".
func (GreedyKMeansPP) Name() string { return "greedy-kmeanspp" }

func (GreedyKMeansPP) traits() traits { return traits{anyUnit: true} }

// Init starts with no distances.
func (m GreedyKMeansPP) Init(s *Space) (Forward, error) {
	if m.Candidates < 0 {
		return nil, &MethodError{Method: m.Name(), Reason: "the number of candidates must not be negative"}
	}
	f := &greedyKMeansPP{sampler: newSampler(s), candidates: m.Candidates}
	if f.candidates == 0 {
		f.candidates = 2 + int(math.Log(float64(s.Batch())))
	}
	return f, nil
}

type greedyKMeansPP struct {
	*sampler
	candidates int
}

// Next draws candidates; the score is the sum of squared distances that the best
// one leaves, negative, so that more is better.
func (f *greedyKMeansPP) Next() (Choice, error) {
	if f.empty() {
		return f.first()
	}
	f.weigh()
	drawn := make([]int, f.candidates)
	for i := range drawn {
		var err error
		if drawn[i], err = f.pick(); err != nil {
			return Choice{}, err
		}
	}
	sums := make([]float64, 1+len(drawn))
	if err := f.rows.Gains(sums, drawn); err != nil {
		return Choice{}, err
	}
	total, gains := sums[0], sums[1:]
	best := 0
	for i := range drawn {
		if gains[i] > gains[best] || gains[i] == gains[best] && drawn[i] < drawn[best] {
			best = i
		}
	}
	left := max(total-gains[best], 0)
	return Choice{Row: drawn[best], Score: -f.space.rows.InUnits(left, 2), Cluster: f.clusterOf(drawn[best])}, nil
}
