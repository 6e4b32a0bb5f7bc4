package linalg

// Householder's reduction of a symmetric matrix to tridiagonal form,
//
//	A = Q·T·Qᵀ,  Q = H[0]·H[1]⋯,  H[k] = I − tau[k]·v[k]·v[k]ᵀ,
//
// where v[k] is zero up to element k and one at k+1. One reflection turns the
// trailing matrix into A − v·wᵀ − w·vᵀ with
//
//	w = tau·p − (tau²/2)·(p·v)·v,  p = A·v.
//
// The trailing matrix is updated only after a block of reflections, by one
// product; in between, p is corrected for the pending updates. So half of the
// arithmetic is in products, and the other half reads the trailing matrix once per
// reflection.

import (
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

const (
	// reduceBlock is the number of reflections between updates.
	reduceBlock = 32
	// productPiece is the number of rows that a thread multiplies at a time.
	productPiece = 64
	// smallProduct is the number of rows below which threads do not pay off.
	smallProduct = 192
)

// reduce overwrites m with the reflectors and fills tau, d and e.
func (j *eigenJob[T]) reduce() {
	j.w = scratchMatrix(j.w, reduceBlock, j.n)
	j.dots = grow(j.dots, 2*reduceBlock)
	for k0 := 0; k0 < j.n; k0 += reduceBlock {
		k1 := min(k0+reduceBlock, j.n)
		for k := k0; k < k1; k++ {
			j.reduceColumn(k0, k)
		}
		if k1 < j.n {
			j.updateRest(k0, k1)
		}
	}
}

// reduceColumn finds reflection k of the block that begins with k0. By symmetry
// it works on row k.
func (j *eigenJob[T]) reduceColumn(k0, k int) {
	row := j.m.Row(k)[k:]
	for i := k0; i < k; i++ {
		v, w := j.m.Row(i)[k:], j.w.Row(i - k0)[k:]
		j.set.Axpy(row, w, -v[0])
		j.set.Axpy(row, v, -w[0])
	}
	j.d[k] = float64(row[0])
	if k+1 == j.n {
		j.tau[k], j.e[k] = 0, 0
		return
	}
	v := row[1:]
	j.tau[k], j.e[k] = reflector(j.set.SumSquares(v[1:]), v)
	w := j.w.Row(k - k0)[k+1:]
	if j.tau[k] == 0 {
		clear(w)
		return
	}
	j.multiplyRest(k0, k, v)
	tau, p := j.tau[k], j.product[:len(v)]
	half := tau * tau * j.set.Dot(p, v) / 2
	copy(w, p)
	j.set.ScaleAdd(w, v, tau, -half)
}

// reflector overwrites x with the vector v of a reflection that maps x to a
// multiple of the first unit vector, and returns its tau and that multiple. rest
// is the sum of squares of all elements but the first.
func reflector[T matrix.Float](rest T, x []T) (tau T, multiple float64) {
	first := float64(x[0])
	x[0] = 1
	if rest == 0 || float64(rest)+first*first < vanishing[T]() {
		clear(x[1:])
		return 0, first
	}
	multiple = -math.Copysign(math.Sqrt(first*first+float64(rest)), first)
	scaleRow(x[1:], T(1/(first-multiple)))
	return T((multiple - first) / multiple), multiple
}

// vanishing is the bound below which a sum of squares has lost digits. The matrix
// is scaled to 1, so a row that small is as good as zero.
func vanishing[T matrix.Float]() float64 {
	if sum := math.SmallestNonzeroFloat64; T(sum) == 0 {
		return 0x1p-100 // float32
	}
	return 0x1p-900
}

// multiplyRest writes p = A·v to product, for the trailing matrix below k after
// the reflections k0 to k-1.
func (j *eigenJob[T]) multiplyRest(k0, k int, v []T) {
	j.vector, j.task = v, multiplyTask
	if parts := ceilDiv(len(v), productPiece); len(v) >= smallProduct {
		j.team.Run(parts, j)
	} else {
		for part := range parts {
			j.Do(part, 0)
		}
	}
	j.vector = nil
	before := k - k0
	if before == 0 {
		return
	}
	p := j.product[:len(v)]
	vs, ws := j.m.Block(k0, k, k+1, j.n), j.w.Block(0, before, k+1, j.n)
	dotV, dotW := j.dots[:before], j.dots[reduceBlock:][:before]
	j.set.DotRows(dotV, v, vs.Data, vs.Stride)
	j.set.DotRows(dotW, v, ws.Data, ws.Stride)
	for i := range before {
		j.set.Axpy(p, vs.Row(i), -dotW[i])
		j.set.Axpy(p, ws.Row(i), -dotV[i])
	}
}

// multiplyPiece multiplies one piece of the trailing rows of m by the reflector.
func (j *eigenJob[T]) multiplyPiece(part int) {
	first := j.n - len(j.vector)
	from := part * productPiece
	to := min(from+productPiece, len(j.vector))
	rows := j.m.Block(first+from, first+to, first, j.n)
	j.set.DotRows(j.product[from:to], j.vector, rows.Data, rows.Stride)
}

// updateRest subtracts v·wᵀ + w·vᵀ for all reflections of a block from the
// trailing matrix: with the vectors as rows of V and W, [V; W]ᵀ·[W; V].
func (j *eigenJob[T]) updateRest(k0, k1 int) {
	count, rest := k1-k0, j.n-k1
	j.stack = scratchMatrix(j.stack, 3*count, rest)
	for i := range count {
		v, w := j.m.Row(k0 + i)[k1:], j.w.Row(i)[k1:]
		copy(j.stack.Row(i), v)
		copy(j.stack.Row(count+i), w)
		copy(j.stack.Row(2*count+i), v)
	}
	m := j.m.Block(k1, j.n, k1, j.n)
	multiply(j.team, m, -1, j.stack.Slice(0, 2*count), Trans, j.stack.Slice(count, 3*count), NoTrans, 1, lowerOnly, nil)
	MirrorLower(m)
}

// accumulateBlock is the number of reflections that are applied at once.
const accumulateBlock = 64

// accumulate writes Qᵀ to z. A block of reflections is a product
//
//	H[k0]⋯H[k1-1] = I − Vᵀ·T·V
//
// with the vectors as rows of V and T upper triangular. The blocks are applied
// from the last to the first, while most of z is still the identity.
func (j *eigenJob[T]) accumulate() {
	for i := range j.n {
		row := j.z.Row(i)
		clear(row)
		row[i] = 1
	}
	blocks := ceilDiv(j.n-1, accumulateBlock) // the last row has no reflection
	for b := blocks - 1; b >= 0; b-- {
		k0 := b * accumulateBlock
		j.applyBlock(k0, min(k0+accumulateBlock, j.n-1))
	}
}

// applyBlock overwrites z with z·(I − Vᵀ·Tᵀ·V), where that changes it.
func (j *eigenJob[T]) applyBlock(k0, k1 int) {
	count, rest := k1-k0, j.n-k0-1
	j.stack = scratchMatrix(j.stack, 2*count+rest, max(rest, count))
	v, tv := j.stack.Block(0, count, 0, rest), j.stack.Block(count, 2*count, 0, rest)
	zv := j.stack.Block(2*count, 2*count+rest, 0, count)
	for i := range count {
		row := v.Row(i)
		clear(row[:i])
		copy(row[i:], j.m.Row(k0 + i)[k0+1+i:])
	}
	t := j.blockFactor(v, j.tau[k0:k1])
	z := j.z.Block(k0+1, j.n, k0+1, j.n)
	multiply(j.team, tv, 1, t, Trans, v, NoTrans, 0, full, nil)
	multiply(j.team, zv, 1, z, NoTrans, v, Trans, 0, full, nil)
	multiply(j.team, z, -1, zv, NoTrans, tv, NoTrans, 1, full, nil)
}

// blockFactor returns the T of a block of reflections, column by column:
//
//	T[i][i] = tau[i],  T[:i][i] = −tau[i]·T[:i][:i]·(V·v[i])[:i]
func (j *eigenJob[T]) blockFactor(v matrix.Dense[T], tau []T) matrix.Dense[T] {
	n := v.Rows
	j.t, j.gram = grow(j.t, n*n), grow(j.gram, n*n)
	t, gram := matrix.View(n, n, j.t), matrix.View(n, n, j.gram)
	multiply(j.team, gram, 1, v, NoTrans, v, Trans, 0, lowerOnly, nil)
	for i := range n {
		clear(t.Row(i))
		products := gram.Row(i)[:i]
		for k := range i {
			t.Set(k, i, -tau[i]*j.set.Dot(t.Row(k)[k:i], products[k:]))
		}
		t.Set(i, i, tau[i])
	}
	return t
}
