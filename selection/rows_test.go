package selection

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
)

// shards are rows that have been cut at multiples of blocks. Each shard knows its own
// rows alone, and answers are put together here.
type shards[T matrix.Float] struct {
	first []int // row of each shard
	price []float64
	parts []poolRows[T]
}

func newShards[T matrix.Float](s *Space[T], cuts []int) *shards[T] {
	f := &shards[T]{first: cuts, price: s.price}
	for i, from := range cuts {
		to := s.PoolSize()
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		var weights []float64
		if s.weights != nil {
			weights = s.weights[from:to]
		}
		rows := &set[T]{name: "pool", rows: s.pool.rows.Slice(from, to).Clone(), diag: slices.Clone(s.pool.diag[from:to])}
		part := newMemoryRows(s, rows, weights)
		if s.price != nil {
			part.price = s.price[from:to]
		}
		f.parts = append(f.parts, part)
	}
	return f
}

// of returns the shard of a row.
func (f *shards[T]) of(row int) int {
	at, exact := slices.BinarySearch(f.first, row)
	if !exact {
		at--
	}
	return at
}

func (f *shards[T]) Mark(row int, open, selected bool) {
	f.parts[f.of(row)].Mark(row-f.first[f.of(row)], open, selected)
}

func (f *shards[T]) Row(row int) (matrix.Dense[T], T) {
	return f.parts[f.of(row)].Row(row - f.first[f.of(row)])
}

func (f *shards[T]) Block(from, to int) matrix.Dense[T] {
	at := f.of(from)
	return f.parts[at].Block(from-f.first[at], to-f.first[at])
}

// best puts together what each shard finds.
func (f *shards[T]) best(find func(shard int) (found, error)) (found, error) {
	best := found{-1, math.Inf(-1)}
	for i, first := range f.first {
		one, err := find(i)
		if err != nil {
			return one, err
		}
		if one.row >= 0 && (best.row < 0 || f.per(first+one.row, one.score) > f.per(best.row, best.score)) {
			best = found{first + one.row, one.score}
		}
	}
	return best, nil
}

func (f *shards[T]) per(row int, score float64) float64 {
	if f.price == nil {
		return score
	}
	return score / f.price[row]
}

func (f *shards[T]) Largest() (found, error) {
	return f.best(func(i int) (found, error) { return f.parts[i].Largest() })
}

func (f *shards[T]) Nearest(size Size, lists bool) centreSearch[T] {
	s := &shardsNearest[T]{shards: f}
	for _, part := range f.parts {
		s.searches = append(s.searches, part.Nearest(size, lists))
	}
	return s
}

func (f *shards[T]) Directions() (directionSearch, error) {
	s := &shardsDirections[T]{shards: f}
	for _, part := range f.parts {
		one, err := part.Directions()
		if err != nil {
			return nil, err
		}
		s.searches = append(s.searches, one)
	}
	return s, nil
}

func (f *shards[T]) Variances() (varianceSearch, error) {
	s := &shardsVariances[T]{shards: f}
	for _, part := range f.parts {
		one, err := part.Variances()
		if err != nil {
			return nil, err
		}
		s.searches = append(s.searches, one)
	}
	return s, nil
}

type shardsVariances[T matrix.Float] struct {
	*shards[T]
	searches []varianceSearch
}

func (f *shardsVariances[T]) Prior() float64 {
	largest := 0.0
	for _, s := range f.searches {
		largest = max(largest, s.Prior())
	}
	return largest
}

func (f *shardsVariances[T]) Scales() []float64 {
	scales := f.searches[0].Scales()
	for _, s := range f.searches[1:] {
		for j, v := range s.Scales() {
			scales[j] = max(scales[j], v)
		}
	}
	return scales
}

func (f *shardsVariances[T]) Rebase(s *covariance) {
	for _, one := range f.searches {
		one.Rebase(s)
	}
}

func (f *shardsVariances[T]) Step(w []float64, row int) {
	for i, s := range f.searches {
		if row >= 0 && f.of(row) == i {
			s.Step(w, row-f.first[i])
		} else {
			s.Step(w, -1)
		}
	}
}

func (f *shardsVariances[T]) Best() (found, error) {
	return f.best(func(i int) (found, error) { return f.searches[i].Best() })
}

func (f *shardsVariances[T]) At(row int) float64 {
	return f.searches[f.of(row)].At(row - f.first[f.of(row)])
}

func (f *shards[T]) Pivots(sigma2 float64) (pivotSearch, error) {
	s := &shardsPivots[T]{shards: f}
	for _, part := range f.parts {
		one, err := part.Pivots(sigma2)
		if err != nil {
			return nil, err
		}
		s.searches = append(s.searches, one)
	}
	return s, nil
}

type shardsPivots[T matrix.Float] struct {
	*shards[T]
	searches []pivotSearch
}

func (f *shardsPivots[T]) Prior() float64 {
	largest := 0.0
	for _, s := range f.searches {
		largest = max(largest, s.Prior())
	}
	return largest
}

func (f *shardsPivots[T]) Column(row int) ([]float64, float64) {
	return f.searches[f.of(row)].Column(row - f.first[f.of(row)])
}

func (f *shardsPivots[T]) AddMany(rows, l matrix.Dense[float64]) error {
	for _, s := range f.searches {
		if err := s.AddMany(rows, l); err != nil {
			return err
		}
	}
	return nil
}

func (f *shardsPivots[T]) Add(x matrix.Dense[float64], at int, column []float64, scale float64) error {
	for i, s := range f.searches {
		own := -1
		if at >= 0 && f.of(at) == i {
			own = at - f.first[i]
		}
		if err := s.Add(x, own, column, scale); err != nil {
			return err
		}
	}
	return nil
}

func (f *shardsPivots[T]) Best() (found, error) {
	return f.best(func(i int) (found, error) { return f.searches[i].Best() })
}

func (f *shards[T]) PrecisePivots() (precisePivotSearch, error) {
	s := &shardsPrecisePivots[T]{shards: f}
	for _, part := range f.parts {
		one, err := part.PrecisePivots()
		if err != nil {
			return nil, err
		}
		s.searches = append(s.searches, one)
	}
	return s, nil
}

type shardsPrecisePivots[T matrix.Float] struct {
	*shards[T]
	searches []precisePivotSearch
}

func (f *shardsPrecisePivots[T]) Column(row int) (doubles, double) {
	return f.searches[f.of(row)].Column(row - f.first[f.of(row)])
}

func (f *shardsPrecisePivots[T]) Add(x matrix.Dense[float64], column doubles, pivot double) error {
	for _, s := range f.searches {
		if err := s.Add(x, column, pivot); err != nil {
			return err
		}
	}
	return nil
}

func (f *shardsPrecisePivots[T]) Best() (found, error) {
	return f.best(func(i int) (found, error) { return f.searches[i].Best() })
}

func (f *shards[T]) KernelDirections() (kernelDirectionSearch, error) {
	s := &shardsKernelDirections[T]{shards: f}
	for _, part := range f.parts {
		one, err := part.KernelDirections()
		if err != nil {
			return nil, err
		}
		s.searches = append(s.searches, one)
	}
	return s, nil
}

type shardsKernelDirections[T matrix.Float] struct {
	*shards[T]
	searches []kernelDirectionSearch
}

func (f *shardsKernelDirections[T]) Norms(r float64) float64 {
	for _, s := range f.searches {
		r = s.Norms(r)
	}
	return r
}

func (f *shardsKernelDirections[T]) AddSums(sums []float64, rows matrix.Dense[float64]) error {
	for _, s := range f.searches {
		if err := s.AddSums(sums, rows); err != nil {
			return err
		}
	}
	return nil
}

func (f *shardsKernelDirections[T]) Start(u []float64) {
	for i, s := range f.searches {
		s.Start(u[f.first[i]:])
	}
}

func (f *shardsKernelDirections[T]) At(row int) (c, u, v float64) {
	return f.searches[f.of(row)].At(row - f.first[f.of(row)])
}

func (f *shardsKernelDirections[T]) Step(x matrix.Dense[float64], keep, weight float64) error {
	for _, s := range f.searches {
		if err := s.Step(x, keep, weight); err != nil {
			return err
		}
	}
	return nil
}

func (f *shardsKernelDirections[T]) Best() (best found, zero bool, err error) {
	return f.bestDirection(func(i int) (found, bool, error) { return f.searches[i].Best() })
}

func (f *shards[T]) Totals(offset float64) (totalSearch, error) {
	s := &shardsTotals[T]{shards: f}
	for _, part := range f.parts {
		one, err := part.Totals(offset)
		if err != nil {
			return nil, err
		}
		s.searches = append(s.searches, one)
	}
	return s, nil
}

type shardsTotals[T matrix.Float] struct {
	*shards[T]
	searches []totalSearch
}

func (f *shardsTotals[T]) Prior() float64 {
	largest := 0.0
	for _, s := range f.searches {
		largest = max(largest, s.Prior())
	}
	return largest
}

func (f *shardsTotals[T]) Moments(m, a matrix.Dense[float64]) {
	for _, s := range f.searches {
		s.Moments(m, a)
	}
}

func (f *shardsTotals[T]) Summed(total float64, y []float64) float64 {
	for _, s := range f.searches {
		total = s.Summed(total, y)
	}
	return total
}

func (f *shardsTotals[T]) Rebase(a, inner matrix.Dense[float64]) float64 {
	largest := 0.0
	for _, s := range f.searches {
		largest = max(largest, s.Rebase(a, inner))
	}
	return largest
}

func (f *shardsTotals[T]) Step(w, p, aw, ap []float64) {
	for _, s := range f.searches {
		s.Step(w, p, aw, ap)
	}
}

func (f *shardsTotals[T]) Best() (best found, v float64, err error) {
	totals := make([]float64, len(f.searches))
	best, err = f.best(func(i int) (one found, err error) {
		one, totals[i], err = f.searches[i].Best()
		return one, err
	})
	if best.row >= 0 {
		v = totals[f.of(best.row)]
	}
	return best, v, err
}

func (f *shardsTotals[T]) At(row int) float64 {
	return f.searches[f.of(row)].At(row - f.first[f.of(row)])
}

type shardsNearest[T matrix.Float] struct {
	*shards[T]
	searches []centreSearch[T]
	blocks   []float64
}

func (f *shardsNearest[T]) Add(centres matrix.Dense[T], diag []T, first int) error {
	for _, s := range f.searches {
		if err := s.Add(centres, diag, first); err != nil {
			return err
		}
	}
	return nil
}

func (f *shardsNearest[T]) Farthest() (found, error) {
	return f.best(func(i int) (found, error) { return f.searches[i].Farthest() })
}

func (f *shardsNearest[T]) At(row int) (T, int) {
	return f.searches[f.of(row)].At(row - f.first[f.of(row)])
}

// Sum passes the sums on from shard to shard. The best row is that of the earliest
// shard, numbered as in the pool.
func (f *shardsNearest[T]) Sum(sums []clusterSum, first int) {
	tops := noSums(len(sums))
	for i, s := range f.searches {
		for k := range sums {
			sums[k].top, sums[k].far = -1, 0
		}
		s.Sum(sums, first)
		for k, sum := range sums {
			if sum.top >= 0 && (tops[k].top < 0 || sum.far > tops[k].far) {
				tops[k].top, tops[k].far = f.first[i]+sum.top, sum.far
			}
		}
	}
	for k := range sums {
		sums[k].top, sums[k].far = tops[k].top, tops[k].far
	}
}

func (f *shardsNearest[T]) Weigh(centres bool, scale []float64) []float64 {
	f.blocks = f.blocks[:0]
	for _, s := range f.searches {
		f.blocks = append(f.blocks, s.Weigh(centres, scale)...)
	}
	return f.blocks
}

func (f *shardsNearest[T]) Draw(block int, stream *rng.Stream) (int, error) {
	at := f.of(block * sumBlock)
	row, err := f.searches[at].Draw(block-f.first[at]/sumBlock, stream)
	return f.first[at] + row, err
}

func (f *shardsNearest[T]) Gains(sums []float64, rows matrix.Dense[T], diag []T) error {
	for _, s := range f.searches {
		if err := s.Gains(sums, rows, diag); err != nil {
			return err
		}
	}
	return nil
}

type shardsDirections[T matrix.Float] struct {
	*shards[T]
	searches []directionSearch
}

func (f *shardsDirections[T]) Sums(u []float64, r float64) float64 {
	for _, s := range f.searches {
		r = s.Sums(u, r)
	}
	return r
}

func (f *shardsDirections[T]) Best(residual []float64) (best found, zero bool, err error) {
	return f.bestDirection(func(i int) (found, bool, error) { return f.searches[i].Best(residual) })
}

// bestDirection is best for directions.
func (f *shards[T]) bestDirection(find func(shard int) (found, bool, error)) (best found, zero bool, err error) {
	zero = true
	best, err = f.best(func(i int) (found, error) {
		one, all, err := find(i)
		zero = zero && (all || math.IsInf(one.score, -1))
		return one, err
	})
	return best, zero, err
}

// TestShardsSelectTheSame compares batches of a pool in one piece with those of the same
// pool cut into shards, with all bounds in use: picks, scores, clusters and notes, to
// the last bit.
func TestShardsSelectTheSame(t *testing.T) {
	forceFast(t)
	t.Run("float32", func(t *testing.T) { sameOverShards[float32](t, hardrows.All()["decaying"]) })
	t.Run("float64", func(t *testing.T) { sameOverShards[float64](t, hardrows.All()["duplicates"]) })
	t.Run("kernel space", sameInKernelSpace)
}

// sameInKernelSpace is for methods that compute kernel values of all pairs, so the pool
// is smaller. After three picks a kernel of rank 3 leaves so little variance that MaxDet
// needs twice as many digits.
func sameInKernelSpace(t *testing.T) {
	pool, train := matrix.New[float64](sumBlock+500, 3), matrix.New[float64](30, 3)
	rng.FillNormal(rng.New(1, "shards test"), pool.Data)
	rng.FillNormal(rng.New(2, "shards test"), train.Data)
	p := Problem[float64]{Pool: pool, Train: train, Batch: 6, Constraints: Constraints{Exclude: []int{0, sumBlock}, Require: []int{3, sumBlock + 7}}}
	laplace, err := kernel.NewLaplace[float64](3, 1)
	must(t, err)
	maxDet, frankWolfe := MaxDet[float64]{Sigma2: 5e-8, In: InKernelSpace}, FrankWolfe[float64]{In: InKernelSpace}
	for _, c := range []struct {
		name string
		k    kernel.Kernel[float64]
		mode Mode
		m    Method[float64]
	}{
		{"features", nil, P, maxDet}, {"features", nil, TP, maxDet}, {"laplace", laplace, P, maxDet}, {"laplace", laplace, TP, maxDet},
		{"rank 3", lowRank{kernel.NewLinear[float64](3)}, P, maxDet}, {"rank 3", lowRank{kernel.NewLinear[float64](3)}, TP, maxDet},
		{"features", nil, P, frankWolfe}, {"laplace", laplace, TP, frankWolfe},
	} {
		p.Kernel, p.Mode = c.k, c.mode
		t.Run(fmt.Sprint(c.name, "/", c.m.Name(), "-", c.mode), func(t *testing.T) { cutIntoShards(t, c.m, p, 0, sumBlock) })
	}
}

// lowRank is a kernel whose features are hidden.
type lowRank struct{ of kernel.Kernel[float64] }

func (k lowRank) Inputs() int { return k.of.Inputs() }

func (k lowRank) Diag(ctx context.Context, dst []float64, rows matrix.Dense[float64]) error {
	return k.of.Diag(ctx, dst, rows)
}

func (k lowRank) Cross(ctx context.Context, dst, a, b matrix.Dense[float64]) error {
	return k.of.Cross(ctx, dst, a, b)
}

func sameOverShards[T matrix.Float](t *testing.T, kind hardrows.Kind) {
	rows := func(n int, seed uint64) matrix.Dense[T] { return hardrows.Matrix[T](kind, n, 64, seed) }
	p := Problem[T]{Pool: rows(3*sumBlock+500, 1), Train: rows(40, 2), Batch: 12, Seed: 5, Pending: []int{7, 2*sumBlock + 1},
		Constraints: Constraints{Exclude: []int{0, sumBlock, 40000}, Require: []int{3, 2 * sumBlock}}}
	aims := map[Mode]Target[T]{P: {Rows: rows(sumBlock+100, 3)}, TP: {Weights: make([]float64, p.Pool.Rows)}}
	for i := range p.Pool.Rows {
		aims[TP].Weights[i] = 1 / float64(1+i%7)
	}
	for _, e := range Methods[T]() {
		for _, p.Mode = range []Mode{P, TP} {
			p.Target = Target[T]{}
			if e.Target {
				p.Target = aims[p.Mode]
			}
			c := &p.Constraints
			if c.PerCost, c.Cost, c.Budget = e.Score && p.Mode == P, nil, 0; c.PerCost {
				c.Cost, c.Budget = aims[TP].Weights, 1e9
			}
			t.Run(fmt.Sprint(e.Name, "-", p.Mode), func(t *testing.T) { cutIntoShards(t, e.New(Settings{Sigma2: 1e-3}), p, 0, sumBlock, 3*sumBlock) })
		}
	}
}

func cutIntoShards[T matrix.Float](t *testing.T, m Method[T], p Problem[T], cuts ...int) {
	want, err := Select(t.Context(), m, p)
	must(t, err)
	got, err := selectOver(linalg.WithThreads(t.Context(), 1), m, p, func(s *Space[T]) poolRows[T] {
		return newShards(s, cuts)
	})
	must(t, err)
	if !slices.Equal(got.Picks, want.Picks) || !slices.Equal(got.Notes, want.Notes) || !slices.Equal(got.Removed, want.Removed) {
		t.Errorf("%+v, in one piece %+v", got.Picks, want.Picks)
	}
}
