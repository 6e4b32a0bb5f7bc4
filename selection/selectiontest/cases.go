package selectiontest

import (
	"math"
	"math/rand/v2"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// Case is a problem with a name. Its numbers are exact in float32.
type Case struct {
	Name    string
	Problem selection.Problem[float64]
}

// Cases returns small problems with the difficulties that occur: duplicates,
// collinear rows, features that are zero, one cluster, a batch that is the whole
// pool, a pool of one row.
func Cases() []Case {
	r := rand.New(rand.NewPCG(7, 11))
	many := func(n, d int) matrix.Dense[float64] { return normal(r, n, d) }
	return []Case{
		{"normal", problem(many(120, 9), many(30, 9), 20)},
		{"wide", problem(many(60, 40), many(25, 40), 12)},
		{"many training rows", problem(many(90, 7), many(70, 7), 15)},
		{"one feature", problem(many(40, 1), many(5, 1), 6)},
		{"duplicates", problem(duplicated(many(30, 6), 3), duplicated(many(6, 6), 2), 25)},
		{"collinear", problem(collinear(r, 70, 5), collinear(r, 10, 5), 10)},
		{"some zero rows", problem(zeroed(many(50, 6), 4), zeroed(many(20, 6), 5), 20)},
		{"one cluster", problem(shifted(many(80, 5), 100), shifted(many(17, 5), 100), 12)},
		{"a cluster and outliers", problem(outliers(many(100, 4)), many(20, 4), 15)},
		{"whole pool", problem(many(24, 5), many(18, 5), 24)},
		{"one row", problem(many(1, 4), many(3, 4), 1)},
		{"two rows", problem(many(2, 4), many(1, 4), 1)},
	}
}

// ZeroCase is a problem whose features are all zero: nothing can be told apart.
func ZeroCase() Case {
	return Case{"all zero", problem(matrix.New[float64](20, 3), matrix.New[float64](4, 3), 5)}
}

// LargeCase has enough rows that work is shared between threads.
func LargeCase() Case {
	r := rand.New(rand.NewPCG(3, 5))
	return Case{"large", problem(normal(r, 40000, 6), normal(r, 100, 6), 6)}
}

func problem(pool, train matrix.Dense[float64], batch int) selection.Problem[float64] {
	return selection.Problem[float64]{Pool: pool, Train: train, Batch: batch, Seed: 1}
}

func normal(r *rand.Rand, n, d int) matrix.Dense[float64] {
	m := matrix.New[float64](n, d)
	for i := range m.Data {
		m.Data[i] = float64(float32(r.NormFloat64() / math.Sqrt(float64(d))))
	}
	return m
}

// duplicated repeats the rows.
func duplicated(m matrix.Dense[float64], times int) matrix.Dense[float64] {
	rows := matrix.New[float64](m.Rows*times, m.Cols)
	for i := range rows.Rows {
		copy(rows.Row(i), m.Row(i%m.Rows))
	}
	return rows
}

// collinear has rows along two lines.
func collinear(r *rand.Rand, n, d int) matrix.Dense[float64] {
	lines := normal(r, 2, d)
	m := matrix.New[float64](n, d)
	for i := range n {
		along := float64(float32(r.NormFloat64()))
		for j := range d {
			m.Set(i, j, float64(float32(along*lines.At(i%2, j))))
		}
	}
	return m
}

func zeroed(m matrix.Dense[float64], every int) matrix.Dense[float64] {
	for i := 0; i < m.Rows; i += every {
		clear(m.Row(i))
	}
	return m
}

func shifted(m matrix.Dense[float64], by float64) matrix.Dense[float64] {
	for i := range m.Data {
		m.Data[i] = float64(float32(m.Data[i] + by))
	}
	return m
}

func outliers(m matrix.Dense[float64]) matrix.Dense[float64] {
	for i := range m.Rows {
		for j := range m.Row(i) {
			if i%25 == 0 {
				m.Row(i)[j] *= 32
			} else {
				m.Row(i)[j] /= 64
			}
		}
	}
	return m
}
