package space

// Units. A method that compares distances picks the same rows whatever the unit of the
// features. In floating point that holds as long as squares neither overflow nor
// underflow: in float32, for numbers from about 2⁻⁶³ to 2⁶³. Features outside that range
// are multiplied by a power of two, which changes no digit; the result gives scores and
// distances in the caller's unit.
//
// Features that are in range are not copied, which would take memory. There, squares of
// differences below 2⁻⁴⁷ of the largest norm may still underflow, far below the 2⁻²⁴
// that float32 resolves. Others are scaled to the upper end of the range, where rows
// that are much smaller than the largest lose least.

import (
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

// unitRange is where squared distances are safe.
type unitRange struct {
	least, most float64 // of the largest squared norm
	norm        int     // the power of two that the largest norm is scaled to
	digits      float64 // rows with a smaller squared norm lose digits of differences
}

func rangeOf[T matrix.Float]() unitRange {
	if isFloat32[T]() {
		return unitRange{0x1p-32, 0x1p110, 55, 0x1p-78}
	}
	return unitRange{0x1p-400, 0x1p980, 490, 0x1p-900}
}

// rescale scales the features to a range where squared distances are safe. It leaves
// features unchanged that cannot be scaled there: those that are all zero or not
// finite, and those whose magnitudes differ so much that no unit fits both. Rows in a
// file would have to be written once more; they are rejected.
func (s *space[T]) rescale() error {
	norm, safe := s.overRanks(s.largestNorm()), rangeOf[T]()
	if norm >= safe.least && norm <= safe.most {
		return nil
	}
	if s.pool.inFile {
		if norm == 0 || norm-norm != 0 { // check finds the row that is not finite
			return nil
		}
		return &place.ProblemError{Field: "Pool",
			Reason: fmt.Sprintf("the largest squared norm of the rows is %.3g; in a file it must be from %.3g to %.3g: "+
				"multiply all features by one number", norm, safe.least, safe.most)}
	}
	if err := s.fetchPool(); err != nil {
		return err
	}
	feature := 0.0
	for _, one := range s.sets() {
		if _, _, found := linalg.FirstNotFinite(s.team, one.rows); found {
			feature = math.Inf(1)
			break
		}
		feature = max(feature, float64(largestFeature(s.team, one.rows)))
		tally.Rows[T](s.tally, 2*one.rows.Rows, one.rows.Cols)
	}
	feature = s.overRanks(feature)
	if feature == 0 || math.IsInf(feature, 1) {
		return nil
	}
	_, exponent := math.Frexp(feature)
	_, root := math.Frexp(math.Sqrt(float64(s.pool.rows.Cols)))
	was := *s
	s.exponent = exponent + root - safe.norm
	for _, one := range s.sets() {
		one.rows, one.diag = s.scaled(one.rows), matrix.Alloc[T](one.rows.Rows)
		s.measure(one)
	}
	if norm > largest[T]()/16 && s.overRanks(s.losesRows(&was, T(safe.digits))) > 0 {
		*s = was
	}
	return nil
}

// overRanks returns the largest number that a rank has.
func (s *space[T]) overRanks(own float64) float64 {
	if s.ranks == nil {
		return own
	}
	return s.ranks.largest(own)[0]
}

func (s *space[T]) largestNorm() float64 {
	norm := T(0)
	for _, one := range s.sets() {
		for _, v := range one.diag {
			if v > norm || v != v {
				norm = v
			}
		}
	}
	return float64(norm)
}

// losesRows counts the rows that are not zero and whose squared norm fell below least.
func (s *space[T]) losesRows(was *space[T], least T) (lost float64) {
	before := was.sets()
	for n, one := range s.sets() {
		for i, v := range one.diag {
			if v < least && slices.ContainsFunc(before[n].rows.Row(i), func(x T) bool { return x != 0 }) {
				lost++
			}
		}
	}
	return lost
}

// sets lists the sets that have rows.
func (s *space[T]) sets() (list []*set[T]) {
	for _, one := range []*set[T]{&s.pool, &s.train, &s.target} {
		if one.rows.Rows > 0 {
			list = append(list, one)
		}
	}
	return list
}

// scaled returns rows times 2^−exponent, in two steps, because that factor itself may
// be out of range.
func (s *space[T]) scaled(rows matrix.Dense[T]) matrix.Dense[T] {
	first := -s.exponent / 2
	by, again := T(math.Ldexp(1, first)), T(math.Ldexp(1, -s.exponent-first))
	dst := matrix.New[T](rows.Rows, rows.Cols)
	tally.Rows[T](s.tally, rows.Rows, rows.Cols)
	s.team.OverPieces(rows.Rows, readPiece, func(_, from, to int) {
		for i := from; i < to; i++ {
			to := dst.Row(i)
			for j, v := range rows.Row(i) {
				to[j] = v * by * again
			}
		}
	})
	return dst
}

// largestFeature returns the largest magnitude of finite features.
func largestFeature[T matrix.Float](team *linalg.Team, rows matrix.Dense[T]) T {
	parts := make([]T, linalg.Pieces(rows.Rows, readPiece))
	set := simd.For[T]()
	team.OverPieces(rows.Rows, readPiece, func(piece, from, to int) {
		for i := from; i < to; i++ {
			row := rows.Row(i)
			parts[piece] = max(parts[piece], row[set.ArgMax(row)], -set.Min(row))
		}
	})
	return slices.Max(parts)
}

// InUnits converts a number to the unit of the caller's features: with power 1 for a
// distance, 2 for a squared distance.
func (s *space[T]) InUnits(v float64, power int) float64 {
	return math.Ldexp(v, power*s.exponent)
}
