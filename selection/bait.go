package selection

// BAIT, greedy total uncertainty minimization (paper, section of that name and
// the algorithms of BAIT-F and BAIT-FB in the appendix):
//
//	a(X)  = Σ_{x̃ in train ∪ pool} k_{→post(X, σ²)}(x̃, x̃)
//	NEXT  = argmax_{x in X_rem} a(X_sel) − a(X_sel ∪ {x}) = v[x]/(c[x] + σ²)
//
// The paper carries posterior features, their second moments Σ and v through
// rank-one updates. Here the features do not change. With A from when c and v were last
// recomputed, ψ(x) = Aφ(x) the posterior features at that time (A = I if nothing was
// selected), M = Σ φ(x̃)φ(x̃)ᵀ over train and pool, or over the target, and S the
// covariance since then (internal/posterior),
//
//	c[x] = ψ(x)ᵀSψ(x),   v[x] = ψ(x)ᵀ S AMAᵀ S ψ(x)
//	ADD(x)     γ² = σ² + ⟨ψ(x), Sψ(x)⟩,  w = Sψ(x)/γ
//	           p = ⟨w, AMAᵀw⟩·w − 2·S·AMAᵀw,  S = S − w·wᵀ
//	           c = c − u⊙u,  v = v + u⊙z   with u = Φ·Aᵀw, z = Φ·Aᵀp
//
// which is the paper's update, written in φ. c and v of a row need not be updated in
// each step: internal/space finds the rows that can be the best, and only these are
// updated, with the same numbers as if each step were done for every row.
//
// v falls by many orders of magnitude while its rounding errors do not. Before these
// take over, and after many steps, c and v are recomputed from all selected rows. If the
// exact scores of a few rows show that float64 has too few digits for A, it is computed
// with twice as many (accuracy.go), and AMAᵀ as the sum of ψψᵀ, since M has lost them.

import "github.com/nextbatch/nextbatch/matrix"

// BAIT selects the row that lowers the summed posterior variance most.
type BAIT struct {
	Sigma2   float64 // the noise variance σ²; zero means DefaultSigma2
	Backward bool    // BAIT-FB: twice as many rows, then the least useful are removed
	Compat   bool    // add 1e-8 to the denominator c + σ², as the published code does
}

// Name returns "bait-f" or "bait-fb".
func (m BAIT) Name() string {
	if m.Backward {
		return "bait-fb"
	}
	return "bait-f"
}

func (m BAIT) traits() traits {
	return traits{scored: !m.Backward, moments: true, inDouble: true, gain: itself}
}

// Init computes the second moments of the target.
func (m BAIT) Init(s *Space) (Forward, error) {
	sigma2, err := sigma2Of(m.Name(), m.Sigma2)
	if err != nil {
		return nil, err
	}
	offset := sigma2
	if m.Compat {
		offset += 1e-8
	}
	rows, err := s.rows.Totals(sigma2, offset)
	if err != nil {
		return nil, &MethodError{Method: m.Name(), Reason: "it needs features, but the kernel has no explicit ones"}
	}
	d := s.rows.Cols()
	f := &bait{space: s, name: m.Name(), rows: rows, sigma2: sigma2, offset: offset,
		base: s.rows.Covariance(sigma2), cov: s.rows.Covariance(sigma2), moments: matrix.New[float64](d, d),
		w: make([]float64, d), mw: make([]float64, d), q: make([]float64, d), psi: make([]float64, d), aw: make([]float64, d)}
	rows.Moments(f.moments, matrix.Dense[float64]{})
	f.stale = true // in mode TP the training rows come before the first score
	if m.Backward {
		return &baitFB{bait: f}, nil
	}
	return f, nil
}
