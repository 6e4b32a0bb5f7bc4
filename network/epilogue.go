package network

import (
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// activate is the end of a forward product: φ, then the scale of the next layer,
// on rows that the cache still holds.
type activate struct {
	function Activation
	set      *simd.Set[Real]
	z, slope matrix.Dense[Real]
	scale    Real
	keep     bool // slope has a row for each row of z, not for each thread

	sums matrix.Dense[Real] // of the columns of z, a row for each thread; empty: not wanted
	used []bool             // the rows that have been written
}

func (a *activate) Finish(r0, r1, c0, c1, slot int) {
	for i := r0; i < r1; i++ {
		z := a.z.Row(i)[c0:c1]
		apply(a.function, a.set, z, a.slopeRow(i, c0, c1, slot))
		if a.scale != 1 {
			a.set.ScaleAdd(z, z, 0, a.scale)
		}
		if a.sums.Rows > 0 {
			a.set.Axpy(a.sums.Row(slot)[c0:c1], z, 1)
			a.used[slot] = true
		}
	}
}

func (a *activate) slopeRow(i, c0, c1, slot int) []Real {
	if a.slope.Rows == 0 {
		return nil
	}
	if !a.keep {
		i = slot
	}
	return a.slope.Row(i)[c0:c1]
}

// bend is the end of a backward product: the factor φ', which for ReLU follows from
// the sign of its output.
type bend struct {
	set              *simd.Set[Real]
	g, output, slope matrix.Dense[Real]
}

func (b *bend) Finish(r0, r1, c0, c1, _ int) {
	for i := r0; i < r1; i++ {
		g := b.g.Row(i)[c0:c1]
		b.row(g, g, i, c0, c1)
	}
}

// row writes g times φ' of row i, columns c0 to c1-1, to dst, which may be g.
func (b *bend) row(dst, g []Real, i, c0, c1 int) {
	if b.output.Rows > 0 {
		b.set.ReLUMask(dst, g, b.output.Row(i)[c0:c1])
		return
	}
	b.set.Mul(dst, g, b.slope.Row(i)[c0:c1])
}
