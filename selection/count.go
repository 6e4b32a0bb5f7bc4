package selection

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
)

// countPairs counts distances, and those of them that were computed.
func (s *Space[T]) countPairs(pairs, computed int64) {
	s.pairs += pairs
	s.computed += computed
}

func (s *Space[T]) computedShare() float64 {
	if s.pairs == 0 {
		return 1
	}
	return float64(s.computed) / float64(s.pairs)
}

// countRead counts rows that were read from memory, with so many operations for
// each feature.
func (s *Space[T]) countRead(rows, cols, flops int) { countRead[T](&s.work, rows, cols, flops) }

// countBytes counts rows of bytes that were read.
func (s *Space[T]) countBytes(b *byteRows) { s.work.Bytes += float64(len(b.k)) }

// countSteps counts rows of float64 that were read, and so many products of a row
// with a vector.
func (s *Space[T]) countSteps(rows, cols int, products int64) {
	countRead[float64](&s.work, rows, cols, 0)
	s.work.Flops += 2 * float64(products) * float64(cols)
}

// countRead is for rows of any element type.
func countRead[U matrix.Float](w *Work, rows, cols, flops int) {
	var zero U
	n := float64(rows) * float64(cols)
	w.Bytes += n * float64(unsafe.Sizeof(zero))
	w.Flops += n * float64(flops)
}
