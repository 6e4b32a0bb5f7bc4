package linalg

import (
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// GemmSplit is gemmThen for large float32 products whose terms need not be summed
// in order: where the CPU has tiles (AMX), it splits numbers into parts of 8
// binary digits and multiplies them as internal/simd/split.go describes. For
// layers of a few hundred neurons this takes about half the time, and the error
// has the same bound. Whether it splits depends on the right operand alone. So a
// row of a product with a plain left operand does not depend on the rows around
// it, and no element depends on the number of threads.
func GemmSplit[T matrix.Float](team *Team, dst matrix.Dense[T], alpha T, a matrix.Dense[T], opA Op, b matrix.Dense[T],
	opB Op, beta T, then Epilogue) {
	set, right := simd.For[T](), opB.shape(b.Rows, b.Cols)
	if !set.Splits() || right.Rows < leastInner || right.Cols < leastCols || dst.Rows == 0 {
		gemmThen(team, dst, alpha, a, opA, b, opB, beta, then)
		return
	}
	mustMultiply(dst, a, opA, b, opB)
	list := listOf[splitJob[T]](splitJobs)
	s := list.get()
	s.set, s.dst, s.a, s.b, s.opA, s.opB, s.alpha, s.beta, s.then = set, dst, a, b, opA, opB, alpha, beta, then
	s.plan(team.Threads())
	team.Run(s.rowParts*s.colParts+s.lastParts, s)
	s.release()
	list.put(s)
}

// splitJob is one product of split numbers. dst is divided into a grid of parts,
// and each part splits what it needs of both operands: its panels of the right
// one, which stay in the second-level cache, and its rows of the left one, one
// block at a time.
type splitJob[T matrix.Float] struct {
	set         *simd.Set[T]
	dst, a, b   matrix.Dense[T]
	opA, opB    Op
	alpha, beta T
	then        Epilogue

	inner, blocks, tail  int // products per element, blocks of them, products in no block
	rows                 int // of dst that are in blocks; the last few may not be worth one
	rowBlocks, colBlocks int // of dst
	rowParts, colParts   int
	lastParts            int // of the columns of the last few rows

	scratch [maxThreads]splitScratch[T]
}

// splitScratch is the scratch memory of one thread.
type splitScratch[T matrix.Float] struct {
	panels, left        []uint32
	tailLeft, tailRight []T
	work                []T
}

const (
	// From leastInner products and leastCols columns on, splitting pays off.
	leastInner = 2 * simd.BlockSide
	leastCols  = 4 * simd.BlockSide
	// Up to maxTail products, or rows of a transposed operand, are computed
	// outside blocks: layers have a bias.
	maxTail = 4
	// maxBlocks bounds the products of a step, and heldBlocks those of all its
	// panels, 768 KiB, so that they stay in the second-level cache.
	maxBlocks  = 18
	heldBlocks = 128
	lastCols   = 64 // columns of a part of the last few rows
)

func (s *splitJob[T]) plan(threads int) {
	s.inner = s.opA.shape(s.a.Rows, s.a.Cols).Cols
	s.blocks, s.tail = s.inner/simd.BlockSide, s.inner%simd.BlockSide
	if s.tail > maxTail {
		s.blocks, s.tail = s.blocks+1, 0
	}
	s.rows, s.lastParts = s.dst.Rows, 0
	if last := s.rows % simd.BlockSide; s.opA == Trans && last <= maxTail {
		s.rows -= last
		s.lastParts = min(last, 1) * ceilDiv(s.dst.Cols, lastCols)
	}
	s.rowBlocks, s.colBlocks = ceilDiv(s.rows, simd.BlockSide), ceilDiv(s.dst.Cols, simd.BlockSide)
	s.cut(threads)
}

// cut chooses the grid with as many parts as threads that splits the fewest
// numbers.
func (s *splitJob[T]) cut(threads int) {
	if s.dst.Rows*s.dst.Cols*s.inner < smallWork {
		threads = 1
	}
	least := 0
	for cols := 1; cols <= threads; cols++ {
		rows := threads / cols
		panels := ceilDiv(s.colBlocks, cols)
		splits := ceilDiv(s.rowBlocks, rows)*s.groups(panels) + panels
		if rows*cols == threads && (least == 0 || splits < least) {
			least, s.rowParts, s.colParts = splits, rows, cols
		}
	}
}

// groups returns the number of groups in which n panels are computed.
func (s *splitJob[T]) groups(panels int) int {
	return ceilDiv(panels, max(1, heldBlocks/min(s.blocks, maxBlocks)))
}

// Do computes one part of dst.
func (s *splitJob[T]) Do(part, slot int) {
	if part >= s.rowParts*s.colParts {
		s.lastRows((part-s.rowParts*s.colParts)*lastCols, slot)
		return
	}
	row, col := part%s.rowParts, part/s.rowParts
	p := splitPart[T]{splitJob: s, splitScratch: &s.scratch[slot], slot: slot}
	p.row0, p.row1 = row*s.rowBlocks/s.rowParts, (row+1)*s.rowBlocks/s.rowParts
	if p.row0 == p.row1 {
		return
	}
	first, last := col*s.colBlocks/s.colParts, (col+1)*s.colBlocks/s.colParts
	p.work = grow(p.work, simd.BlockWork)
	groups := s.groups(last - first)
	for i := range groups {
		p.c0 = (first + i*(last-first)/groups) * simd.BlockSide
		p.c1 = min((first+(i+1)*(last-first)/groups)*simd.BlockSide, s.dst.Cols)
		p.run()
	}
}

// splitPart is a part of dst that one thread works on.
type splitPart[T matrix.Float] struct {
	*splitJob[T]
	*splitScratch[T]
	slot       int
	row0, row1 int // blocks of rows
	c0, c1     int // columns
	k0, k1     int // the products that are being summed
	depth      int // blocks of them
}

func (p *splitPart[T]) run() {
	steps := ceilDiv(p.blocks, maxBlocks)
	for step := range steps {
		b0, b1 := step*p.blocks/steps, (step+1)*p.blocks/steps
		p.k0, p.k1, p.depth = b0*simd.BlockSide, min(b1*simd.BlockSide, p.inner), b1-b0
		last := step == steps-1
		p.splitRight()
		for block := p.row0; block < p.row1; block++ {
			r0, r1 := block*simd.BlockSide, min((block+1)*simd.BlockSide, p.rows)
			p.multiply(r0, r1, last)
			if last && p.then != nil {
				p.then.Finish(r0, r1, p.c0, p.c1, p.slot)
			}
		}
	}
}

// multiply computes rows r0 to r1-1; the last step includes the tail.
func (p *splitPart[T]) multiply(r0, r1 int, last bool) {
	p.splitLeft(r0, r1)
	beta, tail := p.beta, 0
	if p.k0 > 0 {
		beta = 1
	}
	if last {
		tail = p.tail
		p.copyTail(r0, r1)
	}
	c := p.dst.Data[r0*p.dst.Stride+p.c0:]
	p.set.MulBlocks(c, p.dst.Stride, r1-r0, p.c1-p.c0, p.alpha, p.left, p.panels, p.tailLeft, p.tailRight, tail,
		p.width(), beta, p.work)
}

// width is the total width of the panels.
func (p *splitPart[T]) width() int { return ceilDiv(p.c1-p.c0, simd.BlockSide) * simd.BlockSide }

// splitLeft splits rows r0 to r1-1 of the left operand.
func (p *splitPart[T]) splitLeft(r0, r1 int) {
	p.left = growWords(p.left, p.depth*simd.BlockWords)
	if p.opA == NoTrans {
		from := p.a.Block(r0, r1, p.k0, p.k1)
		p.set.SplitRows(p.left, from.Data, from.Stride, from.Rows, from.Cols, p.work)
		return
	}
	p.eachBlock(func(at, k0, k1 int) {
		from := p.a.Block(k0, k1, r0, r1)
		p.set.SplitCols(p.left[at:], simd.BlockWords, from.Data, from.Stride, from.Rows, from.Cols, p.work)
	})
	p.set.TurnBlocks(p.left)
}

// splitRight splits the panels of the right operand.
func (p *splitPart[T]) splitRight() {
	panel := p.depth * simd.BlockWords
	p.panels = growWords(p.panels, p.width()/simd.BlockSide*panel)
	if p.opB == NoTrans {
		p.eachBlock(func(at, k0, k1 int) {
			from := p.b.Block(k0, k1, p.c0, p.c1)
			p.set.SplitCols(p.panels[at:], panel, from.Data, from.Stride, from.Rows, from.Cols, p.work)
		})
		return
	}
	for c, at := p.c0, 0; c < p.c1; c, at = c+simd.BlockSide, at+panel {
		from := p.b.Block(c, min(c+simd.BlockSide, p.c1), p.k0, p.k1)
		p.set.SplitRows(p.panels[at:], from.Data, from.Stride, from.Rows, from.Cols, p.work)
		p.set.TurnBlocks(p.panels[at:][:panel])
	}
}

// eachBlock calls f with the position of each block of the sums and its products.
func (p *splitPart[T]) eachBlock(f func(at, k0, k1 int)) {
	for k := p.k0; k < p.k1; k += simd.BlockSide {
		f((k-p.k0)/simd.BlockSide*simd.BlockWords, k, min(k+simd.BlockSide, p.k1))
	}
}

// copyTail copies the products that are in no block, of rows r0 to r1-1 and of
// the panels.
func (p *splitPart[T]) copyTail(r0, r1 int) {
	if p.tail == 0 {
		return
	}
	first := p.blocks * simd.BlockSide
	p.tailLeft = grow(p.tailLeft, (r1-r0)*p.tail)
	for i := range p.tailLeft {
		p.tailLeft[i] = element(p.a, p.opA, r0+i/p.tail, first+i%p.tail)
	}
	if r0 > p.row0*simd.BlockSide {
		return // the panels are the same
	}
	width := p.width()
	p.tailRight = grow(p.tailRight, p.tail*width)
	for i := range p.tailRight {
		if c := p.c0 + i%width; c < p.c1 {
			p.tailRight[i] = element(p.b, p.opB, first+i/width, c)
		}
	}
}

// element returns element i, j of op(m).
func element[T matrix.Float](m matrix.Dense[T], op Op, i, j int) T {
	if op == Trans {
		i, j = j, i
	}
	return m.At(i, j)
}

// lastRows computes the last few rows, which are in no block, from column c0 on,
// for a transposed left operand.
func (s *splitJob[T]) lastRows(c0, slot int) {
	c1 := min(c0+lastCols, s.dst.Cols)
	for i := s.rows; i < s.dst.Rows; i++ {
		to := s.dst.Row(i)[c0:c1]
		if s.beta == 0 {
			clear(to)
		} else {
			s.set.ScaleAdd(to, to, s.beta, 0)
		}
		for k := range s.inner {
			if s.opB == NoTrans {
				s.set.Axpy(to, s.b.Row(k)[c0:c1], s.alpha*s.a.At(k, i))
				continue
			}
			for j := range to {
				to[j] += s.alpha * s.a.At(k, i) * s.b.At(c0+j, k)
			}
		}
	}
	if s.then != nil {
		s.then.Finish(s.rows, s.dst.Rows, c0, c1, slot)
	}
}

// release drops the operands, but keeps the scratch memory.
func (s *splitJob[T]) release() {
	s.dst, s.a, s.b = matrix.Dense[T]{}, matrix.Dense[T]{}, matrix.Dense[T]{}
	s.then = nil
}

// growWords is grow for words.
func growWords(buf []uint32, n int) []uint32 {
	if cap(buf) >= n {
		return buf[:n]
	}
	return make([]uint32, n)
}

var splitJobs = newFreeLists[splitJob[float32], splitJob[float64]]()
