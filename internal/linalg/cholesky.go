package linalg

// Cholesky factorisation A = L·Lᵀ, L lower triangular with a positive diagonal.
//
// Cut in two, A = [A11 A21ᵀ; A21 A22]:
//
//	L11·L11ᵀ = A11,  L21 = A21·L11^-T,  L22·L22ᵀ = A22 − L21·L21ᵀ
//
// so the work is in a solve and a product with large inner dimensions.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// Cholesky overwrites the symmetric m with its factor L. Only the lower triangle
// of m is read; the strict upper triangle is zero afterwards. If a pivot is not
// positive or not finite, Cholesky returns a *PivotError with the pivot and leaves
// m partly factorised.
func Cholesky[T matrix.Float](team *Team, m matrix.Dense[T]) error {
	const op = "linalg.Cholesky"
	mustBeSquare(op, m)
	if p := factor(team, m); p.failed {
		return p.err(op)
	}
	clearUpper(team, m)
	return nil
}

// Rescue reports what CholeskyRescue did to a matrix.
type Rescue struct {
	Jitter float64 // total added to each diagonal element
	Tries  int     // how many times jitter was added; 0 if the matrix needed none
}

const maxRescues = 15

// CholeskyRescue writes the Cholesky factor of the symmetric a to dst, with zeros
// in the strict upper triangle. Only the lower triangle of a is read.
//
// If a is not positive definite in floating point, it adds
//
//	eps·I,  eps = 1e-5·tr(a)/n + 1e-30
//
// and tries again, then adds twice as much on top of that and so on, at most 15
// times. A matrix that is still indefinite, or that contains NaN or infinity, is a
// *PivotError with the last pivot.
func CholeskyRescue[T matrix.Float](team *Team, dst, a matrix.Dense[T]) (Rescue, error) {
	const op = "linalg.CholeskyRescue"
	mustBeSquare(op, a)
	dst.MustBeValid(op + ", destination")
	matrix.MustMatch(op+", destination", dst.Shape(), a.Shape())
	var done Rescue
	eps := 1e-5*trace(a)/float64(max(a.Rows, 1)) + 1e-30
	for {
		copyLower(team, dst, a, T(done.Jitter))
		p := factor(team, dst)
		if !p.failed {
			clearUpper(team, dst)
			return done, nil
		}
		if done.Tries == maxRescues || !isFinite(p.value) {
			return done, p.err(op)
		}
		done.Jitter += eps
		done.Tries++
		eps *= 2
	}
}

// pivot is the outcome of a factorisation: where it failed, if it did.
type pivot struct {
	failed bool
	index  int
	value  float64
}

func (p pivot) err(op string) error {
	return &PivotError{Op: op, Index: p.index, Value: p.value}
}

// factorBase is the size up to which factor works column by column.
const factorBase = 48

// factor overwrites the lower triangle of m with L, and parts of the upper
// triangle with undefined values.
func factor[T matrix.Float](team *Team, m matrix.Dense[T]) pivot {
	n := m.Rows
	if n <= factorBase {
		return factorSmall(m)
	}
	h := half(n)
	m11, m21, m22 := m.Block(0, h, 0, h), m.Block(h, n, 0, h), m.Block(h, n, h, n)
	if p := factor(team, m11); p.failed {
		return p
	}
	solve(team, m21, Right, m11, Trans)
	multiply(team, m22, -1, m21, NoTrans, m21, Trans, 1, lowerOnly, nil)
	p := factor(team, m22)
	p.index += h
	return p
}

// factorSmall computes one column of L after another:
//
//	l[j][j] = √(a[j][j] − Σ_k l[j][k]²)
//	l[i][j] = (a[i][j] − Σ_k l[i][k]·l[j][k]) / l[j][j]
func factorSmall[T matrix.Float](m matrix.Dense[T]) pivot {
	set := simd.For[T]()
	buf := borrow[T](m.Rows)
	defer giveBack(buf)
	for j := range m.Rows {
		rest := m.Slice(j, m.Rows)
		sums := buf.data[:rest.Rows]
		set.DotRows(sums, rest.Data[:j], rest.Data, rest.Stride)
		d := rest.Data[j] - sums[0]
		if !(d > 0) || !isFinite(float64(d)) {
			return pivot{true, j, float64(d)}
		}
		root := T(math.Sqrt(float64(d)))
		rest.Data[j] = root
		for i := 1; i < rest.Rows; i++ {
			at := &rest.Data[i*rest.Stride+j]
			*at = (*at - sums[i]) / root
		}
	}
	return pivot{}
}

func trace[T matrix.Float](m matrix.Dense[T]) float64 {
	sum := 0.0
	for i := range m.Rows {
		sum += float64(m.Row(i)[i])
	}
	return sum
}

func isFinite(v float64) bool { return v-v == 0 }
