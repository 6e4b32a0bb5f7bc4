package transform

import (
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Seeded returns a source that is named by the seed, the purpose of the numbers,
// and which of several sources it is. The same name gives the same numbers,
// different names give independent ones.
func Seeded(seed uint64, purpose string, index ...uint64) kernel.Normals {
	return rng.New(seed, purpose, index...)
}

// draw returns a matrix of normal numbers, drawn row by row, times a factor.
func draw[T matrix.Float](from kernel.Normals, rows, cols int, factor float64) matrix.Dense[T] {
	if from == nil {
		panic(rng.NilError{Op: "transform"})
	}
	m := matrix.New[T](rows, cols)
	for i := range m.Data {
		m.Data[i] = T(from.NormFloat64() * factor)
	}
	return m
}
