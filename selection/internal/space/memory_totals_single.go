package space

// ψ' of rows in float32, for BAIT's bounds alone. They round it to bytes, so half as many
// digits are enough, and the product takes less than half the time. With B = RA
// (memory_totals_frame.go), its columns B_j, and u = 2⁻²⁴, a sum of d rounded products of rounded
// numbers is off by at most
//
//	(d+8)·u·‖|B||φ|‖ ≤ (d+8)·u·Σ_j ‖B_j‖|φ_j| ≤ (d+8)·u·√d·‖(‖B_1‖φ_1, …, ‖B_d‖φ_d)‖.
//
// B_j is short where the selected rows explain a feature. Those are features that are
// large: ‖B‖‖φ‖ would be many times as much. Numbers below the range of float32 are off by
// less than 2⁻¹⁴⁹ each. A ψ' beyond that range becomes infinite, and so does the bound.

import (
	"math"
	"sync"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// singleProduct computes ψ' = Bφ.
type singleProduct struct {
	packed  upperPacked[float32]
	lengths []float64 // (d+8)·u·√d·‖B_j‖, and what underflow adds to it
	scratch sync.Pool // of *matrix.Dense[float32]
}

func newSingleProduct(b matrix.Dense[float64]) *singleProduct {
	turned := transposed(b)
	p := &singleProduct{packed: packUpper(matrix.Converted[float32](turned)), lengths: make([]float64, b.Cols)}
	d := float64(b.Cols)
	for j := range p.lengths {
		length := math.Sqrt(simd.For[float64]().SumSquares(turned.Row(j)))
		p.lengths[j] = (d+8)*math.Ldexp(1, -24)*math.Sqrt(d)*length + d*math.SmallestNonzeroFloat32
	}
	p.scratch.New = func() any {
		m := matrix.New[float32](varianceRows, b.Rows+rowGap).Block(0, varianceRows, 0, b.Rows)
		return &m
	}
	return p
}

// psi writes ψ' of rows to dst.
func (p *singleProduct) psi(dst matrix.Dense[float64], rows matrix.Dense[float32]) {
	scratch := p.scratch.Get().(*matrix.Dense[float32])
	defer p.scratch.Put(scratch)
	psi := scratch.Slice(0, rows.Rows)
	p.packed.mul(psi, rows)
	widen(dst, psi)
}

// rounding is how far ψ' of a row φ may be off. It writes to scratch.
func (p *singleProduct) rounding(phi, scratch []float64) float64 {
	set := simd.For[float64]()
	set.Mul(scratch, phi, p.lengths)
	d := float64(len(phi))
	return math.Sqrt(set.SumSquares(scratch)) + d*d*math.SmallestNonzeroFloat32
}
