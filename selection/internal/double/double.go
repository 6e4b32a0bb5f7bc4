// Package double computes with numbers of about 106 binary digits, each the unevaluated
// sum of two float64: for the few d³ operations on a covariance whose condition number,
// a square, is beyond float64. The rounding error of a product or a sum of two float64
// is a float64 itself (Dekker 1971, Knuth), and the second part keeps it.
package double

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
)

// Number is one such number.
type Number struct{ Hi, Lo float64 }

// TwoSum returns a + b exactly.
func TwoSum(a, b float64) Number {
	s := a + b
	t := s - a
	return Number{s, (a - (s - t)) + (b - t)}
}

// AddProduct returns x + a·b for float64 a and b.
func (x Number) AddProduct(a, b float64) Number {
	p := float64(a * b) // the conversion keeps compilers from a fused sum
	s := TwoSum(x.Hi, p)
	return Number{s.Hi, x.Lo + s.Lo + math.FMA(a, b, -p)}
}

// AddTimes returns x + a·y.
func (x Number) AddTimes(a float64, y Number) Number {
	x = x.AddProduct(a, y.Hi)
	x.Lo += float64(a * y.Lo)
	return x
}

// SubProduct returns x − y·z.
func (x Number) SubProduct(y, z Number) Number {
	x = x.AddTimes(-y.Hi, z)
	x.Lo -= float64(y.Lo * z.Hi)
	return x
}

// Normal returns x with Lo below a rounding error of Hi.
func (x Number) Normal() Number { return TwoSum(x.Hi, x.Lo) }

// Value returns x rounded to a float64.
func (x Number) Value() float64 { return x.Hi + x.Lo }

// Over returns x/y.
func (x Number) Over(y Number) Number {
	q := x.Hi / y.Hi
	return TwoSum(q, x.SubProduct(Number{Hi: q}, y).Value()/y.Hi)
}

// Root returns √x.
func (x Number) Root() Number {
	r := math.Sqrt(x.Hi)
	return TwoSum(r, x.AddProduct(-r, r).Value()/(2*r))
}

// Vector is a vector of such numbers.
type Vector struct{ Hi, Lo []float64 }

// NewVector returns n zeros.
func NewVector(n int) Vector { return Vector{make([]float64, n), make([]float64, n)} }

// At returns the i-th number.
func (v Vector) At(i int) Number { return Number{v.Hi[i], v.Lo[i]} }

// Set writes the i-th number.
func (v Vector) Set(i int, x Number) { v.Hi[i], v.Lo[i] = x.Hi, x.Lo }

// Part is a view of the numbers from from to to-1.
func (v Vector) Part(from, to int) Vector { return Vector{v.Hi[from:to], v.Lo[from:to]} }

// SubDot returns x − ⟨v, w⟩.
func (x Number) SubDot(v, w Vector) Number {
	for k := range v.Hi {
		x = x.SubProduct(v.At(k), w.At(k))
	}
	return x.Normal()
}

// Triangle is a lower triangular matrix of such numbers, row by row.
type Triangle []Vector

// NewTriangle returns zeros in n rows.
func NewTriangle(n int) Triangle {
	t := make(Triangle, n)
	for i := range t {
		t[i] = NewVector(i + 1)
	}
	return t
}

// Piece is the number of rows or columns of a triangle computed at a time.
const Piece = 8

// Factor overwrites the lower half of a symmetric matrix with its Cholesky factor,
// and returns false if it is not positive definite, or if the caller cancels.
func (t Triangle) Factor(team *linalg.Team, cancelled func() bool) bool {
	for j := range t {
		if cancelled() {
			return false
		}
		d := t[j].At(j).SubDot(t[j].Part(0, j), t[j].Part(0, j))
		if !(d.Hi > 0) || d.Hi-d.Hi != 0 {
			return false
		}
		pivot := d.Root()
		t[j].Set(j, pivot)
		team.OverPieces(len(t)-j-1, Piece, func(_, from, to int) {
			for _, row := range t[j+1:][from:to] {
				row.Set(j, row.At(j).SubDot(row.Part(0, j), t[j].Part(0, j)).Over(pivot))
			}
		})
	}
	return true
}

// Inverse calls set with each number of the inverse of a triangle, from several
// threads, each of which computes whole columns.
func (t Triangle) Inverse(team *linalg.Team, set func(i, j int, x Number)) {
	team.OverPieces(len(t), Piece, func(_, from, to int) {
		x := NewVector(len(t))
		for j := from; j < to; j++ {
			x.Set(j, Number{Hi: 1}.Over(t[j].At(j)))
			set(j, j, x.At(j))
			for i := j + 1; i < len(t); i++ {
				x.Set(i, Number{}.SubDot(t[i].Part(j, i), x.Part(j, i)).Over(t[i].At(i)))
				set(i, j, x.At(i))
			}
		}
	})
}
