package selection

// Numbers of about 106 binary digits, each the unevaluated sum of two float64:
// for the few d³ operations on a covariance whose condition number, a square, is
// beyond float64. The rounding error of a product or a sum of two float64 is a float64
// itself (Dekker 1971, Knuth), and the second part keeps it.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
)

type double struct{ hi, lo float64 }

// twoSum returns a + b exactly.
func twoSum(a, b float64) double {
	s := a + b
	t := s - a
	return double{s, (a - (s - t)) + (b - t)}
}

// addProduct returns x + a·b for float64 a and b.
func (x double) addProduct(a, b float64) double {
	p := float64(a * b) // the conversion keeps compilers from a fused sum
	s := twoSum(x.hi, p)
	return double{s.hi, x.lo + s.lo + math.FMA(a, b, -p)}
}

// addTimes returns x + a·y.
func (x double) addTimes(a float64, y double) double {
	x = x.addProduct(a, y.hi)
	x.lo += float64(a * y.lo)
	return x
}

// subProduct returns x − y·z.
func (x double) subProduct(y, z double) double {
	x = x.addTimes(-y.hi, z)
	x.lo -= float64(y.lo * z.hi)
	return x
}

// normal returns x with lo below a rounding error of hi.
func (x double) normal() double { return twoSum(x.hi, x.lo) }

func (x double) value() float64 { return x.hi + x.lo }

// over returns x/y.
func (x double) over(y double) double {
	q := x.hi / y.hi
	return twoSum(q, x.subProduct(double{hi: q}, y).value()/y.hi)
}

// root returns √x.
func (x double) root() double {
	r := math.Sqrt(x.hi)
	return twoSum(r, x.addProduct(-r, r).value()/(2*r))
}

// doubles is a vector of such numbers.
type doubles struct{ hi, lo []float64 }

func newDoubles(n int) doubles { return doubles{make([]float64, n), make([]float64, n)} }

func (v doubles) at(i int) double { return double{v.hi[i], v.lo[i]} }

func (v doubles) set(i int, x double) { v.hi[i], v.lo[i] = x.hi, x.lo }

func (v doubles) part(from, to int) doubles { return doubles{v.hi[from:to], v.lo[from:to]} }

// subDot returns x − ⟨v, w⟩.
func (x double) subDot(v, w doubles) double {
	for k := range v.hi {
		x = x.subProduct(v.at(k), w.at(k))
	}
	return x.normal()
}

// triangle is a lower triangular matrix of such numbers, row by row.
type triangle []doubles

func newTriangle(n int) triangle {
	t := make(triangle, n)
	for i := range t {
		t[i] = newDoubles(i + 1)
	}
	return t
}

// trianglePiece is the number of rows or columns of a triangle computed at a time.
const trianglePiece = 8

// factor overwrites the lower half of a symmetric matrix with its Cholesky factor,
// and returns false if it is not positive definite, or if the caller cancels.
func (t triangle) factor(team *linalg.Team, cancelled func() bool) bool {
	for j := range t {
		if cancelled() {
			return false
		}
		d := t[j].at(j).subDot(t[j].part(0, j), t[j].part(0, j))
		if !(d.hi > 0) || d.hi-d.hi != 0 {
			return false
		}
		pivot := d.root()
		t[j].set(j, pivot)
		team.OverPieces(len(t)-j-1, trianglePiece, func(_, from, to int) {
			for _, row := range t[j+1:][from:to] {
				row.set(j, row.at(j).subDot(row.part(0, j), t[j].part(0, j)).over(pivot))
			}
		})
	}
	return true
}

// inverse calls set with each number of the inverse of a triangle, from several
// threads, each of which computes whole columns.
func (t triangle) inverse(team *linalg.Team, set func(i, j int, x double)) {
	team.OverPieces(len(t), trianglePiece, func(_, from, to int) {
		x := newDoubles(len(t))
		for j := from; j < to; j++ {
			x.set(j, double{hi: 1}.over(t[j].at(j)))
			set(j, j, x.at(j))
			for i := j + 1; i < len(t); i++ {
				x.set(i, double{}.subDot(t[i].part(j, i), x.part(j, i)).over(t[i].at(i)))
				set(i, j, x.at(i))
			}
		}
	})
}
