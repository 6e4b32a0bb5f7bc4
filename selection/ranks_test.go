package selection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
)

// group connects ranks that are goroutines of one process.
type group struct {
	rank int
	mail [][]chan []byte // from, to
}

func newGroup(size int) []*group {
	mail := make([][]chan []byte, size)
	for i := range mail {
		for range size {
			mail[i] = append(mail[i], make(chan []byte, 1))
		}
	}
	ranks := make([]*group, size)
	for i := range ranks {
		ranks[i] = &group{rank: i, mail: mail}
	}
	return ranks
}

func (g *group) Rank() int { return g.rank }
func (g *group) Size() int { return len(g.mail) }

func (g *group) Send(data []byte, to int) error {
	g.mail[g.rank][to] <- slices.Clone(data)
	return nil
}

func (g *group) Receive(data []byte, from int) error {
	sent := <-g.mail[from][g.rank]
	if len(sent) != len(data) {
		return fmt.Errorf("rank %d sent %d bytes, rank %d expects %d", from, len(sent), g.rank, len(data))
	}
	copy(data, sent)
	return nil
}

func (g *group) Broadcast(data []byte, from int) error {
	if from != g.rank {
		return g.Receive(data, from)
	}
	for to := range g.mail {
		if to != from {
			if err := g.Send(data, to); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *group) Gather(all, own []byte) error {
	for from := range g.mail {
		part := all[from*len(own):][:len(own)]
		copy(part, own)
		if err := g.Broadcast(part, from); err != nil {
			return err
		}
	}
	return nil
}

// across selects on ranks that start at the given rows of the pool.
func across[T matrix.Float](t *testing.T, m Method, p Problem[T], cuts ...int) ([]*Result, []error) {
	ranks, ends := newGroup(len(cuts)), append(cuts[1:len(cuts):len(cuts)], p.Pool.Rows)
	results, errs := make([]*Result, len(cuts)), make([]error, len(cuts))
	var running sync.WaitGroup
	for i, from := range cuts {
		running.Go(func() {
			own := p
			own.Pool = p.Pool.Slice(from, ends[i])
			if k, ok := own.Kernel.(interface{ again() kernel.Kernel[T] }); ok {
				own.Kernel = k.again() // a kernel serves one goroutine at a time
			}
			results[i], errs[i] = SelectAcross(linalg.WithThreads(t.Context(), 1), ranks[i], m, own)
		})
	}
	running.Wait()
	return results, errs
}

// TestRanksSelectTheSame compares batches of a pool in one process with those of the same
// pool over ranks, with all bounds in use: picks, scores, clusters and notes, to
// the last bit.
func TestRanksSelectTheSame(t *testing.T) {
	forceFast(t)
	t.Run("float32", func(t *testing.T) { sameOverRanks[float32](t, hardrows.All()["decaying"]) })
	t.Run("float64", func(t *testing.T) { sameOverRanks[float64](t, hardrows.All()["duplicates"]) })
	t.Run("numbers of ranks", sameOnAnyNumber)
	t.Run("kernel space", sameInKernelSpace)
}

// sameOnAnyNumber cuts a pool into 1, 2, 3, 4 and 7 shares of unequal lengths, one of them empty.
func sameOnAnyNumber(t *testing.T) {
	kind := hardrows.All()["decaying"]
	p := Problem[float32]{Pool: hardrows.Matrix[float32](kind, 6*place.Block+123, 5, 1),
		Train: hardrows.Matrix[float32](kind, 20, 5, 2), Batch: 3, Seed: 5}
	const b = place.Block
	for _, e := range Methods() {
		if !slices.Contains([]string{"lcmd", "maxdist", "kmeanspp", "maxdet", "bait-f", "frankwolfe", "random"}, e.Name) {
			continue
		}
		for _, p.Mode = range []Mode{P, TP} {
			t.Run(fmt.Sprint(e.Name, "-", p.Mode), func(t *testing.T) {
				cutIntoRanks(t, e.New(Settings{Sigma2: 1e-3}), p, []int{0}, []int{0, b}, []int{0, b, 4 * b}, []int{0, b, b, 5 * b},
					[]int{0, b, 2 * b, 3 * b, 4 * b, 5 * b, 6 * b})
			})
		}
	}
}

// sameInKernelSpace is for methods that compute kernel values of all pairs, so the pool
// is smaller. After three picks a kernel of rank 3 leaves so little variance that MaxDet
// needs twice as many digits.
func sameInKernelSpace(t *testing.T) {
	pool, train := matrix.New[float64](place.Block+500, 3), matrix.New[float64](30, 3)
	rng.FillNormal(rng.New(1, "ranks test"), pool.Data)
	rng.FillNormal(rng.New(2, "ranks test"), train.Data)
	p := Problem[float64]{Pool: pool, Train: train, Batch: 6, Constraints: Constraints{Exclude: []int{0, place.Block},
		Require: []int{3, place.Block + 7}}}
	laplace, err := kernels.NewLaplace[float64](3, 1)
	must(t, err)
	maxDet, frankWolfe := MaxDet{Sigma2: 5e-8, In: InKernelSpace}, FrankWolfe{In: InKernelSpace}
	for _, c := range []struct {
		name string
		k    kernel.Kernel[float64]
		mode Mode
		m    Method
	}{
		{"features", nil, P, maxDet}, {"features", nil, TP, maxDet}, {"laplace", laplace, P, maxDet},
		{"laplace", laplace, TP, maxDet},
		{"rank 3", lowRank{kernel.NewLinear[float64](3)}, P, maxDet},
		{"rank 3", lowRank{kernel.NewLinear[float64](3)}, TP, maxDet},
		{"features", nil, P, frankWolfe}, {"rank 3", lowRank{kernel.NewLinear[float64](3)}, TP, frankWolfe},
	} {
		p.Kernel, p.Mode = c.k, c.mode
		t.Run(fmt.Sprint(c.name, "/", c.m.Name(), "-", c.mode), func(t *testing.T) {
			cutIntoRanks(t,
				c.m, p, []int{0, place.Block})
		})
	}
}

// lowRank is a kernel whose features are hidden.
type lowRank struct{ of kernel.Kernel[float64] }

func (k lowRank) again() kernel.Kernel[float64] { return lowRank{kernel.NewLinear[float64](3)} }

func (k lowRank) Inputs() int { return k.of.Inputs() }

func (k lowRank) Diag(ctx context.Context, dst []float64, rows matrix.Dense[float64]) error {
	return k.of.Diag(ctx, dst, rows)
}

func (k lowRank) Cross(ctx context.Context, dst, a, b matrix.Dense[float64]) error {
	return k.of.Cross(ctx, dst, a, b)
}

func sameOverRanks[T matrix.Float](t *testing.T, kind hardrows.Kind) {
	rows := func(n int, seed uint64) matrix.Dense[T] { return hardrows.Matrix[T](kind, n, 24, seed) }
	p := Problem[T]{Pool: rows(3*place.Block+500, 1), Train: rows(40, 2), Batch: 8, Seed: 5,
		Pending:     []int{7, 2*place.Block + 1},
		Constraints: Constraints{Exclude: []int{0, place.Block, 40000}, Require: []int{3, 2 * place.Block}}}
	aims := map[Mode]Aims[T]{P: {Rows: rows(place.Block+100, 3)}, TP: {Weights: make([]float64, p.Pool.Rows)}}
	for i := range p.Pool.Rows {
		aims[TP].Weights[i] = 1 / float64(1+i%7)
	}
	for _, e := range Methods() {
		for _, p.Mode = range []Mode{P, TP} {
			p.Aims = Aims[T]{}
			if e.Aims {
				p.Aims = aims[p.Mode]
			}
			c := &p.Constraints
			if c.PerCost, c.Cost, c.Budget = e.Score && p.Mode == P, nil, 0; c.PerCost {
				c.Cost, c.Budget = aims[TP].Weights, 1e9
			}
			t.Run(fmt.Sprint(e.Name, "-", p.Mode), func(t *testing.T) {
				cutIntoRanks(t, e.New(Settings{Sigma2: 1e-3}), p, []int{0, place.Block, 3 * place.Block})
			})
		}
	}
}

// cutIntoRanks compares all ranks with one process, for each way to cut the pool.
func cutIntoRanks[T matrix.Float](t *testing.T, m Method, p Problem[T], ways ...[]int) {
	want, err := Select(t.Context(), m, p)
	must(t, err)
	for _, cuts := range ways {
		results, errs := across(t, m, p, cuts...)
		for rank, got := range results {
			must(t, errs[rank])
			if !slices.Equal(got.Picks, want.Picks) || !slices.Equal(got.Notes, want.Notes) ||
				!slices.Equal(got.Removed, want.Removed) || got.Typical != want.Typical {
				t.Errorf("rank %d of %d: %+v, in one process %+v", rank, len(cuts), got.Picks, want.Picks)
			}
		}
	}
}

// TestRanksEndTogether cancels one rank, and gives one a row that is not finite: all of them end.
func TestRanksEndTogether(t *testing.T) {
	p := Problem[float32]{Pool: matrix.New[float32](2*place.Block, 3), Batch: 50}
	rng.FillNormal(rng.New(1, "ranks test"), p.Pool.Data)
	for name, c := range map[string]struct {
		want  error
		spoil func(cancel func(), step int)
	}{
		"cancelled": {context.Canceled, func(cancel func(), step int) {
			if step == 7 {
				cancel()
			}
		}},
		"row": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ranks, errs := newGroup(2), make([]error, 2)
			var running sync.WaitGroup
			for i, rank := range ranks {
				running.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					own := p
					own.Pool = p.Pool.Slice(i*place.Block, (i+1)*place.Block).Clone()
					if i == 1 && c.spoil == nil {
						own.Pool.Set(5, 1, float32(math.NaN()))
					}
					if i == 1 && c.spoil != nil {
						own.Progress = func(step, _ int) { c.spoil(cancel, step) }
					}
					_, errs[i] = SelectAcross(ctx, rank, LCMD{}, own)
				})
			}
			running.Wait()
			for i, err := range errs {
				if err == nil || c.want != nil && !errors.Is(err, c.want) {
					t.Errorf("rank %d ends with %v, want %v", i, err, c.want)
				}
				if c.want == nil && !strings.Contains(err.Error(), fmt.Sprintf("row %d", place.Block+5)) {
					t.Errorf("rank %d: %v, which does not name the row as the whole pool numbers it", i, err)
				}
			}
		})
	}
}

// TestRanksOfDifferentProblems gives one rank of three features of another network, or another
// command: all of them end, and say what to do.
func TestRanksOfDifferentProblems(t *testing.T) {
	p := Problem[float32]{Pool: matrix.New[float32](2*place.Block+9, 3), Train: matrix.New[float32](10, 3), Batch: 5,
		Mode: TP}
	rng.FillNormal(rng.New(1, "ranks test"), p.Pool.Data)
	rng.FillNormal(rng.New(2, "ranks test"), p.Train.Data)
	for name, c := range map[string]struct {
		want  string
		spoil func(p *Problem[float32])
	}{
		"network": {"train on the CPU", func(p *Problem[float32]) {
			p.Train = p.Train.Clone()
			p.Train.Set(4, 1, math.Nextafter32(p.Train.At(4, 1), 9))
		}},
		"fewer labelled rows": {"read the same files", func(p *Problem[float32]) { p.Train = p.Train.Slice(0, 9) }},
		"target rows":         {"read the same files", func(p *Problem[float32]) { p.Aims.Rows = p.Train }},
		"seed":                {"the same command line", func(p *Problem[float32]) { p.Seed++ }},
		"checkpoint":          {"the same command line", func(p *Problem[float32]) { p.Resume = []Choice{{Row: 7}} }},
		"excluded row":        {"the same command line", func(p *Problem[float32]) { p.Constraints.Exclude = []int{3} }},
		"costs": {"the same command line", func(p *Problem[float32]) {
			p.Constraints.Cost, p.Constraints.Budget = make([]float64, p.Pool.Rows), 1
		}},
	} {
		ranks, errs := newGroup(3), make([]error, 3)
		var running sync.WaitGroup
		for i, rank := range ranks {
			running.Go(func() {
				own := p
				own.Pool = p.Pool.Slice(i*place.Block, min((i+1)*place.Block, p.Pool.Rows))
				if i == 1 {
					c.spoil(&own)
				}
				_, errs[i] = SelectAcross(t.Context(), rank, LCMD{}, own)
			})
		}
		running.Wait()
		for i, err := range errs {
			if err == nil || !strings.Contains(err.Error(), "rank 1 ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: rank %d ends with %v, want %q", name, i, err, c.want)
			}
		}
	}
}

// metered counts what a rank exchanges.
type metered struct {
	place.Ranks
	gathered, broadcast, chained, bytes int
}

func (c *metered) Gather(all, own []byte) error {
	c.gathered++
	c.bytes += len(all)
	return c.Ranks.Gather(all, own)
}

func (c *metered) Broadcast(data []byte, from int) error {
	c.broadcast++
	c.bytes += len(data)
	return c.Ranks.Broadcast(data, from)
}

func (c *metered) Send(data []byte, to int) error {
	c.chained++
	c.bytes += len(data)
	return c.Ranks.Send(data, to)
}

// BenchmarkExchanges reports how many exchanges a step of each method takes. A batch of 64
// rows less one of 32 leaves the steps alone.
func BenchmarkExchanges(b *testing.B) {
	kind := hardrows.All()["decaying"]
	p := Problem[float64]{Pool: hardrows.Matrix[float64](kind, 2*place.Block, 64, 1),
		Train: hardrows.Matrix[float64](kind, 500, 64, 2)}
	of := func(m Method, batch int) *metered {
		p.Batch = batch
		ranks := newGroup(2)
		first := &metered{Ranks: ranks[0]}
		var running sync.WaitGroup
		for i, r := range []place.Ranks{first, ranks[1]} {
			running.Go(func() {
				own := p
				own.Pool = p.Pool.Slice(i*place.Block, (i+1)*place.Block)
				if _, err := SelectAcross(b.Context(), r, m, own); err != nil {
					b.Error(err)
				}
			})
		}
		running.Wait()
		return first
	}
	for _, e := range Methods() {
		p.Mode = P
		if e.Name == "lcmd" || e.Name == "maxdist" || e.Name == "kmeanspp" {
			p.Mode = TP
		}
		b.Run(e.Name, func(b *testing.B) {
			few, many := of(e.New(Settings{Sigma2: 1e-3}), 32), of(e.New(Settings{Sigma2: 1e-3}), 64)
			for name, n := range map[string]int{"gathered": many.gathered - few.gathered,
				"broadcast": many.broadcast - few.broadcast,
				"chained":   many.chained - few.chained, "bytes": many.bytes - few.bytes} {
				b.ReportMetric(float64(n)/32, name+"/step")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
