package selection

import (
	"fmt"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

// Space is the pool and the training rows as a method sees them: rows in a space whose
// inner product is the kernel. Candidates are numbered: pool rows from 0, training rows
// from PoolSize. Where the rows are, and in which precision, does not matter here
// (internal/space).
type Space struct {
	rows   space.Rows
	limits *limits
	mode   Mode
	batch  int
	seed   uint64
	price  prices // of pool rows
	notes  []string
	order  []int // the numbers of pool rows in the problem; nil: as here
}

// newSpace gives a method its rows, whose constraints are those of the question.
func newSpace(rows space.Rows, q *question) *Space {
	limits := newLimits(rows.PoolSize(), q.batch, q.pending, q.constraints, q.dearestFirst())
	s := &Space{rows: rows, limits: limits, mode: q.mode, batch: q.batch, seed: q.seed, price: q.price(), order: q.order}
	for row := range s.limits.open {
		rows.Mark(row, s.limits.open[row], s.limits.Selected[row])
	}
	s.limits.mark = rows.Mark
	if _, note := rows.Device(); note != "" {
		s.notes = append(s.notes, note)
	}
	return s
}

// Cancelled reports whether the context has been cancelled. Select checks it after each
// call of a method. A method that takes seconds per call also checks it once per block
// of its work; it may then return anything, because the result is discarded.
func (s *Space) Cancelled() bool { return s.rows.Cancelled() }

// PoolSize is the number of pool rows.
func (s *Space) PoolSize() int { return len(s.limits.open) }

// TrainSize is the number of training rows, in either mode.
func (s *Space) TrainSize() int { return s.rows.TrainSize() }

// number is what the problem calls a pool row.
func (s *Space) number(row int) int {
	if len(s.order) == 0 || row < 0 || row >= len(s.order) {
		return row
	}
	return s.order[row]
}

// Mode is P or TP.
func (s *Space) Mode() Mode { return s.mode }

// Batch is the number of rows to pick.
func (s *Space) Batch() int { return s.batch }

// Open reports whether a pool row may be picked now.
func (s *Space) Open(row int) bool { return s.limits.open[row] }

// Diag returns k(x, x) of the pool rows.
func (s *Space) Diag() []float64 { return s.rows.Diag() }

// Features returns the features of candidates, if the kernel has explicit ones.
func (s *Space) Features(candidates []int) (features matrix.Dense[float64], ok bool) {
	if !s.rows.Explicit() {
		return matrix.Dense[float64]{}, false
	}
	return s.rows.Float64(candidates), true
}

// Kernel writes k(x, y) of each pool row x and the candidate y to dst.
func (s *Space) Kernel(dst []float64, candidate int) error { return s.rows.Kernel(dst, candidate) }

// SqDist writes the squared distance k(x, x) + k(y, y) − 2k(x, y) of each pool
// row x and the candidate y to dst.
func (s *Space) SqDist(dst []float64, candidate int) error { return s.rows.SqDist(dst, candidate) }

// Best returns the open row of largest score, or of largest score per cost where the
// constraints say so, of equal ones the lowest. Scores must not be negative: if the
// largest is 0, the choice is tied. A score that is NaN is an error.
func (s *Space) Best(score []float64) (Choice, error) {
	row, err := space.BestPer(s.rows.Team(), score, s.price, s.limits.open)
	if err != nil {
		return Choice{}, err
	}
	if row < 0 {
		return Choice{}, &Stuck{Reason: "no row may be picked"}
	}
	return Choice{Row: row, Score: s.price.per(row, score[row]), Tied: score[row] == 0}, nil
}

// choose turns the row of largest squared distance, or of largest k(x, x), into a
// choice.
func (s *Space) choose(best space.Found, err error) (Choice, error) {
	if err == nil && best.Row < 0 {
		err = &Stuck{Reason: "no row may be picked"}
	}
	if err != nil {
		return Choice{}, err
	}
	return Choice{Row: best.Row, Score: s.price.per(best.Row, s.rows.InUnits(best.Score, 2)), Tied: best.Score == 0}, nil
}

// largest chooses the open row of largest k(x, x).
func (s *Space) largest() (Choice, error) { return s.choose(s.rows.Largest()) }

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
func (s *Space) Stream(purpose string) Stream { return s.stream(purpose) }

func (s *Space) stream(purpose string) *rng.Stream { return rng.New(s.seed, "selection "+purpose) }

// refuseTarget rejects a target for methods that do not represent a distribution.
func (s *Space) refuseTarget(method string) error {
	if s.rows.HasTarget() {
		return &MethodError{Method: method, Reason: "it does not represent a distribution, so it cannot have a target"}
	}
	return nil
}

// Note adds a line to the result.
func (s *Space) Note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// centre describes a candidate for the result.
func (s *Space) centre(candidate int) Centre {
	if candidate >= s.PoolSize() {
		return Centre{Set: TrainSet, Row: candidate - s.PoolSize()}
	}
	if s.limits.Pending[candidate] {
		return Centre{Set: PendingSet, Row: candidate}
	}
	return Centre{Set: PoolSet, Row: candidate}
}
