package space

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
)

// TestSingleProduct compares ψ' in float32 with the product in float64, for a B that takes
// most of each row away, and requires the difference to be within the bound and the bound
// to be of use: it is a small part of what rounding to bytes costs.
func TestSingleProduct(t *testing.T) {
	for name, f := range hardrows.Some() {
		rows := hardrows.Matrix[float32](f, varianceRows, 150, 1)
		d := rows.Cols
		b := matrix.New[float64](d, d)
		for i := range d {
			rng.FillNormal(rng.New(uint64(i), name), b.Row(i)[:i+1])
			for j := range i + 1 {
				b.Row(i)[j] *= 1e-3 * float64(1+j) / float64(d)
			}
		}
		p, scratch := newSingleProduct(b), make([]float64, d)
		got, phi := matrix.New[float64](rows.Rows, d), matrix.Converted[float64](rows)
		p.psi(got, rows)
		for i := range rows.Rows {
			want, bytes := make([]float64, d), byteRows{width: d, k: make([]int8, d), step: make([]float64, 1),
				off: make([]float64, 1)}
			for k := range d {
				want[k] = simd.For[float64]().Dot(b.Row(k), phi.Row(i))
			}
			bytes.set(0, want, 0)
			off, bound := 0.0, p.rounding(phi.Row(i), scratch)
			for k, v := range want {
				off += (v - got.Row(i)[k]) * (v - got.Row(i)[k])
			}
			norm := math.Sqrt(simd.For[float64]().SumSquares(want))
			if off = math.Sqrt(off); !(off <= bound) && norm < math.MaxFloat32 {
				t.Fatalf("%s: row %d is off by %g, its bound is %g", name, i, off, bound)
			}
			if bound > bytes.off[0]/2 && norm > 1e-30 {
				t.Errorf("%s: the bound of row %d is %g, of bytes %g", name, i, bound, bytes.off[0])
			}
		}
	}
}
