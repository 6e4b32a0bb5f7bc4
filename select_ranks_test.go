package nextbatch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// goroutineRank is one of several ranks that are goroutines of this process.
type goroutineRank struct {
	rank int
	mail [][]chan []byte // from, to
}

func (g *goroutineRank) Rank() int { return g.rank }
func (g *goroutineRank) Size() int { return len(g.mail) }

func (g *goroutineRank) Send(data []byte, to int) error {
	g.mail[g.rank][to] <- slices.Clone(data)
	return nil
}

func (g *goroutineRank) Receive(data []byte, from int) error {
	if n := copy(data, <-g.mail[from][g.rank]); n != len(data) {
		return fmt.Errorf("rank %d sent %d bytes of %d", from, n, len(data))
	}
	return nil
}

func (g *goroutineRank) Broadcast(data []byte, from int) error {
	if from != g.rank {
		return g.Receive(data, from)
	}
	for to := range g.mail {
		if to != from {
			g.mail[from][to] <- slices.Clone(data)
		}
	}
	return nil
}

func (g *goroutineRank) Gather(all, own []byte) error {
	for from := range g.mail {
		part := all[from*len(own):][:len(own)]
		copy(part, own)
		if err := g.Broadcast(part, from); err != nil {
			return err
		}
	}
	return nil
}

// onTwoRanks runs a selection on two ranks and returns their errors.
func onTwoRanks(run func(rank place.Ranks) error) [2]error {
	mail := [][]chan []byte{{make(chan []byte, 1), make(chan []byte, 1)}, {make(chan []byte, 1), make(chan []byte, 1)}}
	var errs [2]error
	var running sync.WaitGroup
	for i := range errs {
		running.Go(func() { errs[i] = run(&goroutineRank{i, mail}) })
	}
	running.Wait()
	return errs
}

// TestRanksEndBeforeSelection has one rank of two fail before the ranks meet: both end, with
// the same error.
func TestRanksEndBeforeSelection(t *testing.T) {
	pool, train := matrix.New[float32](2*place.Block, 3), matrix.New[float32](20, 3)
	rng.FillNormal(rng.New(1, "ranks before selection"), pool.Data)
	rng.FillNormal(rng.New(2, "ranks before selection"), train.Data)
	method := spec.MustParse("lcmd-tp:features>sketch(8)")
	infinite := pool.Clone()
	for j := range infinite.Cols {
		infinite.Set(place.Block+5, j, float32(math.Inf(1)))
	}
	number := func(row int) string { return fmt.Sprintf("number %d", row) }
	for name, c := range map[string]struct {
		spoil func(p *nextbatch.Problem) context.Context
		want  string
	}{
		"a row": {func(p *nextbatch.Problem) context.Context {
			p.Pool = infinite
			return t.Context()
		}, fmt.Sprintf("(row %d is number %[1]d)", place.Block+5)},
		"labelled rows": {func(p *nextbatch.Problem) context.Context {
			p.Train = infinite.Slice(place.Block, place.Block+20)
			return t.Context()
		}, "labelled rows: row 5, "},
		"a row whose features are finite": {func(p *nextbatch.Problem) context.Context {
			p.Pool = pool.Clone()
			p.Pool.Set(place.Block+7, 1, 2e38)
			return t.Context()
		}, fmt.Sprintf("pool row %d: k(x, x) is +Inf (row %[1]d is number %[1]d)", place.Block+7)},
		"a problem that is wrong": {func(p *nextbatch.Problem) context.Context {
			p.Train = matrix.New[float32](20, 4)
			return t.Context()
		}, "the labelled rows have 4 columns, the pool 3"},
		"cancelled": {func(*nextbatch.Problem) context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		}, context.Canceled.Error()},
	} {
		errs := onTwoRanks(func(rank place.Ranks) error {
			p, ctx := nextbatch.Problem{Train: train, Pool: pool, Batch: 3, Ranks: rank, RowName: number}, t.Context()
			if rank.Rank() == 1 {
				ctx = c.spoil(&p)
			}
			_, err := nextbatch.Select(ctx, method, p)
			return err
		})
		for i, err := range errs {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: rank %d ends with %v, want %q", name, i, err, c.want)
			}
		}
		if name == "cancelled" && !errors.Is(errs[0], context.Canceled) {
			t.Errorf("%v is not that of a cancelled context", errs[0])
		}
	}
}

// TestRanksPickByLearntKernels: two ranks, each with the whole pool or with its share, pick the batch
// of one process.
func TestRanksPickByLearntKernels(t *testing.T) {
	p := learntProblem(t)
	p.Pool = matrix.Stack(p.Pool, decaying(3, 2*place.Block, 4))
	for _, text := range []string{"lcmd-tp:matern>rff(24)", "lcmd-tp:leaf>sketch(24)", "lcmd-tp:predictions",
		"bait-f-p:(grad>sketch(24)+0.5*matern>rff(24))>train", "lcmd-tp:grad+leaf", "maxdist-p:linear+leaf"} {
		s := spec.MustParse(text)
		want := mustSelect(t, s, p).Rows()
		for _, shared := range []bool{false, true} {
			errs := onTwoRanks(func(rank place.Ranks) error {
				own := p
				own.Models, own.Ranks = slices.Clone(p.Models), rank
				if shared {
					from, to := place.Share(p.Pool.Rows, rank.Rank(), rank.Size())
					own.Pool, own.Shared = p.Pool.Slice(from, to), p.Pool.Rows
				}
				batch, err := nextbatch.Select(t.Context(), s, own)
				if err == nil && !slices.Equal(batch.Rows(), want) {
					err = fmt.Errorf("picked %v, one process %v", batch.Rows(), want)
				}
				return err
			})
			if err := errors.Join(errs[:]...); err != nil {
				t.Errorf("%s, shares %v: %v", text, shared, err)
			}
		}
	}
	p.Train, p.Labels, p.Ranks, p.Shared = matrix.Dense[float32]{}, matrix.Dense[float64]{},
		&goroutineRank{mail: [][]chan []byte{{nil}}}, p.Pool.Rows
	if _, err := nextbatch.Select(t.Context(), spec.MustParse("maxdist-p:linear+leaf"), p); err == nil ||
		!strings.Contains(err.Error(), "ranks hold shares of the pool") {
		t.Error(err)
	}
}
