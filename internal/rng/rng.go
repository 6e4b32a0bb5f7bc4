// Package rng derives independent random streams from a seed and a name.
//
// A stream is named by (seed, purpose, index): the user's seed, what the numbers
// are for ("network init", "sketch"), and which of several streams it is (the
// ensemble member, the step). Streams with different names are independent, so a
// part of the program that draws more or fewer numbers never changes what another
// part draws, and parts may run in any order or concurrently.
//
// The same name gives the same numbers in every version of the program: the
// derivation and each method's use of the stream are frozen by tests. Integers
// agree on every platform. Normal variates may differ in the last bit between
// processor architectures, because their tail takes a logarithm.
//
// There is no global stream and no default seed. Functions that draw take a
// *Stream as an argument, and panic if it is nil. A stream is not safe for
// concurrent use: each goroutine that draws needs its own.
package rng

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Stream is a sequence of random numbers, made by New. The zero value panics like
// nil.
type Stream struct{ source *rand.Rand }

// New returns the stream with the given name, at its start. The number of indices
// is part of the name: without an index it is a different stream than with index
// 0.
func New(seed uint64, purpose string, index ...uint64) *Stream {
	return &Stream{rand.New(rand.NewChaCha8(key(seed, purpose, index)))}
}

// key hashes the name. Each list is preceded by its length, so that no two names
// have the same bytes.
func key(seed uint64, purpose string, index []uint64) [32]byte {
	name := binary.LittleEndian.AppendUint64(nil, seed)
	name = binary.LittleEndian.AppendUint64(name, uint64(len(purpose)))
	name = append(name, purpose...)
	name = binary.LittleEndian.AppendUint64(name, uint64(len(index)))
	for _, i := range index {
		name = binary.LittleEndian.AppendUint64(name, i)
	}
	return sha256.Sum256(name)
}

// Must panics with a NilError if s is nil or the zero Stream. Functions that take
// a stream call it first, so that misuse shows before any work is done.
func Must(op string, s *Stream) {
	if s == nil || s.source == nil {
		panic(NilError{Op: op})
	}
}

// Uint64 returns 64 random bits.
func (s *Stream) Uint64() uint64 {
	Must("rng.Uint64", s)
	return s.source.Uint64()
}

// IntN returns a uniformly distributed number from 0 to n-1. It panics with a
// CountError unless n is positive.
func (s *Stream) IntN(n int) int {
	Must("rng.IntN", s)
	if n <= 0 {
		panic(CountError{Op: "rng.IntN", N: n})
	}
	return s.source.IntN(n)
}

// Float64 returns a number in [0, 1), a multiple of 2^-53.
func (s *Stream) Float64() float64 {
	Must("rng.Float64", s)
	return s.source.Float64()
}

// NormFloat64 returns a standard normal variate.
func (s *Stream) NormFloat64() float64 {
	Must("rng.NormFloat64", s)
	return s.source.NormFloat64()
}

// Perm returns a random permutation of 0 to n-1. It panics with a CountError if n
// is negative.
func (s *Stream) Perm(n int) []int {
	Must("rng.Perm", s)
	if n < 0 {
		panic(CountError{Op: "rng.Perm", N: n})
	}
	order := make([]int, n)
	s.Permute(order)
	return order
}

// Permute writes a random permutation of 0 to len(dst)-1 to dst: the one that Perm
// would return.
func (s *Stream) Permute(dst []int) {
	Must("rng.Permute", s)
	for i := range dst {
		dst[i] = i
	}
	s.source.Shuffle(len(dst), func(i, j int) { dst[i], dst[j] = dst[j], dst[i] })
}

// FillNormal writes independent standard normal variates to dst, in order. The
// float32 variates are the float64 ones, rounded.
func FillNormal[T float32 | float64](s *Stream, dst []T) {
	Must("rng.FillNormal", s)
	for i := range dst {
		dst[i] = T(s.source.NormFloat64())
	}
}
