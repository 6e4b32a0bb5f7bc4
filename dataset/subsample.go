package dataset

import "github.com/nextbatch/nextbatch/internal/rng"

// Subsample chooses at random which rows stay, one after the other and without
// a list of them, so that a file can be read row by row. With k to choose among
// the n that are left, a row stays with probability k/n: every choice of the
// asked size is as likely as any other (Knuth, The Art of Computer Programming
// 2, Algorithm S).
type Subsample struct {
	draws        *rng.Stream
	left, wanted int
}

// NewSubsample chooses most of n rows, or all of them if there are no more.
func NewSubsample(n, most int, seed uint64) *Subsample {
	return &Subsample{draws: rng.New(seed, "dataset subsample"), left: n, wanted: min(most, n)}
}

// Next says whether the next row stays. Beyond the n-th, none does.
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
