// Package simd provides the vector loops from which everything else is built.
//
// A Set is one implementation of every primitive for one element type: "go",
// the plain loops of loops.go, which define what each primitive means; "avx2"
// (AVX2 with FMA), "avx512", and "amx", which is avx512 with products of split
// numbers (see split.go), generated assembly. The best set that the CPU can run
// is chosen once, when the program starts. NEXTBATCH_SIMD=go, avx2, avx512 or amx
// forces another; the build tag noasm leaves only the Go loops.
//
// Sets round differently, so results agree between sets only up to a tolerance.
// One set gives the same bits for the same input, whatever the alignment.
//
// The methods check lengths before assembly runs: a slice that is too short panics
// like an index out of range, and no primitive reads or writes outside its slices.
// Element-wise methods may overwrite their own input (dst == x); no other overlap
// is allowed.
//
// Assembly cannot be interrupted, and the garbage collector waits for it: callers
// split passes over more than a few megabytes into pieces.
//
//go:generate go run -C gen . ..
package simd

import (
	"math/bits"
	"slices"
	"unsafe"
)

// Float is the set of element types.
type Float interface{ float32 | float64 }

// Set is one implementation of every primitive. Get one with For;
// the zero value is not usable.
type Set[T Float] struct {
	name string

	dot        func(x, y []T) T
	sum        func(x []T) T
	sumSquares func(x []T) T
	axpy       func(dst, x []T, a T)
	scaleAdd   func(dst, x []T, a, b T)
	mul        func(dst, x, y []T)
	rotate     func(x, y []T, c, s T)
	widen      func(dst []float64, src []float32)

	dotRows    func(dst, q, rows []T, stride int)
	sqDistRows func(dst, q, rows []T, stride int)

	dotListed    func(dst, q, rows []T, stride int, list []int32)
	sqDistListed func(dst, q, rows []T, stride int, list []int32)
	dotBytes     func(dst []int32, q []int16, rows []int8)
	dotBytesPair func(dstQ, dstP []int32, q, p []int16, rows []int8)
	roundBytes   func(k []int8, row []float64, perStep, step float64) float64

	min      func(x []T) T
	argMax   func(x []T) int
	minLabel func(dst []T, label []int32, x []T, id int32)
	atMost   func(list []int32, x []T, bound T) int

	relu     func(dst, x []T)
	reluMask func(dst, g, y []T)
	silu     func(dst, deriv, x []T)
	tanh     func(dst, x []T)
	exp      func(dst, x []T)
	adam     func(w, m, v, g []T, s *AdamStep[T])

	mr, nr     int
	tiles      []tileFunc[T] // by number of rows, from 1 to mr; entry 0 is unused
	packPanel  func(dst, src []T, ld, k int)
	packPanelT func(dst, src []T, ld, k int) int

	fmaLoop func(n int) int

	split *splitLoops[T]
}

// tileFunc multiplies a row of tiles; see Set.MulTiles. The number of rows is
// fixed.
type tileFunc[T Float] func(k int, a *T, rs, ks int, b, c *T, ldc, cols int, alpha, beta T, ahead uintptr, aheadStep,
	aheadTurn int)

// Name returns "go", "avx2", "avx512" or "amx".
func (s *Set[T]) Name() string { return s.name }

// For returns the set in use.
func For[T Float]() *Set[T] { return pick[T](active32, active64) }

// Name returns the name of the set in use.
func Name() string { return active }

// Names returns the names of all sets that this CPU can run, "go" first.
func Names() []string { return slices.Clone(available) }

func pick[T Float](f32 *Set[float32], f64 *Set[float64]) *Set[T] {
	if s, ok := any(f32).(*Set[T]); ok {
		return s
	}
	return any(f64).(*Set[T])
}

// Dot returns Σ x[i]·y[i].
func (s *Set[T]) Dot(x, y []T) T { return s.dot(x, y[:len(x)]) }

// Sum returns Σ x[i].
func (s *Set[T]) Sum(x []T) T { return s.sum(x) }

// SumSquares returns Σ x[i]².
func (s *Set[T]) SumSquares(x []T) T { return s.sumSquares(x) }

// Axpy adds a·x to dst.
func (s *Set[T]) Axpy(dst, x []T, a T) { s.axpy(dst, x[:len(dst)], a) }

// ScaleAdd writes a·dst + b·x to dst.
func (s *Set[T]) ScaleAdd(dst, x []T, a, b T) { s.scaleAdd(dst, x[:len(dst)], a, b) }

// Mul writes the element-wise product x·y to dst.
func (s *Set[T]) Mul(dst, x, y []T) { s.mul(dst, x[:len(dst)], y[:len(dst)]) }

// Rotate writes c·x + sn·y to x and c·y − sn·x to y, a plane rotation.
func (s *Set[T]) Rotate(x, y []T, c, sn T) { s.rotate(x, y[:len(x)], c, sn) }

// Widen writes src to dst. It is the same in all sets.
func (s *Set[T]) Widen(dst []float64, src []float32) {
	src = src[:len(dst)]
	whole := wholeVectors(len(dst))
	s.widen(dst[:whole], src[:whole])
	widenLoop(dst[whole:], src[whole:])
}

// wholeVectors is how many of n float64 are in whole vectors of every set. Loops that
// have no part at the end are followed by Go loops for the rest.
func wholeVectors(n int) int { return n &^ 7 }

// DotRows writes to dst[i] the product of q with row i; row i is
// rows[i*stride : i*stride+len(q)].
func (s *Set[T]) DotRows(dst, q, rows []T, stride int) {
	if len(q) == 0 {
		clear(dst)
		return
	}
	mustHoldRows(len(rows), len(dst), len(q), stride)
	s.dotRows(dst, q, rows, stride)
}

// SqDistRows writes to dst[i] the squared Euclidean distance between q and row i,
// with rows as in DotRows.
func (s *Set[T]) SqDistRows(dst, q, rows []T, stride int) {
	if len(q) == 0 {
		clear(dst)
		return
	}
	mustHoldRows(len(rows), len(dst), len(q), stride)
	s.sqDistRows(dst, q, rows, stride)
}

// DotListed writes to dst[i] the product of q with row list[i], with rows as in
// DotRows. The results have the same bits as those of DotRows.
func (s *Set[T]) DotListed(dst, q, rows []T, stride int, list []int32) {
	s.listed(s.dotListed, dst, q, rows, stride, list)
}

// SqDistListed writes to dst[i] the squared Euclidean distance between q and row
// list[i], with rows as in DotRows. The results have the same bits as those of
// SqDistRows.
func (s *Set[T]) SqDistListed(dst, q, rows []T, stride int, list []int32) {
	s.listed(s.sqDistListed, dst, q, rows, stride, list)
}

func (s *Set[T]) listed(loop func(dst, q, rows []T, stride int, list []int32), dst, q, rows []T, stride int,
	list []int32) {
	if len(q) == 0 {
		clear(dst)
		return
	}
	list = list[:len(dst)]
	last := 0
	for _, i := range list {
		if i < 0 {
			panic("simd: the list has a negative row number")
		}
		last = max(last, int(i))
	}
	if len(dst) > 0 {
		mustHoldRows(len(rows), last+1, len(q), stride)
		loop(dst, q, rows, stride, list)
	}
}

// ByteBlock divides the length of every row of bytes.
const ByteBlock = 64

// DotBytes writes to dst[i] the product of q with row i, which is
// rows[i*len(q) : (i+1)*len(q)]. The length of q is a multiple of ByteBlock; pad
// with zeros. Sums are 32-bit integers, which wrap around and are the same in all
// sets.
func (s *Set[T]) DotBytes(dst []int32, q []int16, rows []int8) {
	if holdByteRows(dst, q, rows) {
		s.dotBytes(dst, q, rows)
	}
}

// DotBytesPair is DotBytes for two vectors, in one pass over the rows.
func (s *Set[T]) DotBytesPair(dstQ, dstP []int32, q, p []int16, rows []int8) {
	dstP, p = dstP[:len(dstQ)], p[:len(q)]
	if holdByteRows(dstQ, q, rows) {
		s.dotBytesPair(dstQ, dstP, q, p, rows)
	} else {
		clear(dstP)
	}
}

// RoundBytes writes row·perStep to k, each number rounded to the nearest integer, of two
// the even one, and returns Σ (row[i] − k[i]·step)². Results must fit into a byte.
func (s *Set[T]) RoundBytes(k []int8, row []float64, perStep, step float64) float64 {
	k = k[:len(row)]
	whole := wholeVectors(len(row))
	return s.roundBytes(k[:whole], row[:whole], perStep, step) + roundBytesLoop(k[whole:], row[whole:], perStep, step)
}

// holdByteRows checks rows of bytes. Without columns, it clears dst and returns
// false.
func holdByteRows(dst []int32, q []int16, rows []int8) bool {
	if len(q)%ByteBlock != 0 {
		panic("simd: the length of rows of bytes is not a multiple of ByteBlock")
	}
	if len(q) == 0 {
		clear(dst)
		return false
	}
	mustHoldRows(len(rows), len(dst), len(q), len(q))
	return true
}

// Min returns the smallest element, +Inf if there is none. It ignores NaN.
func (s *Set[T]) Min(x []T) T { return s.min(x) }

// ArgMax returns the lowest index of the largest element, -1 if there is none. It
// ignores NaN.
func (s *Set[T]) ArgMax(x []T) int { return s.argMax(x) }

// MinLabel lowers dst to x: where x[i] < dst[i], dst[i] becomes x[i] and
// label[i] becomes id. NaN changes nothing.
func (s *Set[T]) MinLabel(dst []T, label []int32, x []T, id int32) {
	s.minLabel(dst, label[:len(dst)], x[:len(dst)], id)
}

// AtMost writes the indices of the elements that are at most bound to the front of
// list, in ascending order, and returns their number. list is as long as x; the
// rest of it is undefined.
func (s *Set[T]) AtMost(list []int32, x []T, bound T) int { return s.atMost(list[:len(x)], x, bound) }

// ReLU writes max(x, 0) to dst; NaN stays NaN.
func (s *Set[T]) ReLU(dst, x []T) { s.relu(dst, x[:len(dst)]) }

// ReLUMask writes g to dst where y > 0 and zero elsewhere. y is the input or the
// output of ReLU.
func (s *Set[T]) ReLUMask(dst, g, y []T) { s.reluMask(dst, g[:len(dst)], y[:len(dst)]) }

// SiLU writes x·σ(x) to dst and its derivative σ(x)·(1 + x·(1−σ(x))) to deriv,
// with σ(x) = 1/(1+e^−x).
func (s *Set[T]) SiLU(dst, deriv, x []T) { s.silu(dst, deriv[:len(dst)], x[:len(dst)]) }

// Tanh writes the hyperbolic tangent of x to dst.
func (s *Set[T]) Tanh(dst, x []T) { s.tanh(dst, x[:len(dst)]) }

// Exp writes e^x to dst.
func (s *Set[T]) Exp(dst, x []T) { s.exp(dst, x[:len(dst)]) }

// AdamStep holds the numbers of one step of Adam:
//
//	m ← Beta1·m + Gain1·g
//	v ← Beta2·v + Gain2·g²
//	w ← Keep·w − Rate·m/(Root·√v + Eps)
//
// with Gain = 1−Beta, Rate = lr/(1−β1^t), Root = 1/√(1−β2^t), and Keep = 1 minus
// the decoupled weight decay.
type AdamStep[T Float] struct {
	Beta1, Gain1, Beta2, Gain2, Keep, Rate, Root, Eps T
}

// Adam makes one step on the parameters w with moments m and v and gradient g.
func (s *Set[T]) Adam(w, m, v, g []T, step *AdamStep[T]) {
	n := len(w)
	s.adam(w, m[:n], v[:n], g[:n], step)
}

// TileRows is the largest number of rows in a tile of MulTiles.
func (s *Set[T]) TileRows() int { return s.mr }

// TileCols is the width of a packed panel and the largest number of columns in a
// tile.
func (s *Set[T]) TileCols() int { return s.nr }

// MulTiles is the micro-kernel of matrix multiplication: a row of tiles. b holds
// as many consecutive panels as cols needs, each of k rows of TileCols numbers. For
// i < rows ≤ TileRows and j < cols, with panel q = j/TileCols:
//
//	c[i*ldc+j] = alpha·Σ_p a[i*rs+p*ks]·b[(q*k+p)*TileCols+j%TileCols] + beta·c[i*ldc+j]
//
// summed over p = 0..k-1 in that order, so that an element does not depend on the
// tile that contains it. With beta = 0, c is not read. Meanwhile the memory that
// ahead describes is prefetched into the cache.
func (s *Set[T]) MulTiles(c []T, ldc, rows, cols int, alpha T, a []T, rs, ks int, b []T, k int, beta T, ahead Ahead) {
	if rows <= 0 || cols <= 0 {
		return
	}
	if rs < 0 || ks < 0 || ldc < 0 || k < 0 {
		panic("simd.MulTiles: negative stride or length")
	}
	mustReach(len(c), rows-1, ldc, cols-1, 1)
	if k == 0 {
		scaleRows(c, ldc, rows, cols, beta)
		return
	}
	mustReach(len(a), rows-1, rs, k-1, ks)
	width := (cols + s.nr - 1) / s.nr * s.nr
	mustReach(len(b), k-1, width, width-1, 1)
	if ahead.Start == 0 {
		ahead = Ahead{Start: uintptr(unsafe.Pointer(&a[0]))}
	}
	s.tiles[rows](k, &a[0], rs, ks, &b[0], &c[0], ldc, cols, alpha, beta, ahead.Start, ahead.Step, ahead.Turn)
}

// Ahead describes memory to prefetch, in bytes: one cache line for every AheadEvery
// products of a sum, from Start on, each Step after the last. At the end of a panel
// it advances by Turn. A prefetch is only a hint, so any address is allowed; the
// zero value prefetches nothing.
type Ahead struct {
	Start      uintptr
	Step, Turn int
}

// AheadEvery is the number of products per prefetched line: fetching more at once
// would delay the panels.
const AheadEvery = 4

func scaleRows[T Float](c []T, ldc, rows, cols int, beta T) {
	for i := range rows {
		row := c[i*ldc:][:cols]
		for j := range row {
			if beta == 0 {
				row[j] = 0
			} else {
				row[j] *= beta
			}
		}
	}
}

// PackPanel copies k rows of cols numbers, row p at src[p*ld], into a panel:
// dst[p*TileCols+j] = src[p*ld+j], zero for j ≥ cols.
func (s *Set[T]) PackPanel(dst, src []T, ld, k, cols int) {
	mustHoldRows(len(src), k, cols, ld)
	dst = dst[:k*s.nr]
	if cols == s.nr {
		s.packPanel(dst, src, ld, k)
		return
	}
	for p := range k {
		row := dst[p*s.nr:][:s.nr]
		copy(row[:cols], src[p*ld:])
		clear(row[cols:])
	}
}

// PackPanelT is PackPanel for a source that is stored transposed:
// dst[p*TileCols+j] = src[j*ld+p], zero for j ≥ cols.
func (s *Set[T]) PackPanelT(dst, src []T, ld, k, cols int) {
	mustHoldRows(len(src), cols, k, ld)
	dst = dst[:k*s.nr]
	done := 0
	if cols == s.nr {
		done = s.packPanelT(dst, src, ld, k)
	}
	for p := done; p < k; p++ {
		row := dst[p*s.nr:][:s.nr]
		for j := range cols {
			row[j] = src[j*ld+p]
		}
		clear(row[cols:])
	}
}

// FMALoop runs n rounds of independent multiply-adds in registers, the arithmetic
// ceiling of one core, and returns the number of floating-point operations.
func (s *Set[T]) FMALoop(n int) int { return s.fmaLoop(n) }

// mustHoldRows panics unless a slice of the given length holds n rows of width
// numbers, stride apart.
func mustHoldRows(length, n, width, stride int) {
	if n == 0 || width == 0 {
		return
	}
	if stride < width || n < 0 || width < 0 {
		panic("simd: rows overlap, or their number is negative")
	}
	mustReach(length, n-1, stride, width-1, 1)
}

// mustReach panics unless the numbers are not negative and a slice of the given
// length has the index i·step + j·stride. An overflow must not look like a fit.
func mustReach(length, i, step, j, stride int) {
	high1, low1 := bits.Mul(uint(i), uint(step))
	high2, low2 := bits.Mul(uint(j), uint(stride))
	if high1|high2 != 0 || low1 >= uint(length) || low2 >= uint(length)-low1 {
		panic("simd: rows extend beyond their slice")
	}
}
