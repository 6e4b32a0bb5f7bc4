package selection

// Selection from a pool that several processes share (internal/space, ranks.go).

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

// SelectAcross is Select for a pool that several ranks share. Pool holds the rows of this
// rank, which follow those of the rank before; all ranks but the last that has rows hold
// a multiple of Block. Everything else in p is about the whole pool, and the same on all
// ranks, as is the result. The method must be one of this package.
func SelectAcross[T matrix.Float](ctx context.Context, ranks place.Ranks, m Method, p Problem[T]) (*Result, error) {
	q := questionOf(&p)
	network, err := space.Meet(ctx, ranks, p.Pool.Rows, p.Pool.Cols, space.HashRows(p.Train, p.Aims.Rows), q.hash(m))
	if err != nil {
		return nil, err
	}
	if err := place.CheckShares(network.PoolSize(), ranks.Size()); p.Kernel != nil && err != nil {
		return nil, &ProblemError{Field: "Pool", Reason: err.Error()}
	}
	if _, ours := m.(described); !ours {
		return nil, &MethodError{Method: m.Name(), Reason: "it needs the whole pool in one process"}
	}
	return q.solve(m, network.PoolSize(), func(use space.Use) (space.Rows,
		error) {
		return space.Open(ctx, sourceOf(&p, &q, use), network)
	})
}

// Agree returns the same error on all ranks if one of them has one, or if its context
// was cancelled. The others get its text.
func Agree(ctx context.Context, ranks place.Ranks, err error) error {
	return space.Agree(ctx, ranks, err)
}

// hash identifies everything but the rows that is the same on all ranks.
func (q *question) hash(m Method) int64 {
	h := fnv.New64a()
	fmt.Fprintln(h, m.Name(), q.mode, q.batch, q.seed, q.pending, q.resume, len(q.order))
	c, numbers := q.constraints, q.constraints
	numbers.Cost, numbers.Group, numbers.Same = nil, nil, nil
	fmt.Fprintln(h, numbers, len(c.Cost), len(c.Group), len(c.Same), len(q.weights))
	lists := [][]byte{place.BytesOf(c.Cost), place.BytesOf(c.Group), place.BytesOf(c.Same), place.BytesOf(q.weights)}
	for _, list := range append(lists, place.BytesOf(q.order)) {
		h.Write(list)
	}
	return int64(h.Sum64())
}
