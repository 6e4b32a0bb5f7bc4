// Package kerneltest holds the tests that every kernel must pass, whatever it is
// made of: see Conform. It is for test files only.
package kerneltest

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Conform checks that k keeps the promises of kernel.Kernel on the given rows, of
// which there should be a few dozen: it is symmetric and positive semi-definite;
// its diagonal is that of the cross matrix; the features of a kernel.FeatureMap
// are those of the kernel; results do not depend on the size of blocks and are
// the same to the bit on any number of threads; rows of the wrong width and
// numbers that are not finite are errors that name them; prepared rows give the
// same kernel; the widths of its parts are safe to append to. tol bounds rounding
// differences, relative to the largest element.
func Conform[T matrix.Float](t testing.TB, k kernel.Kernel[T], rows matrix.Dense[T], tol float64) {
	t.Helper()
	c := check[T]{context.Background(), t, k, rows, tol}
	gram := c.cross(rows, rows)
	c.symmetric(gram)
	c.positive(gram)
	c.diagonal(gram)
	c.blocks(gram)
	c.threads(gram)
	c.prepared(gram)
	c.widths()
	c.badRows()
	if m, ok := k.(kernel.FeatureMap[T]); ok {
		c.features(m, gram)
	}
}

// check holds what the steps of Conform share.
type check[T matrix.Float] struct {
	ctx  context.Context // carries the threads
	t    testing.TB
	k    kernel.Kernel[T]
	rows matrix.Dense[T]
	tol  float64
}

func (c check[T]) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c check[T]) cross(a, b matrix.Dense[T]) matrix.Dense[T] {
	c.t.Helper()
	dst := poisoned[T](a.Rows, b.Rows)
	c.must(c.k.Cross(c.ctx, dst, a, b))
	return dst
}

func (c check[T]) diag(rows matrix.Dense[T]) []T {
	c.t.Helper()
	dst := poisoned[T](1, rows.Rows).Row(0)
	c.must(c.k.Diag(c.ctx, dst, rows))
	return dst
}

// poisoned returns a matrix of NaN, which exposes code that reads a destination
// or does not write all of it.
func poisoned[T matrix.Float](rows, cols int) matrix.Dense[T] {
	m := matrix.New[T](rows, cols)
	for i := range m.Data {
		m.Data[i] = T(math.NaN())
	}
	return m
}

func (c check[T]) symmetric(gram matrix.Dense[T]) {
	c.t.Helper()
	transposed := matrix.New[T](gram.Cols, gram.Rows)
	for i := range gram.Rows {
		for j, v := range gram.Row(i) {
			transposed.Set(j, i, v)
		}
	}
	c.near("the kernel is not symmetric", transposed.Data, gram.Data)
}

// positive tries a Cholesky factorisation of the kernel matrix plus as much of
// the identity as rounding may require.
func (c check[T]) positive(gram matrix.Dense[T]) {
	c.t.Helper()
	lifted, lift := matrix.Converted[float64](gram), c.tol*largest(gram.Data)*float64(gram.Rows)
	for i := range lifted.Rows {
		lifted.Row(i)[i] += max(lift, math.SmallestNonzeroFloat64)
	}
	if err := linalg.Cholesky(linalg.TeamOf(c.ctx), lifted); err != nil {
		c.t.Errorf("the kernel is not positive semi-definite: %v, after adding %.3g to the diagonal", err, lift)
	}
}

func (c check[T]) diagonal(gram matrix.Dense[T]) {
	c.t.Helper()
	want := make([]T, gram.Rows)
	for i := range want {
		want[i] = gram.At(i, i)
	}
	c.near("the diagonal differs from that of the cross matrix", c.diag(c.rows), want)
}

// blocks compares calls on all rows with calls on some. Calls on a single row may
// round differently, calls on two or more may not.
func (c check[T]) blocks(gram matrix.Dense[T]) {
	c.t.Helper()
	n := c.rows.Rows
	diag := c.diag(c.rows)
	for _, cut := range []int{2, n / 3, n - 2} {
		below := c.cross(c.rows.Slice(0, cut), c.rows.Slice(cut, n))
		c.same("Cross in blocks", below, gram.Block(0, cut, cut, n))
		above := c.cross(c.rows.Slice(cut, n), c.rows.Slice(0, cut))
		c.same("Cross in blocks", above, gram.Block(cut, n, 0, cut))
		c.same("Diag in blocks", row(c.diag(c.rows.Slice(cut, n))), row(diag[cut:]))
	}
	one := c.cross(c.rows.Slice(1, 2), c.rows)
	c.near("Cross of one row", one.Data, gram.Row(1))
	c.cross(c.rows.Slice(0, 0), c.rows)
	c.cross(c.rows, c.rows.Slice(0, 0))
	c.diag(c.rows.Slice(0, 0))
	c.large(gram)
}

// large repeats the rows until they exceed a block.
func (c check[T]) large(gram matrix.Dense[T]) {
	c.t.Helper()
	n := c.rows.Rows
	index := make([]int, kernel.BlockRows+n)
	for i := range index {
		index[i] = i % n
	}
	many := c.rows.SelectRows(index)
	got := c.cross(c.rows, many)
	diag, all := c.diag(c.rows), c.diag(many)
	for j, i := range index {
		if all[j] != diag[i] {
			c.t.Fatalf("Diag of row %d is %v among many rows, %v among few", j, all[j], diag[i])
		}
		for r := range n {
			if got.At(r, j) != gram.At(r, i) {
				c.t.Fatalf("Cross of rows %d and %d is %v among many rows, %v among few", r, j, got.At(r, j), gram.At(r, i))
			}
		}
	}
	c.same("Cross of many rows with few", c.cross(many, c.rows).Slice(0, n), gram)
}

func (c check[T]) threads(gram matrix.Dense[T]) {
	c.t.Helper()
	diag := c.diag(c.rows)
	for threads := range 3 {
		c.ctx = linalg.WithThreads(context.Background(), threads+1)
		c.same("Cross on another number of threads", c.cross(c.rows, c.rows), gram)
		c.same("Diag on another number of threads", row(c.diag(c.rows)), row(diag))
	}
}

func (c check[T]) prepared(gram matrix.Dense[T]) {
	c.t.Helper()
	n := c.rows.Rows
	k, sets, err := kernels.Prepare(c.ctx, c.k, c.rows.Slice(0, n/2), c.rows.Slice(n/2, n))
	c.must(err)
	got := poisoned[T](n/2, n-n/2)
	c.must(k.Cross(c.ctx, got, sets[0], sets[1]))
	want := gram.Block(0, n/2, n/2, n).Clone()
	c.near("prepared rows give a different kernel", got.Data, want.Data)
	if k.Inputs() != sets[0].Cols {
		c.t.Errorf("prepared rows have %d columns, but their kernel takes %d", sets[0].Cols, k.Inputs())
	}
}

// widths appends to the list of widths twice, as two transformations of the
// kernel with parts of their own do.
func (c check[T]) widths() {
	c.t.Helper()
	e, _ := kernels.Decompose(c.k)
	first := append(e.Widths(), 1)
	second := append(e.Widths(), 2)
	if first[len(first)-1] == second[len(second)-1] {
		c.t.Errorf("Widths returns a list with spare capacity, which two callers that append to it share")
	}
}

// Apart checks that two kernels made from one, such as two posteriors of one
// ensemble, do not interfere with each other: it prepares both before it uses
// either, and expects each to be the same kernel as before. The arguments are
// those of Conform.
func Apart[T matrix.Float](t testing.TB, first, second kernel.Kernel[T], rows matrix.Dense[T], tol float64) {
	t.Helper()
	type ready struct {
		check[T]
		kernel kernel.Kernel[T]
		rows   matrix.Dense[T]
	}
	var both []ready
	for _, k := range []kernel.Kernel[T]{first, second} {
		c := check[T]{context.Background(), t, k, rows, tol}
		prepared, sets, err := kernels.Prepare(c.ctx, k, rows)
		c.must(err)
		both = append(both, ready{c, prepared, sets[0]})
	}
	for _, one := range both {
		got := poisoned[T](rows.Rows, rows.Rows)
		one.must(one.kernel.Cross(one.ctx, got, one.rows, one.rows))
		one.near("of two kernels made from one, prepared rows give a different kernel", got.Data, one.cross(rows, rows).Data)
	}
}

// badRows passes rows of the wrong width, and numbers that are not finite at the
// start and the end of a block.
func (c check[T]) badRows() {
	c.t.Helper()
	var width *kernel.WidthError
	wrong := matrix.New[T](2, c.k.Inputs()+1)
	if err := c.k.Diag(c.ctx, make([]T, 2), wrong); !errors.As(err, &width) || width.Got != wrong.Cols {
		c.t.Errorf("rows of the wrong width: Diag returns error %v", err)
	}
	if err := c.k.Cross(c.ctx, matrix.New[T](2, 2), wrong, wrong); !errors.As(err, &width) {
		c.t.Errorf("rows of the wrong width: Cross returns error %v", err)
	}
	index := make([]int, kernel.BlockRows+2)
	for bad, value := range map[int]float64{
		0:                    math.NaN(),
		kernel.BlockRows - 1: math.Inf(1),
		kernel.BlockRows + 1: math.Inf(-1),
	} {
		many := c.rows.SelectRows(index)
		many.Set(bad, many.Cols-1, T(value))
		c.names("Diag", bad, c.k.Diag(c.ctx, make([]T, many.Rows), many))
		c.names("Cross, first set", bad, c.k.Cross(c.ctx, matrix.New[T](many.Rows, 2), many, c.rows.Slice(0, 2)))
		c.names("Cross, second set", bad, c.k.Cross(c.ctx, matrix.New[T](2, many.Rows), c.rows.Slice(0, 2), many))
	}
}

func (c check[T]) names(op string, row int, err error) {
	c.t.Helper()
	var found *kernel.RowError
	if !errors.As(err, &found) || found.Row != row || found.Column != c.rows.Cols-1 {
		c.t.Errorf("a number in row %d, column %d is not finite: %s returns error %v", row, c.rows.Cols-1, op, err)
	}
}

func (c check[T]) features(m kernel.FeatureMap[T], gram matrix.Dense[T]) {
	c.t.Helper()
	n := c.rows.Rows
	compute := func(rows matrix.Dense[T]) matrix.Dense[T] {
		dst := poisoned[T](rows.Rows, m.Dim())
		c.must(m.Features(c.ctx, dst, rows))
		return dst
	}
	all := compute(c.rows)
	got := matrix.New[T](n, n)
	linalg.Gemm(linalg.TeamOf(c.ctx), got, 1, all, linalg.NoTrans, all, linalg.Trans, 0)
	c.near("the inner products of features differ from the kernel", got.Data, gram.Data)
	for _, cut := range []int{1, n / 3} {
		c.same("features in blocks", compute(c.rows.Slice(0, cut)), all.Slice(0, cut))
		c.same("features in blocks", compute(c.rows.Slice(cut, n)), all.Slice(cut, n))
	}
	for threads := range 3 {
		c.ctx = linalg.WithThreads(context.Background(), threads+1)
		c.same("features on another number of threads", compute(c.rows), all)
	}
}

// same requires equal bits.
func (c check[T]) same(what string, got, want matrix.Dense[T]) {
	c.t.Helper()
	for i := range want.Rows {
		if !slices.Equal(got.Row(i), want.Row(i)) {
			c.t.Errorf("%s: row %d differs", what, i)
			return
		}
	}
}

// near requires agreement within the tolerance.
func (c check[T]) near(what string, got, want []T) {
	c.t.Helper()
	bound := c.tol * largest(want)
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - float64(w)); !(d <= bound) {
			c.t.Errorf("%s: element %d is %v, not %v; the tolerance is %.3g", what, i, got[i], w, bound)
			return
		}
	}
}

func row[T matrix.Float](v []T) matrix.Dense[T] { return matrix.View(1, len(v), v) }

func largest[T matrix.Float](v []T) float64 {
	top := 0.0
	for _, x := range v {
		top = max(top, math.Abs(float64(x)))
	}
	return top
}
