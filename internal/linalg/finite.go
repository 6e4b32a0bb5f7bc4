package linalg

import (
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// FirstNotFinite returns where the first number of m is that is NaN or infinite,
// row by row; found is false if there is none.
func FirstNotFinite[T matrix.Float](m matrix.Dense[T]) (row, col int, found bool) {
	m.MustBeValid("linalg.FirstNotFinite")
	set := simd.For[T]()
	for i := range m.Rows {
		r := m.Row(i)
		// A sum of finite numbers may overflow: then none of them is found below.
		if sum := set.Sum(r); sum-sum == 0 {
			continue
		}
		for j, v := range r {
			if v-v != 0 {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}
