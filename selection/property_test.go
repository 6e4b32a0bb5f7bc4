package selection_test

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/selection/selectiontest"
)

func mustSelect[T matrix.Float](t *testing.T, m selection.Method, p selection.Problem[T]) *selection.Result {
	t.Helper()
	r, err := selection.Select(t.Context(), m, p)
	must(t, err)
	return r
}

// mustPickTheSame compares two ways to the same batch, as far as the order does
// not hang on rounding.
func mustPickTheSame(t *testing.T, what string, a, b *selection.Result, oracle func() selectiontest.Oracle,
	p selection.Problem[float64]) {
	t.Helper()
	_, prefix := selectiontest.Robust(oracle, selectiontest.NewInput(p, nil), 1e-11)
	if x, y := a.Rows()[:prefix], b.Rows()[:prefix]; !slices.Equal(x, y) {
		t.Errorf("%s: %v and %v", what, x, y)
	}
}

// onPosterior is a problem with the posterior features on its training rows.
func onPosterior(t *testing.T, p selection.Problem[float64], s2 float64) selection.Problem[float64] {
	t.Helper()
	k, _, err := transform.Posterior(t.Context(), kernel.NewLinear[float64](p.Pool.Cols), p.Train, s2)
	must(t, err)
	return onFeatures(t, p, k)
}

func TestTPIsPOnThePosterior(t *testing.T) {
	t.Parallel()
	const s2 = 1e-2
	methods := map[string]struct {
		m selection.Method
		o func() selectiontest.Oracle
	}{
		"maxdet": {selection.MaxDet{Sigma2: s2},
			func() selectiontest.Oracle { return &selectiontest.MaxDetFeatures{Sigma2: s2} }},
		"bait-f": {selection.BAIT{Sigma2: s2}, func() selectiontest.Oracle { return &selectiontest.BAIT{Sigma2: s2} }},
		"bait-fb": {selection.BAIT{Sigma2: s2, Backward: true},
			func() selectiontest.Oracle { return &selectiontest.BAITBackward{BAIT: selectiontest.BAIT{Sigma2: s2}} }},
	}
	for name, method := range methods {
		for _, c := range selectiontest.Cases() {
			p := c.Problem
			onPost := mustSelect(t, method.m, onPosterior(t, p, s2))
			p.Mode = selection.TP
			mustPickTheSame(t, name+", "+c.Name, mustSelect(t, method.m, p), onPost, method.o, p)
		}
	}
}

func TestOneRowIsTheLargestDiagonal(t *testing.T) {
	t.Parallel()
	for _, c := range selectiontest.Cases() {
		p := c.Problem
		p.Batch = 1
		want := mustSelect(t, selection.MaxDiag{}, p).Rows()
		for _, m := range []selection.Method{selection.LCMD{}, selection.MaxDist{}, selection.MaxDet{}} {
			if got := mustSelect(t, m, p).Rows(); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", c.Name, m.Name(), got, want)
			}
		}
	}
}

// hidden is the linear kernel without its features.
type hidden struct{ kernel.Kernel[float64] }

func (h hidden) Inputs() int { return h.Kernel.Inputs() }
func (h hidden) Diag(ctx context.Context, dst []float64, a matrix.Dense[float64]) error {
	return h.Kernel.Diag(ctx, dst, a)
}

func TestKernelSpaceIsFeatureSpace(t *testing.T) {
	t.Parallel()
	methods := map[string]struct {
		m selection.Method
		o func() selectiontest.Oracle
	}{
		"maxdet": {selection.MaxDet{},
			func() selectiontest.Oracle { return &selectiontest.MaxDetFeatures{Sigma2: sigma2} }},
		"frankwolfe": {selection.FrankWolfe{}, func() selectiontest.Oracle { return &selectiontest.FrankWolfeFeatures{} }},
		"maxdist":    {selection.MaxDist{}, func() selectiontest.Oracle { return &selectiontest.MaxDist{} }},
		"lcmd":       {selection.LCMD{}, func() selectiontest.Oracle { return &selectiontest.LCMD{} }},
	}
	for name, method := range methods {
		for _, c := range selectiontest.Cases() {
			for _, mode := range []selection.Mode{selection.P, selection.TP} {
				p := c.Problem
				p.Mode = mode
				withFeatures := mustSelect(t, method.m, p)
				p.Kernel = hidden{kernel.NewLinear[float64](p.Pool.Cols)}
				withKernel, err := selection.Select(t.Context(), method.m, p)
				// Kernel values are rounded, so large ones lose a variance of the size of σ².
				if lost := (*selection.PrecisionError)(nil); errors.As(err, &lost) && name == "maxdet" &&
					lost.Largest > 1e9*sigma2 {
					continue
				}
				if err != nil {
					t.Fatalf("%s, %s, %s: %v", name, c.Name, mode, err)
				}
				mustPickTheSame(t, name+", "+c.Name, withFeatures, withKernel, method.o, p)
			}
		}
	}
}

// TestMaxDistCovers checks the paper's lemma: the covering radius of the batch is
// at most twice the best that any batch of the size has.
func TestMaxDistCovers(t *testing.T) {
	t.Parallel()
	for _, mode := range []selection.Mode{selection.P, selection.TP} {
		for _, c := range selectiontest.Cases() {
			p := c.Problem
			p.Mode, p.Batch = mode, min(4, p.Pool.Rows)
			p.Pool = p.Pool.Slice(0, min(12, p.Pool.Rows))
			p.Batch = min(p.Batch, p.Pool.Rows)
			got := radius(p, mustSelect(t, selection.MaxDist{}, p).Rows())
			best := math.Inf(1)
			for mask := range uint(1) << p.Pool.Rows {
				if bits.OnesCount(mask) == p.Batch {
					best = min(best, radius(p, members(mask)))
				}
			}
			if got > 2*best*(1+1e-12) {
				t.Errorf("%s, %s: radius %v, the best is %v", c.Name, mode, got, best)
			}
		}
	}
}

func members(mask uint) (rows []int) {
	for i := 0; mask>>i > 0; i++ {
		if mask>>i&1 == 1 {
			rows = append(rows, i)
		}
	}
	return rows
}

// radius is the largest distance of a pool row from what is selected.
func radius(p selection.Problem[float64], batch []int) float64 {
	centres := matrix.Dense[float64]{}
	if p.Mode == selection.TP {
		centres = p.Train
	}
	largest := 0.0
	for i := range p.Pool.Rows {
		least := math.Inf(1)
		for j := range centres.Rows {
			least = min(least, distance(p.Pool.Row(i), centres.Row(j)))
		}
		for _, j := range batch {
			least = min(least, distance(p.Pool.Row(i), p.Pool.Row(j)))
		}
		largest = max(largest, least)
	}
	return largest
}

func distance(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum)
}

// TestBatchBALDGrows checks that the mutual information
// a(X) = ½·ln det(k(X, X) + σ²I) − |X|·ln σ grows by ½·ln(1 + score/σ²) with each
// pick.
func TestBatchBALDGrows(t *testing.T) {
	t.Parallel()
	const s2 = 1e-2
	for _, c := range selectiontest.Cases() {
		r := mustSelect(t, selection.MaxDet{Sigma2: s2}, c.Problem)
		before := 0.0
		for i, pick := range r.Picks {
			after := information(c.Problem.Pool, r.Rows()[:i+1], s2)
			grown := 0.5 * math.Log(1+pick.Score/s2)
			if after < before-1e-9 || math.Abs(after-before-grown) > 1e-6*(1+math.Abs(after)) {
				t.Errorf("%s: pick %d takes it from %v to %v, by its score %v", c.Name, i, before, after, grown)
			}
			before = after
		}
	}
}

func information(pool matrix.Dense[float64], rows []int, s2 float64) float64 {
	n := len(rows)
	m := matrix.New[float64](n, n)
	for i, x := range rows {
		for j, y := range rows {
			for l, v := range pool.Row(x) {
				m.Row(i)[j] += v * pool.Row(y)[l]
			}
		}
		m.Row(i)[i] += s2
	}
	return 0.5*logDet(m) - float64(n)*0.5*math.Log(s2)
}

// logDet eliminates without pivoting, which a positive definite matrix allows.
func logDet(m matrix.Dense[float64]) float64 {
	sum := 0.0
	for i := range m.Rows {
		sum += math.Log(m.At(i, i))
		for j := i + 1; j < m.Rows; j++ {
			f := m.At(j, i) / m.At(i, i)
			for l := i; l < m.Cols; l++ {
				m.Set(j, l, m.At(j, l)-f*m.At(i, l))
			}
		}
	}
	return sum
}

// TestBAITScoreIsTheDropInVariance compares scores with the summed posterior
// variances before and after.
func TestBAITScoreIsTheDropInVariance(t *testing.T) {
	t.Parallel()
	const s2 = 1e-2
	p := selectiontest.Cases()[0].Problem
	r := mustSelect(t, selection.BAIT{Sigma2: s2}, p)
	before := totalVariance(t, p, nil, s2)
	for i, pick := range r.Picks {
		after := totalVariance(t, p, r.Rows()[:i+1], s2)
		if math.Abs(before-after-pick.Score) > 1e-8*before {
			t.Errorf("pick %d lowers the variance from %v to %v, its score is %v", i, before, after, pick.Score)
		}
		before = after
	}
}

func totalVariance(t *testing.T, p selection.Problem[float64], rows []int, s2 float64) float64 {
	t.Helper()
	k := kernel.Kernel[float64](kernel.NewLinear[float64](p.Pool.Cols))
	if len(rows) > 0 {
		var err error
		k, _, err = transform.Posterior(t.Context(), k, p.Pool.SelectRows(rows), s2)
		must(t, err)
	}
	sum := 0.0
	for _, m := range []matrix.Dense[float64]{p.Train, p.Pool} {
		diag := make([]float64, m.Rows)
		must(t, k.Diag(t.Context(), diag, m))
		for _, v := range diag {
			sum += v
		}
	}
	return sum
}

// TestDrawsFollowTheirProbabilities counts the first picks over many seeds.
func TestDrawsFollowTheirProbabilities(t *testing.T) {
	t.Parallel()
	p := selectiontest.Cases()[0].Problem
	p.Pool, p.Batch = p.Pool.Slice(0, 20), 1
	weights := make([]float64, 20)
	for i := range weights {
		weights[i] = float64(i % 4)
	}
	o := func(mode selection.Mode) []float64 {
		in := selectiontest.NewInput(p, nil)
		in.Mode = mode
		k := &selectiontest.KMeansPP{}
		k.Init(in)
		if mode == selection.TP {
			for x := 20; x < len(in.Rows); x++ {
				k.Add(x)
			}
		}
		rem := make([]int, 20)
		for i := range rem {
			rem[i] = i
		}
		return k.Probabilities(rem)
	}
	uniform, byDistance := o(selection.P), o(selection.TP)
	weighted := make([]float64, 20)
	sum := 0.0
	for i := range weighted {
		weighted[i] = weights[i] * byDistance[i]
		sum += weighted[i]
	}
	for i := range weighted {
		weighted[i] /= sum
	}
	same := selection.Aims[float64]{Rows: p.Pool}
	mustFollow(t, "random", selection.Random{}, p, uniform)
	mustFollow(t, "k-means++, P", selection.KMeansPP{}, p, uniform)
	p.Mode = selection.TP
	mustFollow(t, "k-means++, TP", selection.KMeansPP{}, p, byDistance)
	mustFollow(t, "greedy k-means++ with one draw", selection.GreedyKMeansPP{Candidates: 1}, p, byDistance)
	p.Aims = same
	mustFollow(t, "the pool as target", selection.KMeansPP{}, p, byDistance)
	p.Aims = selection.Aims[float64]{Weights: weights}
	mustFollow(t, "weights", selection.KMeansPP{}, p, weighted)
}

func mustFollow(t *testing.T, what string, m selection.Method, p selection.Problem[float64], want []float64) {
	t.Helper()
	const draws = 3000
	counts := make([]float64, len(want))
	for seed := range draws {
		p.Seed = uint64(seed)
		counts[mustSelect(t, m, p).Picks[0].Row]++
	}
	chi2, cells := 0.0, 0
	for i, c := range counts {
		if want[i] == 0 {
			if c > 0 {
				t.Errorf("%s: row %d has no probability and was drawn", what, i)
			}
			continue
		}
		e := want[i] * draws
		chi2 += (c - e) * (c - e) / e
		cells++
	}
	if limit := float64(cells-1) + 4*math.Sqrt(2*float64(cells-1)); chi2 > limit {
		t.Errorf("%s: chi² is %v over %d cells, above %v", what, chi2, cells, limit)
	}
}

// TestGreedyDrawsKeepTheBest draws so often that every row is among the
// candidates: the pick is the row that leaves the least.
func TestGreedyDrawsKeepTheBest(t *testing.T) {
	t.Parallel()
	p := selectiontest.Cases()[0].Problem
	p.Pool, p.Batch, p.Mode = p.Pool.Slice(0, 15), 1, selection.TP
	for _, hide := range []bool{false, true} {
		for what, target := range map[string]selection.Aims[float64]{
			"pool": {}, "weights": {Weights: weightsFor(15)}, "rows": {Rows: p.Pool.Slice(0, 5)},
		} {
			p.Aims = target
			if p.Kernel = nil; hide {
				p.Kernel = hidden{kernel.NewLinear[float64](p.Pool.Cols)}
			}
			pick := mustSelect(t, selection.GreedyKMeansPP{Candidates: 3000}, p).Picks[0]
			best, least := -1, math.Inf(1)
			for row := range p.Pool.Rows {
				if left := leftOver(p, row); left < least {
					best, least = row, left
				}
			}
			if pick.Row != best || math.Abs(pick.Score+least) > 1e-9*least {
				t.Errorf("%s: row %d leaves %v, the best is row %d with %v", what, pick.Row, -pick.Score, best, least)
			}
		}
	}
}

// leftOver is the sum of squared distances if one more row is selected.
func leftOver(p selection.Problem[float64], row int) float64 {
	of := p.Pool
	if p.Aims.Rows.Rows > 0 {
		of = p.Aims.Rows
	}
	sum := 0.0
	for i := range of.Rows {
		d := distance(of.Row(i), p.Pool.Row(row))
		for j := range p.Train.Rows {
			d = min(d, distance(of.Row(i), p.Train.Row(j)))
		}
		w := 1.0
		if p.Aims.Weights != nil {
			w = p.Aims.Weights[i]
		}
		sum += w * d * d
	}
	return sum
}
