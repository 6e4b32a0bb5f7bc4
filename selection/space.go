package selection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/nearest"
)

// Space is the pool and the training rows as a method sees them: rows in a space whose
// inner product is the kernel. Candidates are numbered: pool rows from 0, training rows
// from PoolSize.
type Space[T matrix.Float] struct {
	ctx                 context.Context // of the call of Select that the space lives for
	stopped             *atomic.Bool    // the context has ended
	team                *linalg.Team    // that the context carries
	ranks               *network        // that share the pool; nil: it is here
	mode                Mode
	batch               int
	pool, train, target set[T]
	weights             []float64        // of pool rows in the target distribution; nil: all 1
	kernel              kernel.Kernel[T] // nil: rows are features
	exponent            int              // rows are those of the problem times 2^−exponent
	pending             []int
	price               []float64 // of pool rows, to divide scores by; nil: scores stay as they are
	limits              *limits
	left                int // rows to be picked before the next other decision
	rows                poolRows[T]
	device              string // the name of the device that has the rows, if one has
	seed                uint64
	plain               bool
	shortener           func() *nearest.Shortener[T] // made on first use
	tally               *tally.Counter
	notes               []string
}

// set is a matrix of rows with k(x, x) of each.
type set[T matrix.Float] struct {
	name   string
	rows   matrix.Dense[T]
	single matrix.Dense[float32] // if it has rows, they are those of the set, and rows has no data but their shape
	inFile bool                  // the rows are in a file
	placed DeviceFeatures[T]     // where the numbers of rows are, unless nil: rows only has their shape
	diag   []T

	// Of rows in a file:
	inDouble     *rowsInFloat64 // made on first use
	needsMoments bool
	moments      matrix.Dense[float64] // Σ w(x)·φ(x)φ(x)ᵀ over all rows, if they are needed
}

// spaceFor is what a method asks of a space.
type spaceFor struct {
	anyUnit bool // features may be in a unit other than the problem's
	moments bool // of a pool in a file, so that its first read finds them, too
}

// spaceOf returns what a method asks of a space. BAIT asks for moments unless it sums over
// other rows, a device sums, or ranks, each of which goes on with the sum of the one before.
func spaceOf[T matrix.Float](ctx context.Context, m Method[T], p *Problem[T], ranks *network) spaceFor {
	_, anyUnit := m.(scaleFree)
	_, bait := m.(BAIT[T])
	return spaceFor{anyUnit, bait && p.Aims.Rows.Rows == 0 && deviceOf(ctx) == nil && ranks == nil}
}

// slice returns the rows from from to to-1, as a view or as a copy of those in float32.
func (one *set[T]) slice(from, to int) matrix.Dense[T] {
	if one.single.Rows > 0 {
		return matrix.Converted[T](one.single.Slice(from, to))
	}
	return one.rows.Slice(from, to)
}

// newSpace prepares all rows of a problem that has been checked.
func newSpace[T matrix.Float](ctx context.Context, p *Problem[T], method spaceFor, ranks *network) (*Space[T], error) {
	s := &Space[T]{ctx: ctx, stopped: new(atomic.Bool), team: linalg.TeamOf(ctx), tally: tally.Of(ctx), ranks: ranks, mode: p.Mode, batch: p.Batch, weights: p.Aims.Weights, seed: p.Seed, plain: p.Plain,
		pending: p.Pending, limits: newLimits(poolSize(p, ranks), p.Pending, p.Constraints)}
	if p.Constraints.PerCost {
		s.price = p.Constraints.Cost
	}
	s.shortener = sync.OnceValue(s.newShortener)
	s.pool = set[T]{name: "pool", rows: p.Pool, placed: p.Placed, single: p.Single, inFile: p.InFile || p.Single.Rows > 0, needsMoments: method.moments}
	if shape := p.shape(); p.Placed != nil || p.Single.Rows > 0 {
		s.pool.rows = matrix.Dense[T]{Rows: shape.Rows, Cols: shape.Cols, Stride: shape.Cols}
	}
	s.train = set[T]{name: "train", rows: p.Train}
	s.target = set[T]{name: "target", rows: p.Aims.Rows}
	err := s.eachSet(func(one *set[T]) error { return s.prepare(one, p.Kernel) })
	if err == nil && method.anyUnit && s.kernel == nil {
		err = s.rescale()
	}
	if err == nil {
		err = s.eachSet(func(one *set[T]) error { return one.check(s.kernel == nil) })
	}
	return s, err
}

// eachSet visits the sets that have rows, up to the first error, of any rank.
func (s *Space[T]) eachSet(visit func(*set[T]) error) error {
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

// poolSize is the number of rows of a pool, those of other ranks included.
func poolSize[T matrix.Float](p *Problem[T], ranks *network) int {
	if ranks == nil {
		return p.shape().Rows
	}
	return ranks.size()
}

// place puts the rows of the pool where the methods will find them.
func (s *Space[T]) place(rows poolRows[T]) {
	s.rows = rows
	for row := range s.limits.open {
		rows.Mark(row, s.limits.open[row], s.limits.selected[row])
	}
	s.limits.mark = rows.Mark
}

// Cancelled reports whether the context has been cancelled. Select checks it after each
// call of a method. A method that takes seconds per call also checks it once per block
// of its work; it may then return anything, because the result is discarded.
func (s *Space[T]) Cancelled() bool {
	if s.ranks != nil {
		return s.ranks.failed != nil // what all ranks know
	}
	if !s.stopped.Load() && s.ctx.Err() != nil {
		s.stopped.Store(true)
	}
	return s.stopped.Load()
}

// agreeToEnd is Cancelled at the start of a step, where ranks tell each other.
func (s *Space[T]) agreeToEnd() bool {
	if s.ranks != nil {
		_ = s.ranks.agree(nil) // Cancelled returns what they agree on
	}
	return s.Cancelled()
}

// ended returns why the selection cannot go on: the context's error, or one of another
// rank.
func (s *Space[T]) ended() error {
	if s.ranks != nil {
		return s.ranks.failed
	}
	return s.ctx.Err()
}

// prepare does the work of the kernel that depends on one row alone, and computes the
// diagonal. Features that are not finite are errors, of the kernel or in check.
func (s *Space[T]) prepare(one *set[T], k kernel.Kernel[T]) error {
	if k != nil {
		ready, rows, err := kernel.Prepare(s.ctx, k, one.rows)
		if err != nil {
			return inSet(err, one.name)
		}
		one.rows = rows[0]
		if !kernel.IsLinear(ready) {
			s.kernel = ready
		}
	}
	one.diag = matrix.Alloc[T](one.rows.Rows)
	if one.placed != nil {
		return failedOn(one.placed.On(), one.placed.Norms(one.diag))
	}
	if s.kernel == nil {
		s.measure(one)
	} else if err := s.kernel.Diag(s.ctx, one.diag, one.rows); err != nil {
		return inSet(err, one.name)
	}
	return nil
}

// measure computes the diagonal for features.
func (s *Space[T]) measure(one *set[T]) {
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
func (s *Space[T]) measureFile(one *set[T], norms []float64) {
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

// check finds the first row whose k(x, x) is not finite, negative or too large. A
// feature that is not finite shows there. Squared distances, up to four times as large,
// must be in range, too.
func (one *set[T]) check(features bool) error {
	limit := largest[T]() / 16
	for i, v := range one.diag {
		if v >= 0 && float64(v) <= limit {
			continue
		}
		if features {
			row, err := one.row(i)
			if err != nil {
				return err
			}
			for j, x := range row {
				if x-x != 0 {
					return &RowError{Set: one.name, Row: i, What: fmt.Sprintf("feature %d", j), Value: float64(x)}
				}
			}
		}
		return &RowError{Set: one.name, Row: i, What: "k(x, x)", Value: float64(v)}
	}
	return nil
}

// row returns the numbers of a row, wherever they are.
func (one *set[T]) row(i int) ([]T, error) {
	if one.placed == nil {
		return one.slice(i, i+1).Row(0), nil
	}
	row := matrix.New[T](1, one.rows.Cols)
	return row.Row(0), failedOn(one.placed.On(), one.placed.Fetch(row, i))
}

func largest[T matrix.Float]() float64 {
	if isFloat32[T]() {
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

func isFloat32[T matrix.Float]() bool {
	var zero T
	return unsafe.Sizeof(zero) == 4
}

// inSet adds the set of rows to an error of the kernel.
func inSet(err error, name string) error {
	var row *kernel.RowError
	if errors.As(err, &row) {
		return &RowError{Set: name, Row: row.Row, What: fmt.Sprintf("%s %d", row.What, row.Column), Value: row.Value}
	}
	return fmt.Errorf("selection: %s rows: %w", name, err)
}

// PoolSize is the number of pool rows.
func (s *Space[T]) PoolSize() int { return len(s.limits.open) }

// TrainSize is the number of training rows, in either mode.
func (s *Space[T]) TrainSize() int { return s.train.rows.Rows }

// Mode is P or TP.
func (s *Space[T]) Mode() Mode { return s.mode }

// Batch is the number of rows to pick.
func (s *Space[T]) Batch() int { return s.batch }

// Open reports whether a pool row may be picked now.
func (s *Space[T]) Open(row int) bool { return s.limits.open[row] }

// Diag returns k(x, x) of the pool rows. The caller must not write to it.
func (s *Space[T]) Diag() []T { return s.pool.diag }

// Features returns the features of the pool rows and of the training rows, if
// the kernel has explicit ones. The caller must not write to them.
func (s *Space[T]) Features() (pool, train matrix.Dense[T], ok bool) {
	if s.kernel != nil {
		return matrix.Dense[T]{}, matrix.Dense[T]{}, false
	}
	return s.pool.rows, s.train.rows, true
}

// Kernel writes k(x, y) of each pool row x and the candidate y to dst.
func (s *Space[T]) Kernel(dst []T, candidate int) error {
	row, _ := s.row(candidate)
	return s.kernelColumn(dst, &s.pool, row)
}

// SqDist writes the squared distance k(x, x) + k(y, y) − 2k(x, y) of each pool
// row x and the candidate y to dst.
func (s *Space[T]) SqDist(dst []T, candidate int) error {
	return s.sqDist(dst, &s.pool, candidate)
}

// Best returns the open row of largest score, or of largest score per cost where the
// constraints say so, of equal ones the lowest. Scores must not be negative: if the
// largest is 0, the choice is tied. A score that is NaN is an error.
func (s *Space[T]) Best(score []T) (Choice, error) {
	row, err := s.bestRow(score)
	if err != nil {
		return Choice{}, err
	}
	if row < 0 {
		return Choice{}, &Stuck{Reason: "no row may be picked"}
	}
	return Choice{Row: row, Score: s.perCost(row, float64(score[row])), Tied: score[row] == 0}, nil
}

// Stream is a stream of random numbers: the same for the same seed and purpose.
type Stream interface {
	Uint64() uint64
	Float64() float64     // at least 0 and below 1
	NormFloat64() float64 // of mean 0 and variance 1
	IntN(n int) int       // at least 0 and below n
	Perm(n int) []int     // the numbers below n, in random order
	// Weighted returns an index with probability in proportion to its weight.
	Weighted(weights []float64) (int, error)
}

// Stream returns the start of a random stream for the purpose.
func (s *Space[T]) Stream(purpose string) Stream { return s.stream(purpose) }

func (s *Space[T]) stream(purpose string) *rng.Stream { return rng.New(s.seed, "selection "+purpose) }

// refuseTarget rejects a target for methods that do not represent a distribution.
func (s *Space[T]) refuseTarget(method string) error {
	if s.weights != nil || s.target.rows.Rows > 0 {
		return &MethodError{method, "it does not represent a distribution, so it cannot have a target"}
	}
	return nil
}

// Note adds a line to the result.
func (s *Space[T]) Note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// row returns a candidate's row and its k(x, x).
func (s *Space[T]) row(candidate int) (matrix.Dense[T], T) {
	if i := candidate - s.PoolSize(); i >= 0 {
		return s.train.rows.Slice(i, i+1), s.train.diag[i]
	}
	return s.rows.Row(candidate)
}

// gather returns the rows of candidates and k(x, x) of each, as views if there is one,
// or if they are the training rows.
func (s *Space[T]) gather(candidates []int) (matrix.Dense[T], []T) {
	if len(candidates) == 1 {
		row, diag := s.row(candidates[0])
		return row, []T{diag}
	}
	if s.areTrain(candidates) {
		return s.train.rows, s.train.diag
	}
	rows, diag := matrix.New[T](len(candidates), s.pool.rows.Cols), make([]T, len(candidates))
	for i, x := range candidates {
		row, own := s.row(x)
		copy(rows.Row(i), row.Row(0))
		diag[i] = own
	}
	return rows, diag
}

func (s *Space[T]) areTrain(candidates []int) bool {
	if len(candidates) != s.TrainSize() {
		return false
	}
	for i, x := range candidates {
		if x != s.PoolSize()+i {
			return false
		}
	}
	return true
}

// centre describes a candidate for the result.
func (s *Space[T]) centre(candidate int) Centre {
	if candidate >= s.PoolSize() {
		return Centre{Set: TrainSet, Row: candidate - s.PoolSize()}
	}
	if s.limits.pending[candidate] {
		return Centre{Set: PendingSet, Row: candidate}
	}
	return Centre{Set: PoolSet, Row: candidate}
}

// kernelColumn writes k(x, y) of each row x of a set and the row y to dst.
func (s *Space[T]) kernelColumn(dst []T, of *set[T], row matrix.Dense[T]) error {
	if s.kernel == nil {
		linalg.MulVec(s.team, dst, of.rows, row.Row(0))
		return nil
	}
	if err := s.kernel.Cross(s.ctx, matrix.View(1, len(dst), dst), row, of.rows); err != nil {
		return inSet(err, of.name)
	}
	return of.checkValues(dst)
}

func (s *Space[T]) sqDist(dst []T, of *set[T], candidate int) error {
	row, diag := s.row(candidate)
	if s.kernel == nil {
		linalg.SqDistTo(s.team, dst, of.rows, row.Row(0))
		return nil
	}
	if err := s.kernelColumn(dst, of, row); err != nil {
		return err
	}
	toSqDist(dst, of.diag, diag)
	return nil
}

// toSqDist turns kernel values with one row into squared distances from it. Those that
// rounding makes negative become zero.
func toSqDist[T matrix.Float](values, diag []T, own T) {
	for i, v := range values {
		values[i] = max(own+diag[i]-2*v, 0)
	}
}

// checkValues finds a value of the kernel that is not finite.
func (one *set[T]) checkValues(values []T) error {
	for i, v := range values {
		if v-v != 0 {
			return &RowError{Set: one.name, Row: i, What: "k(x, y)", Value: float64(v)}
		}
	}
	return nil
}
