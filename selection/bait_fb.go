package selection

// BAIT-FB (paper, "Forward-Backward Version" and its algorithm): BAIT-F picks
// N_batch + N_extra rows, N_extra = min(N_batch, N_pool − N_batch); then
//
//	NEXT-BACKWARD = argmin_{x in batch} a(X_sel \ {x}) − a(X_sel) = v[x]/(σ² − c[x])
//	REMOVE(x)       w = Sψ(x), q = S·AMAᵀw, γ̃² = σ² − c[x], ṽ = ⟨w, AMAᵀw⟩
//	                v = v + 2γ̃⁻²·u⊙r + γ̃⁻⁴ṽ·u⊙u,  c = c + γ̃⁻²·u⊙u,  S = S + γ̃⁻²·w·wᵀ
//
// with u = Ψw, r = Ψq. Only rows of the batch can be removed, so only theirs are
// updated, from their posterior features at the start of the backward step.
//
// σ² − c is a small difference for a row that nothing else explains. When it has lost
// its digits, because rows were removed that had explained others, everything is
// recomputed from the remaining rows; if that does not help, the selection ends.

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

type baitFB struct {
	*bait
	batch []int                 // the rows that c and v below are for; nil before the backward step
	psis  matrix.Dense[float64] // ψ
	c, v  []float64
	first []float64 // σ² − c when these were last computed from scratch
}

// leastVariance is a lower limit of σ² − c, which is positive except for rounding.
const leastVariance = 1e-15

// differenceTolerance is the share of a score by which rounding may move it in the
// backward step, and the share of its first value that σ² − c may fall to before
// everything is recomputed.
const differenceTolerance = 1e-3

// Extra returns N_extra.
func (f *baitFB) Extra(batch, room int) int { return min(batch, room) }

// NextBackward returns the row whose removal raises the summed variance least.
func (f *baitFB) NextBackward(batch []int, removable func(row int) bool) (Choice, error) {
	if f.batch == nil {
		if err := f.enter(batch); err != nil {
			return Choice{}, err
		}
	}
	at, err := f.least(removable)
	if err == nil && f.remaining(at) < differenceTolerance*f.first[at] {
		if err = f.enter(f.left()); err == nil {
			at, err = f.least(removable)
		}
	}
	if err != nil {
		return Choice{}, err
	}
	choice := Choice{Row: f.batch[at], Score: f.backwardScore(at)}
	if f.remaining(at) <= leastVariance {
		return Choice{}, f.refusal()
	}
	return choice, nil
}

func (f *baitFB) backwardScore(i int) float64 { return f.v[i] / f.remaining(i) }

// least returns the number of the removable row of least score.
func (f *baitFB) least(removable func(row int) bool) (int, error) {
	at, least := -1, 0.0
	for i, row := range f.batch {
		if row < 0 || !removable(row) {
			continue
		}
		score := f.backwardScore(i)
		if math.IsNaN(score) {
			return 0, &RowError{Set: "pool", Row: row, What: "score", Value: score}
		}
		if at < 0 || score < least || score == least && row < f.batch[at] {
			at, least = i, score
		}
	}
	return at, nil
}

// left returns the rows that have not been removed.
func (f *baitFB) left() []int {
	return slices.DeleteFunc(slices.Clone(f.batch), func(row int) bool { return row < 0 })
}

// remaining is σ² − c.
func (f *baitFB) remaining(i int) float64 { return max(f.sigma2-f.c[i], leastVariance) }

// enter starts the backward step.
func (f *baitFB) enter(batch []int) error {
	f.batch = append([]int{}, batch...)
	f.psis = f.space.rows.Float64(batch)
	f.c, f.v = make([]float64, len(batch)), make([]float64, len(batch))
	if err := f.rebase(f.backwardAccurate, func() { f.rows.Of(f.psis, f.base.Root, f.inner, f.c, f.v) }); err != nil {
		return err
	}
	f.first = make([]float64, len(batch))
	for i := range batch {
		f.first[i] = f.remaining(i)
	}
	f.psis = f.allConditioned(f.psis)
	return nil
}

// backwardAccurate compares the least score with the exact one, and makes sure that
// some other rows have no lower one.
func (f *baitFB) backwardAccurate(selected matrix.Dense[float64]) bool {
	all := func(int) bool { return true }
	at, err := f.least(all)
	if err != nil {
		return false
	}
	least := f.backwardScore(at)
	sample := sampleOf(at, slices.Repeat([]bool{true}, len(f.batch)))
	v, c := f.exactScores(f.psis.SelectRows(sample), selected)
	for k, i := range sample {
		score := v[k] / max(f.sigma2-c[k], leastVariance)
		if !(score >= (1-differenceTolerance)*least) || i == at && !(score <= (1+differenceTolerance)*least) {
			return false
		}
	}
	return true
}

// Remove takes a row back. The scores of the pool are recomputed if they are needed
// again.
func (f *baitFB) Remove(row int) error {
	set := simd.For[float64]()
	at := -1
	for i, r := range f.batch {
		if r == row {
			at = i
		}
	}
	vx := f.direction(f.psis.Row(at))
	gamma2 := f.remaining(at)
	f.space.rows.Team().OverPieces(len(f.batch), cachedRows, func(_, from, to int) {
		for i := from; i < to; i++ {
			u, r := set.Dot(f.psis.Row(i), f.w), set.Dot(f.psis.Row(i), f.q)
			f.v[i] += 2/gamma2*u*r + vx/(gamma2*gamma2)*u*u
			f.c[i] += u * u / gamma2
		}
	})
	f.cov.Update(f.w, 1, gamma2)
	f.batch[at] = -1
	f.unselect(row)
	return nil
}

// unselect removes a row from the selected ones.
func (f *baitFB) unselect(row int) {
	kept := f.selected[:0]
	for _, x := range f.selected {
		if x != row {
			kept = append(kept, x)
		}
	}
	f.selected = kept
	f.stale = true
}
