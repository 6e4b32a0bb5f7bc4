package space

// The space of a selection: the pool, the training rows and the target, prepared once.

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/nearest"
	"github.com/nextbatch/nextbatch/selection/internal/posterior"
)

// space is the rows of a problem in one precision. It implements Rows.
type space[T matrix.Float] struct {
	Use
	ctx                 context.Context // of the call of Select that the space lives for
	stopped             *atomic.Bool    // the context has ended
	team                *linalg.Team    // that the context carries
	ranks               *Network        // that share the pool; nil: it is here
	pool, train, target set[T]
	weights             []float64        // of pool rows in the target distribution; nil: all 1
	kernel              kernel.Kernel[T] // nil: rows are features
	exponent            int              // rows are those of the problem times 2^−exponent
	price               []float64        // of pool rows, to divide scores by; nil: scores stay as they are
	ahead               int              // rows that will be picked before any other decision
	rows                poolRows[T]
	// the name of the device that has the rows, if one has, or why none has
	device, note string
	shortener    func() *nearest.Shortener[T] // made on first use
	tally        *tally.Counter
}

// newSpace prepares all rows of a problem that has been checked.
func newSpace[T matrix.Float](ctx context.Context, from Source[T], ranks *Network) (*space[T], error) {
	s := &space[T]{Use: from.Use, ctx: ctx, stopped: new(atomic.Bool), team: linalg.TeamOf(ctx),
		tally: tally.Of(ctx), ranks: ranks,
		weights: from.Weights, price: from.Price}
	s.shortener = sync.OnceValue(s.newShortener)
	s.pool = set[T]{name: "pool", rows: from.Pool, placed: from.Placed, single: from.Single,
		inFile:       from.InFile || from.Single.Rows > 0,
		needsMoments: from.Moments && from.Target.Rows == 0 && place.DeviceOf(ctx) == nil && ranks == nil}
	if shape := shapeOf(&from); from.Placed != nil || from.Single.Rows > 0 {
		s.pool.rows = matrix.Dense[T]{Rows: shape.Rows, Cols: shape.Cols, Stride: shape.Cols}
	}
	s.train = set[T]{name: "train", rows: from.Train}
	s.target = set[T]{name: "target", rows: from.Target}
	err := s.eachSet(func(one *set[T]) error { return s.prepare(one, from.Kernel) })
	if err == nil && from.AnyUnit && s.kernel == nil {
		err = s.rescale()
	}
	if err == nil {
		err = s.eachSet(func(one *set[T]) error { return one.check(s.kernel == nil) })
	}
	return s, err
}

// eachSet visits the sets that have rows, up to the first error, of any rank.
func (s *space[T]) eachSet(visit func(*set[T]) error) error {
	var err error
	for _, one := range s.sets() {
		if err == nil {
			err = visit(one)
		}
	}
	if s.ranks == nil {
		return err
	}
	return s.ranks.agree(inPool(err, s.ranks.own()))
}

// Cancelled reports whether the context has been cancelled.
func (s *space[T]) Cancelled() bool {
	if s.ranks != nil {
		return s.ranks.failed != nil // what all ranks know
	}
	if !s.stopped.Load() && s.ctx.Err() != nil {
		s.stopped.Store(true)
	}
	return s.stopped.Load()
}

// AgreeToEnd is Cancelled at the start of a step, where ranks tell each other.
func (s *space[T]) AgreeToEnd() bool {
	if s.ranks != nil {
		_ = s.ranks.agree(nil) // Cancelled returns what they agree on
	}
	return s.Cancelled()
}

// Ended returns why the selection cannot continue: the context's error, or one of another
// rank.
func (s *space[T]) Ended() error {
	if s.ranks != nil {
		return s.ranks.failed
	}
	return s.ctx.Err()
}

// prepare does the work of the kernel that depends on one row alone, and computes the
// diagonal. Features that are not finite are errors, of the kernel or in check.
func (s *space[T]) prepare(one *set[T], k kernel.Kernel[T]) error {
	if k != nil {
		ready, rows, err := kernels.Prepare(s.ctx, k, one.rows)
		if err != nil {
			return inSet(err, one.name)
		}
		one.rows = rows[0]
		if !kernels.IsLinear(ready) {
			s.kernel = ready
		}
	}
	one.diag = matrix.Alloc[T](one.rows.Rows)
	if one.placed != nil {
		return place.FailedOn(one.placed.On(), one.placed.Norms(one.diag))
	}
	if s.kernel == nil {
		s.measure(one)
	} else if err := s.kernel.Diag(s.ctx, one.diag, one.rows); err != nil {
		return inSet(err, one.name)
	}
	return nil
}

// measure computes the diagonal for features.
func (s *space[T]) measure(one *set[T]) {
	tally.Rows[T](s.tally, one.rows.Rows, one.rows.Cols)
	if norms, ok := any(one.diag).([]float64); ok && one.inFile {
		s.measureFile(one, norms)
		return
	}
	for from := 0; from < one.rows.Rows && !s.Cancelled(); from += scanPiece {
		to := min(from+scanPiece, one.rows.Rows)
		linalg.RowNorms(s.team, one.diag[from:to], one.rows.Slice(from, to))
	}
}

// measureFile is measure for rows of a file. The same read finds their moments, if the
// method needs these.
func (s *space[T]) measureFile(one *set[T], norms []float64) {
	rows := inFloat64(s, one)
	if !one.needsMoments {
		rows.norms(s.Cancelled, s.team, norms)
		return
	}
	one.moments = matrix.New[float64](rows.Cols, rows.Cols)
	eachMoments(s, rows, s.weights, matrix.Dense[float64]{}, func(from int, part, moments matrix.Dense[float64]) {
		linalg.RowNorms(s.team, norms[from:from+part.Rows], part)
		simd.For[float64]().Axpy(one.moments.Data, moments.Data, 1)
	})
}

// PoolSize is the number of pool rows, those of other ranks included.
func (s *space[T]) PoolSize() int {
	if s.ranks == nil {
		return s.pool.rows.Rows
	}
	return s.ranks.PoolSize()
}

// TrainSize is the number of training rows.
func (s *space[T]) TrainSize() int { return s.train.rows.Rows }

// HasTarget reports whether the batch should represent another distribution than the pool's.
func (s *space[T]) HasTarget() bool { return s.weights != nil || s.target.rows.Rows > 0 }

// Cols is the number of features.
func (s *space[T]) Cols() int { return s.pool.rows.Cols }

// Explicit reports whether rows are features.
func (s *space[T]) Explicit() bool { return s.kernel == nil }

// Team is the threads of the selection.
func (s *space[T]) Team() *linalg.Team { return s.team }

// Covariance returns that of the weights, before any row is observed.
func (s *space[T]) Covariance(sigma2 float64) *posterior.Covariance {
	return posterior.New(s.team, s.Cancelled, s.Cols(), sigma2)
}

// Device returns the name of the device that has the rows, or why they are not on one.
func (s *space[T]) Device() (name, note string) { return s.device, s.note }

// Mark sets whether a row may be picked, and whether it is selected.
func (s *space[T]) Mark(row int, open, selected bool) { s.rows.Mark(row, open, selected) }

// GoAhead sets how many rows will be picked before any other decision.
func (s *space[T]) GoAhead(steps int) { s.ahead = steps }

// Close frees what the rows have elsewhere.
func (s *space[T]) Close() error {
	if rows, ok := s.rows.(*deviceRows[T]); ok {
		return rows.end()
	}
	return nil
}
