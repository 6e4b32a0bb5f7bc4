package transform

import (
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// Normals is a source of independent standard normal numbers. A transformation
// draws from it while it is made, and never again. Nil is refused with the panic
// that a nil random stream causes.
type Normals interface{ NormFloat64() float64 }

// Seeded returns the source with a name: the seed, what the numbers are for, and
// which one of several it is. The same name gives the same numbers, other names
// independent ones.
func Seeded(seed uint64, purpose string, index ...uint64) Normals {
	return rng.New(seed, purpose, index...)
}

// draw returns a matrix of normal numbers times a factor, drawn row by row.
func draw[T matrix.Float](from Normals, rows, cols int, factor float64) matrix.Dense[T] {
	if from == nil {
		panic(rng.NilError{Op: "transform"})
	}
	m := matrix.New[T](rows, cols)
	for i := range m.Data {
		m.Data[i] = T(from.NormFloat64() * factor)
	}
	return m
}
