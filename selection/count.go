package selection

// What a selection reads and computes. Three limits of a machine belong to it: the
// bandwidth of the memory, that of a core's own cache, and the speed of
// multiply-adds.

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
)

// ownCache is what the caches of the cores themselves hold together, at least.
// Passes that read no more than that count as reads from there, even where
// other passes have put their rows out.
const ownCache = 2 << 20

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

// countRead counts rows of features that were read from memory, with so many
// operations for each feature.
func (s *Space[T]) countRead(rows, cols, flops int) { countRead[T](&s.work, rows, cols, flops) }

// countCached counts rows that were read again while they were in the cache.
func (s *Space[T]) countCached(rows, cols, flops int) { countCached[T](&s.work, rows, cols, flops) }

// countPass counts a pass that reads so many bytes of what is kept for each row.
func (s *Space[T]) countPass(rows, bytes int) {
	if n := rows * bytes; n <= ownCache {
		s.work.Cached += float64(n)
	} else {
		s.work.Bytes += float64(n)
	}
}

// countSteps counts rows of float64 that were read, and so many products of a row
// with a vector of a step, of which there are too many for registers.
func (s *Space[T]) countSteps(rows, cols int, products int64) {
	countRead[float64](&s.work, rows, cols, 0)
	countCached[float64](&s.work, int(products), cols, 2)
}

// countRead is for rows of any element type.
func countRead[U matrix.Float](w *Work, rows, cols, flops int) {
	w.Bytes += bytesOf[U](rows, cols)
	w.Flops += float64(rows) * float64(cols) * float64(flops)
}

func countCached[U matrix.Float](w *Work, rows, cols, flops int) {
	w.Cached += bytesOf[U](rows, cols)
	w.Flops += float64(rows) * float64(cols) * float64(flops)
}

func bytesOf[U matrix.Float](rows, cols int) float64 {
	return float64(rows) * float64(cols) * float64(bytesEach[U]())
}

// bytesEach is the size of a number.
func bytesEach[U matrix.Float]() int {
	var zero U
	return int(unsafe.Sizeof(zero))
}
