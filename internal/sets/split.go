package sets

import (
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// Sizes are the sizes of the parts of a split; the pool takes the remaining rows.
type Sizes struct{ Train, Valid, Test int }

// PaperSizes returns the paper's sizes for n rows: 256 for the initial training
// set, 1024 for validation, and a fifth for testing, or more, so that at most
// 200000 rows remain for the other parts.
func PaperSizes(n int) Sizes {
	const mostForLearning = 200_000
	return Sizes{Train: 256, Valid: 1024, Test: max(n/5, n-mostForLearning)}
}

// Split divides the rows of a data set: each row is in exactly one part.
type Split struct{ Train, Valid, Pool, Test []int }

// NewSplit returns split number id of n rows. The same seed gives the same
// splits; different ids give independent ones.
func NewSplit(n int, sizes Sizes, seed, id uint64) (Split, error) {
	return divide(n, sizes, func() []int { return rng.New(seed, "dataset split", id).Perm(n) })
}

// PublishedSplit returns the split with the given id that the paper's published
// code draws from NumPy's legacy generator.
func PublishedSplit(n int, sizes Sizes, id uint32) (Split, error) {
	return divide(n, sizes, func() []int { return newMT19937(id).perm(n) })
}

func divide(n int, s Sizes, order func() []int) (Split, error) {
	if min(s.Train, s.Valid, s.Test) < 0 || s.Train+s.Valid+s.Test > n {
		return Split{}, &SplitError{Rows: n, Sizes: s}
	}
	rows := order()
	valid, pool, test := s.Train, s.Train+s.Valid, n-s.Test
	return Split{
		Train: slices.Clip(rows[:valid]),
		Valid: slices.Clip(rows[valid:pool]),
		Pool:  slices.Clip(rows[pool:test]),
		Test:  rows[test:],
	}, nil
}

// SplitError reports that there are too few rows for the parts of a split.
type SplitError struct {
	Rows  int
	Sizes Sizes
}

func (e *SplitError) Error() string {
	return fmt.Sprintf("%d rows are too few for %d train, %d valid and %d test rows",
		e.Rows, e.Sizes.Train, e.Sizes.Valid, e.Sizes.Test)
}
