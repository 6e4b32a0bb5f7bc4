package sets

import "github.com/nextbatch/nextbatch/internal/rng"

// Subsample chooses at random which rows to keep, one after another and without
// a list of them, so that a file can be read row by row. With k still to choose
// from the n remaining, it keeps a row with probability k/n: every subset of
// the requested size is equally likely (Knuth, The Art of Computer Programming
// 2, Algorithm S).
type Subsample struct {
	draws        *rng.Stream
	left, wanted int
}

// NewSubsample chooses at most most of n rows: all of them if there are no more.
func NewSubsample(n, most int, seed uint64) *Subsample {
	return &Subsample{draws: rng.New(seed, "dataset subsample"), left: n, wanted: min(most, n)}
}

// Next reports whether to keep the next row. After the n-th, it reports false.
func (s *Subsample) Next() bool {
	if s.wanted == 0 || s.left == 0 {
		return false
	}
	stays := s.draws.IntN(s.left) < s.wanted
	s.left--
	if stays {
		s.wanted--
	}
	return stays
}
