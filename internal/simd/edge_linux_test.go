package simd

import (
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// TestPageEdges puts every slice next to an inaccessible page, at its end and at
// its start: a read outside the slice crashes the test program.
func TestPageEdges(t *testing.T) {
	t.Run("float32", testPageEdges[float32])
	t.Run("float64", testPageEdges[float64])
}

func testPageEdges[T Float](t *testing.T) {
	const most = 140
	var pages [4]page[T]
	for i := range pages {
		pages[i] = newPage[T](t)
	}
	labels, singles, doubles, bytes := newPage[int32](t), newPage[float32](t), newPage[float64](t), newPage[int8](t)
	r := rand.New(rand.NewPCG(17, 18))
	for _, s := range Available[T]() {
		for n := range most {
			for _, slice := range []func(page[T], []T) []T{page[T].atEnd, page[T].atStart} {
				for _, p := range primitives[T]() {
					args := p.randomArgs(r, n)
					for i, a := range args {
						args[i] = slice(pages[i], a)
					}
					p.run(s, args)
				}
				label := labels.atEnd(make([]int32, n))
				s.MinLabel(slice(pages[0], random[T](r, n)), label, slice(pages[1], random[T](r, n)), 1)
				s.AtMost(label, slice(pages[0], random[T](r, n)), 0.5)
				s.Widen(doubles.atEnd(make([]float64, n)), singles.atEnd(make([]float32, n)))
				s.RoundBytes(bytes.atEnd(make([]int8, n)), doubles.atEnd(make([]float64, n)), 1, 1)
				place := func(i int, x []T) []T { return slice(pages[i], x) }
				rowsAtEdge(s, r, n%37, place)
				tileAtEdge(s, r, n, place)
				blocksAtEdge(s, r, n, place)
			}
		}
	}
}

// rowsAtEdge runs the row primitives on rows with gaps between them; the last row
// ends with its slice.
func rowsAtEdge[T Float](s *Set[T], r *rand.Rand, width int, place func(i int, x []T) []T) {
	n, stride := 1+r.IntN(9), width+3
	for _, f := range rowFuncs[T]() {
		q := place(0, random[T](r, width))
		rows := place(1, random[T](r, (n-1)*stride+width))
		f(s, place(2, make([]T, n)), q, rows, stride)
	}
}

// tileAtEdge runs a micro-kernel and both ways of packing.
func tileAtEdge[T Float](s *Set[T], r *rand.Rand, n int, place func(i int, x []T) []T) {
	rows, cols, k := 1+n%s.TileRows(), 1+n%s.TileCols(), 1+r.IntN(20)
	c := newTileCase(s, r, rows, cols, k)
	s.MulTiles(place(0, c.c), c.ldc, rows, cols, c.alpha, place(1, c.a), c.rs, c.ks, place(2, c.b), k, c.beta, Ahead{})
	for _, cols := range []int{cols, s.TileCols()} {
		panel := place(0, make([]T, k*s.TileCols()))
		s.PackPanel(panel, place(1, random[T](r, (k-1)*(cols+1)+cols)), cols+1, k, cols)
		s.PackPanelT(panel, place(1, random[T](r, (cols-1)*(k+1)+k)), k+1, k, cols)
	}
}

// blocksAtEdge splits an operand in both ways and multiplies.
func blocksAtEdge[T Float](s *Set[T], r *rand.Rand, n int, place func(i int, x []T) []T) {
	if !s.Splits() {
		return
	}
	rows, cols, tail := 1+n%BlockSide, 1+r.IntN(BlockSide), 1+n%3
	if n%2 == 0 {
		rows, cols = BlockSide, BlockSide
	}
	work := place(0, make([]T, BlockWork))
	src := place(1, random[T](r, rows*cols))
	left, right := make([]uint32, BlockWords), make([]uint32, BlockWords)
	s.SplitRows(left, src, cols, rows, cols, work)
	s.SplitCols(right, BlockWords, src, cols, rows, cols, work)
	tailA, tailB := place(2, random[T](r, rows*tail)), place(3, random[T](r, tail*BlockSide))
	s.MulBlocks(place(1, make([]T, rows*cols)), cols, rows, cols, 1, left, right, tailA, tailB, tail, BlockSide, 1, work)
}

// page is memory between two inaccessible pages.
type page[E any] struct{ all []E }

func newPage[E any](t *testing.T) page[E] {
	size := os.Getpagesize()
	raw, err := syscall.Mmap(-1, 0, 3*size, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(raw) })
	inside := raw[size : 2*size]
	if err := syscall.Mprotect(inside, syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		t.Skip(err)
	}
	var e E
	return page[E]{unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(inside))), uintptr(size)/unsafe.Sizeof(e))}
}

func (p page[E]) atStart(x []E) []E {
	copy(p.all, x)
	return p.all[:len(x):len(x)]
}

func (p page[E]) atEnd(x []E) []E {
	start := len(p.all) - len(x)
	copy(p.all[start:], x)
	return p.all[start:]
}
