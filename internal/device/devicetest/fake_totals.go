package devicetest

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/matrix"
)

// fakeTotals is the search of BAIT (package selection, bait.go): c and v of a row are computed
// again whenever they are requested.
type fakeTotals[T matrix.Float] struct {
	*fakeRows[T]
	sigma2, offset float64
	a, inner, s    matrix.Dense[float64] // A, which is empty for I; AMAᵀ; S
}

func (r *fakeRows[T]) Totals(sigma2, offset float64) place.DeviceTotals {
	return &fakeTotals[T]{fakeRows: r, sigma2: sigma2, offset: offset}
}

func (f *fakeTotals[T]) Prior() (largest float64) {
	zero := make([]T, f.pool.Cols)
	for row := range f.open {
		largest = math.Max(largest, squaredDistance(f.pool.Row(row), zero))
	}
	return largest
}

func (f *fakeTotals[T]) weight(row int) float64 {
	if f.weights == nil {
		return 1
	}
	return f.weights[row]
}

// psi returns a·φ of a row.
func (f *fakeTotals[T]) psi(a matrix.Dense[float64], row int) []float64 {
	phi := matrix.Converted[float64](f.pool.Slice(row, row+1)).Data
	if a.Rows == 0 {
		return phi
	}
	return times(a, phi)
}

func (f *fakeTotals[T]) Moments(m, a matrix.Dense[float64]) {
	for row := range f.open {
		psi := f.psi(a, row)
		addOuter(m, f.weight(row), psi)
	}
}

func (f *fakeTotals[T]) Summed(total float64, y []float64) float64 {
	for row := range f.open {
		total += f.weight(row) * square(inner(f.psi(matrix.Dense[float64]{}, row), y))
	}
	return total
}

func (f *fakeTotals[T]) Rebase(a, inner matrix.Dense[float64]) (largest float64) {
	f.a, f.inner, f.s = a.Clone(), inner.Clone(), matrix.New[float64](inner.Rows, inner.Rows)
	for i := range inner.Rows {
		f.s.Set(i, i, 1)
	}
	for row := range f.open {
		_, v := f.of(row)
		largest = math.Max(largest, v)
	}
	return largest
}

// of returns c and v of a row.
func (f *fakeTotals[T]) of(row int) (c, v float64) {
	psi := f.psi(f.a, row)
	w := times(f.s, psi)
	return inner(psi, w), inner(w, times(f.inner, w))
}

func (f *fakeTotals[T]) AddRow(row int) {
	psi := f.psi(f.a, row)
	w := times(f.s, psi)
	addOuter(f.s, -1/(f.sigma2+inner(psi, w)), w)
}

func (f *fakeTotals[T]) At(row int) float64 {
	c, v := f.of(row)
	return v / (c + f.offset)
}

func (f *fakeTotals[T]) Best(ahead int) (list []place.DeviceBest, err error) {
	for {
		best := place.DeviceBest{Row: -1}
		for row := range f.open {
			if !f.open[row] {
				continue
			}
			if c, v := f.of(row); best.Row < 0 || v/(c+f.offset) > best.Score {
				best = place.DeviceBest{Row: row, Score: v / (c + f.offset), Value: v, Nonzero: true}
			}
		}
		err := f.step()
		list = append(list, best)
		if err != nil || best.Row < 0 || len(list) > ahead {
			return list, err
		}
		f.Mark(best.Row, false, true)
		f.AddRow(best.Row)
	}
}

// addOuter adds weight·v·vᵀ to m.
func addOuter(m matrix.Dense[float64], weight float64, v []float64) {
	for i, x := range v {
		for j, y := range v {
			m.Row(i)[j] += weight * x * y
		}
	}
}

func times(m matrix.Dense[float64], v []float64) []float64 {
	product := make([]float64, m.Rows)
	for i := range product {
		product[i] = inner(m.Row(i), v)
	}
	return product
}

func inner(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
