package kernels

import (
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Spectrum is a stationary kernel as an average over waves (Bochner's theorem):
//
//	k(x, x') = Variance·E[cos ⟨ω, x − x'⟩],   ω_j = Over_j·t_j
//
// where t has the multivariate Student t distribution, which is the standard normal one
// for infinitely many degrees of freedom. A Matérn kernel of order ν has 2ν of them.
type Spectrum struct {
	Variance float64
	Over     []float64 // 1/ℓ_j of each input
	Freedom  float64   // degrees of freedom, a whole number or +Inf
}

// SpectraOf returns the stationary kernels whose sum k is, and false if k is anything
// else.
func SpectraOf[T matrix.Float](k kernel.Kernel[T]) ([]Spectrum, bool) {
	e, f := Decompose(k)
	return spectra(f, unitsOf(e), 1)
}

// unitsOf returns the factors by which an embedding multiplies the inputs in each of its
// parts, and nil for a part that holds anything else.
func unitsOf[T matrix.Float](e Embedding[T]) (units [][]float64) {
	switch e := e.(type) {
	case identity[T]:
		ones := make([]float64, e.width)
		for j := range ones {
			ones[j] = 1
		}
		return [][]float64{ones}
	case *stretched[T]:
		return [][]float64{matrix.Converted[float64](matrix.View(1, len(e.over), e.over)).Row(0)}
	case joined[T]:
		for _, one := range e.of {
			units = append(units, unitsOf(one)...)
		}
		return units
	}
	return make([][]float64, len(e.Widths()))
}

// spectra returns those of factor times a form.
func spectra[T matrix.Float](f Form[T], units [][]float64, factor float64) (all []Spectrum, ok bool) {
	switch f := f.(type) {
	case radial[T]:
		if units[0] == nil {
			return nil, false
		}
		one := Spectrum{Variance: factor * float64(f.atZero), Over: make([]float64, len(units[0])), Freedom: f.freedom}
		for j, unit := range units[0] {
			one.Over[j] = unit * f.rate
		}
		return []Spectrum{one}, true
	case Scaled[T]:
		return spectra(f.Of, units, factor*f.Factor)
	case *Sum[T]:
		for _, term := range f.Forms {
			more, ok := spectra(term, units[:term.Parts()], factor)
			if !ok {
				return nil, false
			}
			all, units = append(all, more...), units[term.Parts():]
		}
		return all, true
	}
	return nil, false
}
