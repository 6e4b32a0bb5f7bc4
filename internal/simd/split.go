package simd

// Products of split numbers. Some CPUs multiply matrices of numbers with 8 binary
// digits many times faster than vectors of numbers with 24. There, a float32 is
// split into three such numbers, and the product of two numbers into the six
// products of parts that matter. Operands come in blocks of 32 by 32, padded with
// zeros.
//
// The sum of k ≥ 32 products has a smaller error bound than a sequential sum: with
// u = 2^-24, (20 + 6·⌈k/32⌉)·u times the sum of their absolute values. The omitted
// products of parts are at most u of a product. In a block, 16 products of parts
// are summed sequentially, twice; the two sums are added to each other and then to
// the result, six times.
//
// Parts, and sums of products of parts, below 2^-126 count as zero, so numbers below
// 2^-103, and products that small, lose digits. A number that is not finite, or
// at least 2^127·(2 - 2^-8), turns every sum that contains it into NaN.
const (
	// BlockSide is the number of rows and columns of a block.
	BlockSide = 32
	// BlockWords is the length of a split block.
	BlockWords = 3 * BlockSide * BlockSide / 2
	// BlockWork is the length of the work space that the methods need.
	BlockWork = BlockSide * BlockSide
)

// splitLoops are the loops behind products of split numbers; nil if the CPU does
// not have tiles.
type splitLoops[T Float] struct {
	rows, cols splitLoop[T]
	turn       func(tiles *uint32, n int)
	mul        func(c *T, ldc, rows, cols int, alpha, beta T, a, b *uint32, blocks int, tailA, tailB *T, tail,
		tailWidth int, work *T)
}

// splitLoop splits whole blocks that lie side by side, and writes them step bytes
// apart.
type splitLoop[T Float] func(dst *uint32, src *T, ld, blocks, step int)

// Splits reports whether the set multiplies split numbers.
func (s *Set[T]) Splits() bool { return s.split != nil }

// SplitRows splits a left operand, at most BlockSide rows, into as many consecutive
// blocks as cols needs. Row i begins at src[i*ld].
func (s *Set[T]) SplitRows(dst []uint32, src []T, ld, rows, cols int, work []T) {
	s.split.rows.run(dst, BlockWords, src, ld, rows, cols, work)
}

// SplitCols splits a right operand, at most BlockSide rows, into as many blocks
// as cols needs, step words apart. Row i begins at src[i*ld].
func (s *Set[T]) SplitCols(dst []uint32, step int, src []T, ld, rows, cols int, work []T) {
	s.split.cols.run(dst, step, src, ld, rows, cols, work)
}

// run splits all blocks, incomplete ones from a padded copy.
func (f splitLoop[T]) run(dst []uint32, step int, src []T, ld, rows, cols int, work []T) {
	if rows <= 0 || cols <= 0 || rows > BlockSide || step < BlockWords {
		panic("simd: there is no block to split, or blocks overlap")
	}
	mustHoldRows(len(src), rows, cols, ld)
	blocks, whole := (cols+BlockSide-1)/BlockSide, 0
	dst = dst[:(blocks-1)*step+BlockWords]
	if rows == BlockSide {
		whole = cols / BlockSide
	}
	if whole > 0 {
		f(&dst[0], &src[0], ld, whole, 4*step)
	}
	for i := whole; i < blocks; i++ {
		fillBlock(work, src[i*BlockSide:], ld, rows, min(BlockSide, cols-i*BlockSide))
		f(&dst[i*step], &work[0], BlockSide, 1, 0)
	}
}

// fillBlock copies rows to the work space and pads them with zeros to a block.
func fillBlock[T Float](work, src []T, ld, rows, cols int) {
	work = work[:BlockWork]
	for i := range BlockSide {
		row := work[i*BlockSide:][:BlockSide]
		if i < rows {
			clear(row[copy(row, src[i*ld:][:cols]):])
		} else {
			clear(row)
		}
	}
}

// TurnBlocks transposes blocks: the result of SplitRows for a matrix becomes the
// result of SplitCols for its transpose, and vice versa.
func (s *Set[T]) TurnBlocks(blocks []uint32) {
	if n := len(blocks) / (BlockWords / 6); n > 0 {
		s.split.turn(&blocks[0], n)
	}
}

// MulBlocks is MulTiles for split numbers: rows ≤ BlockSide of c become
//
//	alpha·(A·B + tailA·tailB) + beta·c
//
// where A is a row of blocks from SplitRows, and B has as many panels as cols
// needs, each a column of blocks from SplitCols. The tail consists of products that
// are not worth a block: tailA holds tail numbers for each row, tailB tail rows of
// tailWidth numbers, at least the width of the panels. With beta = 0, c is not
// read.
func (s *Set[T]) MulBlocks(c []T, ldc, rows, cols int, alpha T, a, b []uint32, tailA, tailB []T, tail, tailWidth int,
	beta T, work []T) {
	if rows <= 0 || cols <= 0 {
		return
	}
	blocks, panels := len(a)/BlockWords, (cols+BlockSide-1)/BlockSide
	if rows > BlockSide || blocks == 0 || tail < 0 || ldc < 0 {
		panic("simd.MulBlocks: no rows of blocks")
	}
	mustReach(len(c), rows-1, ldc, cols-1, 1)
	b = b[:panels*blocks*BlockWords]
	var left, right *T
	if tail > 0 {
		mustHoldRows(len(tailA), rows, tail, tail)
		mustHoldRows(len(tailB), tail, panels*BlockSide, tailWidth)
		left, right = &tailA[0], &tailB[0]
	}
	s.split.mul(&c[0], ldc, rows, cols, alpha, beta, &a[0], &b[0], blocks, left, right, tail, tailWidth,
		&work[:BlockWork][0])
}
