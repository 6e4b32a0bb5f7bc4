package nextbatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/internal/compose"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// Select picks the rows to label next, with the method that the spec names. The same problem, spec and seed give the
// same batch, whatever the number of threads. The context is checked once per step and once per block of rows.
func Select(ctx context.Context, spec spec.Spec, p Problem) (*Batch, error) {
	if err := errors.Join(spec.Validate(), p.check(spec)); err != nil {
		return nil, p.together(ctx, err)
	}
	if p.Folder == "" {
		return selectRows(ctx, spec, p)
	}
	var batch *Batch
	return batch, rowfile.Guard(func() (err error) {
		batch, err = selectRows(ctx, spec, p)
		return err
	})
}

func selectRows(ctx context.Context, by spec.Spec, p Problem) (*Batch, error) {
	begin := time.Now()
	if needs.Ties(by) {
		p.order = rng.New(p.Seed, "order of equal rows").Perm(p.poolSize())
	}
	parts := partsOf(&p, by)
	if p.Ranks == nil && p.Folder == "" && p.Networks != "" {
		parts.Kept = p.Kept
	}
	c := compose.New(ctx, parts)
	defer c.Release()
	k32, k64, err := c.Kernel()
	if err != nil {
		return nil, p.together(ctx, fmt.Errorf("%v: %w", by, err))
	}
	method := spec.MakerOfMethod(by.Method)(selection.Settings{Sigma2: by.NoiseVariance(), Compat: by.Compat})
	if k64 != nil {
		return pick(ctx, c, by, &p, begin, method, k64, exactRows(&p))
	}
	return pick(ctx, c, by, &p, begin, method, k32, compose.Rows[float32]{Train: p.Train, Pool: p.Pool, Aims: p.Aims.Rows})
}

// pick runs the selection method on rows in the precision of the kernel.
func pick[T matrix.Float](ctx context.Context, c *compose.Composer, s spec.Spec, p *Problem, begin time.Time,
	method selection.Method, k kernel.Kernel[T], rows compose.Rows[T]) (*Batch, error) {
	question := selection.Problem[T]{
		Batch: p.Batch, Seed: p.Seed, Constraints: p.Constraints, Picked: p.Picked, Resume: p.Resume,
		Aims: selection.Aims[T]{Weights: p.Aims.Weights},
	}
	if s.Mode == spec.TP {
		question.Mode = selection.TP
	}
	if observesPending(s) {
		question.Constraints.Exclude = slices.Concat(p.Constraints.Exclude, p.Pending)
	} else {
		question.Pending = p.Pending
	}
	if p.Progress != nil {
		question.Progress = func(step, of int) { p.Progress(Progress{Picking, step, of}) }
	}
	question.Order = p.order
	if err := putInOrder(ctx, p, &rows); err != nil {
		return nil, err
	}
	file, err := compose.EmbedAll(c, k, method, &rows, &question)
	defer func() { // even after a failure, because another rank may fail, too
		file.Close()
		if question.Placed != nil {
			question.Placed.Close()
		}
	}()
	if err := p.together(ctx, err); err != nil {
		return nil, err
	}
	taken := time.Since(begin)
	result, err := selectOn(ctx, p.Ranks, method, question)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", s, p.named(err, place.PoolRow(err)))
	}
	return newBatch(s, result, c.Warnings, taken), nil
}

// putInOrder takes the rows of this rank from the pool, in the order in which equal ones are picked. Those of a file
// are read in that order.
func putInOrder[T matrix.Float](ctx context.Context, p *Problem, rows *compose.Rows[T]) (err error) {
	switch {
	case p.Folder != "":
		rows.Order = p.order
	case p.Shared > 0 && p.order != nil:
		if err := p.together(ctx, nil); err != nil { // another rank has failed, and exchanges nothing
			return err
		}
		rows.Pool, err = place.ShareInOrder(p.Ranks, rows.Pool, p.order)
		return p.together(ctx, err)
	case p.Ranks != nil && p.Shared == 0:
		from, to := place.Share(rows.Pool.Rows, p.Ranks.Rank(), p.Ranks.Size())
		if p.order != nil {
			rows.Pool = rows.Pool.SelectRows(p.order[from:to])
		} else {
			rows.Pool = rows.Pool.Slice(from, to)
		}
	case p.order != nil:
		rows.Pool = rows.Pool.SelectRows(p.order)
	}
	return nil
}

// observesPending reports whether the kernel is a covariance that conditions on the
// pending rows, and the method would do so again.
func observesPending(s spec.Spec) bool {
	return s.Method.Info().Noise && s.Mode != spec.TP && slices.ContainsFunc(s.Transforms, conditions)
}

// selectOn selects in this process, or with others.
func selectOn[T matrix.Float](ctx context.Context, ranks place.Ranks, method selection.Method,
	p selection.Problem[T]) (*selection.Result, error) {
	if ranks == nil {
		return selection.Select(ctx, method, p)
	}
	return selection.SelectAcross(ctx, ranks, method, p)
}

func newBatch(s spec.Spec, r *selection.Result, warnings []string, kernel time.Duration) *Batch {
	b := &Batch{
		Spec: s, Warnings: []string{}, Picks: r.Picks, Fallbacks: r.Fallbacks, Removed: r.Removed, Runs: r.Runs,
		Missing: r.Missing, Short: r.Short,
		Typical: r.Typical, Device: r.Device, Kernel: kernel, Timing: r.Timing,
	}
	for _, f := range r.Fallbacks {
		//warning:random-rows
		b.Warnings = append(b.Warnings, fmt.Sprintf("from step %d on, %s drawn at random: %s", f.Step,
			words.Count(len(f.Rows), "row was", "rows were"), f.Reason))
	}
	b.Warnings = append(append(b.Warnings, warnings...), r.Notes...)
	return b
}

// WithThreads returns a context under which this module uses at most n threads, and never more than GOMAXPROCS; 0 means
// GOMAXPROCS, which is also the default of a context without a budget. It applies to everything that takes a context:
// training and predictions of a network, Select, Features, Gram, a benchmark. Results do not depend on it.
//
// Calls under the same context share its threads; if they run at the same time, each has one of its own in addition.
// Calls under different contexts have their own threads and do not wait for one another.
func WithThreads(ctx context.Context, n int) context.Context { return linalg.WithThreads(ctx, n) }
