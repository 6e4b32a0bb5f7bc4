//go:build linux && (amd64 || arm64)

package cuda

import (
	"unsafe"
)

// rough are the directions of rows in 16 bits, which rule out most rows of a step at a half or a
// quarter of the bytes: Rough of selection.cu.
type rough struct {
	words, scale, off, norm pointer
	ld                      int64
	rounding                float32
	_                       int32
}

// bytes is what a block holds in shared memory of a vector that rows are multiplied with.
func (r *rough) bytes() int { return 8 * int(r.ld) }

// roughen makes rough rows. There are none if they would take more than a quarter of the room
// that is left, which others may need: then every row is read, with the same result.
func (r *rows[T]) roughen() rough {
	words := (r.ld/2 + 3) / 4 * 4
	products := 4 * min(r.n, sumBlock) * (r.pool.Centres + 128) // what addMany will need
	if need := r.n * (4*words + 16); r.ld*sizeOf[T]()+8*words > mostShared ||
		int64(need) > (r.card.Room()-int64(products))/4 {
		return rough{}
	}
	// A lane adds ld/32 products in float32, and then there are five sums of lanes; half of
	// the margin is for the rest.
	to := rough{words: r.alloc(4 * r.n * words), scale: r.alloc(4 * r.n), off: r.alloc(4 * r.n),
		norm: r.alloc(8 * r.n), ld: int64(words),
		rounding: float32(float64(r.ld/32+8) / (1 << 23))}
	r.launch("norms_"+r.kind, r.pass(0), r.x, r.ld, r.n, int32(1), to.norm)
	r.launch("rough_rows_"+r.kind, r.warps(r.n), r.x, r.ld, r.n, unsafe.Pointer(&to))
	return to
}

// groups is the grid of kernels in which a warp decides on a few rows at a time.
func (r *rows[T]) groups(shared int) grid {
	const group = 8 // as kGroup
	return grid{x: max(1, min(ceilDiv(r.n, passThreads/32*group), 4*r.card.processors)),
		threads: passThreads, shared: shared}
}

// decisions is the grid of kernels in which a thread decides on a row.
func (r *rows[T]) decisions(shared int) grid {
	g := r.over(r.n, passThreads)
	if shared <= mostShared {
		g.shared = shared
	}
	return g
}

// Check compares the size of the structure with that of the kernels.
var _ = [1]struct{}{}[unsafe.Sizeof(rough{})-48]
