package space

// The coordinates in which BAIT's bounds know the rows of a file. Bytes round a row by
// about a hundredth of its size, so that bounds fail soon once the selected rows explain
// most of it. In memory each step is then done for all rows for a while. In a file that
// would read all of it each time, so the bounds learn the rows again, as
//
//	ψ' = RAφ,  RᵀR = S,  R lower triangular
//
// whose squared norm is c. Products are what they were:
//
//	u = ⟨w, Aφ⟩ = ⟨R⁻ᵀw, ψ'⟩,   z = ⟨p, Aφ⟩ = ⟨R⁻ᵀp, ψ'⟩
//
// c and v are still computed from φ, so they are the same to the bit.
//
// Why that is safe under rounding: w' = R⁻ᵀw is computed with Rᵀw' = w + r and
// ‖r‖ ≤ d·2⁻⁵³‖R‖‖w'‖, so that r changes a product by at most d·2⁻⁵³‖R‖‖A‖‖φ‖‖w'‖, norms
// being Frobenius's. The errors of RA, of ψ', and, as ‖w‖ ≤ 2‖R‖‖w'‖, of Aᵀw and of the
// product that is bounded are at most some such terms; rounding counts sixteen. An R of
// a matrix that is not quite S is as good.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/posterior"
)

type baitFrame struct {
	team      *linalg.Team
	root      matrix.Dense[float64] // A, without rows if it is the identity
	explained matrix.Dense[float64] // I − S
	turn      matrix.Dense[float64] // R, likewise
	w, p      []float64
}

func newBAITFrame(team *linalg.Team, d int) *baitFrame {
	return &baitFrame{team: team, explained: matrix.New[float64](d, d), w: make([]float64, d), p: make([]float64, d)}
}

// rebase is called when A changes, and with it S to I.
func (f *baitFrame) rebase(root matrix.Dense[float64]) {
	f.root, f.turn = root, matrix.Dense[float64]{}
	clear(f.explained.Data)
}

// step changes S by a step, and returns R⁻ᵀw and R⁻ᵀp, which are valid until the next call.
func (f *baitFrame) step(w, p []float64) (turnedW, turnedP []float64, ok bool) {
	for i, v := range w {
		simd.For[float64]().Axpy(f.explained.Row(i), w, v)
	}
	if f.turn.Rows == 0 {
		return w, p, true
	}
	copy(f.w, w)
	copy(f.p, p)
	ok = linalg.SolveLowerVec(f.w, f.turn, linalg.Trans) == nil && linalg.SolveLowerVec(f.p, f.turn, linalg.Trans) == nil
	return f.w, f.p, ok
}

// leastShare is added to S, relative to its largest possible eigenvalue, so that it has a
// Cholesky factor.
const leastShare = 1e-10

// learn changes R to that of the present S. It returns RA, and how far ψ' may be off as a
// share of ‖φ‖.
func (f *baitFrame) learn() (root matrix.Dense[float64], rounding float64, ok bool) {
	r, ok := f.lowerRoot()
	if !ok {
		return root, 0, false
	}
	f.turn = r
	if f.root.Rows == 0 {
		return r, rootRounding(r), true
	}
	root = matrix.New[float64](r.Rows, r.Cols)
	linalg.Gemm(f.team, root, 1, r, linalg.NoTrans, f.root, linalg.NoTrans, 0)
	return root, rootRounding(r) * math.Sqrt(simd.For[float64]().SumSquares(f.root.Data)), true
}

// lowerRoot returns the lower triangular R with RᵀR = S: with the coordinates in reverse
// order, Rᵀ is the Cholesky factor.
func (f *baitFrame) lowerRoot() (matrix.Dense[float64], bool) {
	d := f.explained.Rows
	s := matrix.New[float64](d, d)
	for i := range d {
		for j := range d {
			s.Row(d - 1 - i)[d-1-j] = -f.explained.At(i, j)
		}
	}
	if !posterior.Cholesky(f.team, s, 1+leastShare) {
		return s, false
	}
	r := matrix.New[float64](d, d)
	for i := range d {
		for j := range i + 1 {
			r.Row(i)[j] = s.At(d-1-j, d-1-i)
		}
	}
	return r, true
}

// relearn updates all rows, as catchUpAll does, and has the bounds learn them in the same
// pass. It returns false if that is impossible; then it has done nothing.
func (f *memoryTotals[T]) relearn() bool {
	root, rounding, ok := f.bounds.frame.learn()
	if !ok {
		return false
	}
	f.countAll()
	if f.pool.single.Rows > 0 {
		f.learnInSingle(newSingleProduct(root), rounding)
	} else {
		f.learnInDouble(packUpper(transposed(root)), rounding)
	}
	f.forgetSteps()
	return true
}

func (f *memoryTotals[T]) learnInDouble(toPsi upperPacked[float64], rounding float64) {
	eachPart(f.space, f.pool, func(s *varianceScratch, from int, phi matrix.Dense[float64]) {
		f.catchUpRows(from, phi)
		psi := s.psi(phi, toPsi)
		for i := range psi.Rows {
			f.bounds.rows.set(from+i, psi.Row(i), rowRounding(rounding, phi.Row(i)))
		}
	})
}

func (f *memoryTotals[T]) learnInSingle(toPsi *singleProduct, rounding float64) {
	eachPart(f.space, f.pool, func(s *varianceScratch, from int, phi matrix.Dense[float64]) {
		f.catchUpRows(from, phi)
		psi := s.conditioned.Slice(0, phi.Rows)
		toPsi.psi(psi, f.pool.single.Slice(from, from+phi.Rows))
		for i := range psi.Rows {
			f.bounds.rows.set(from+i, psi.Row(i), rowRounding(rounding, phi.Row(i))+toPsi.rounding(phi.Row(i), s.product.Row(i)))
		}
	})
}
