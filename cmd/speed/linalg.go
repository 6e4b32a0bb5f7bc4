package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// linalgSection measures the products, factorisations and streams on which
// everything else is built.
func linalgSection(b *bench) {
	for _, threads := range threadCounts() {
		gemm[float32](b, "sgemm", 4096, 513, 512, linalg.NoTrans, linalg.NoTrans, threads)
		gemm[float32](b, "sgemm", 256, 512, 512, linalg.NoTrans, linalg.NoTrans, threads)
		gemm[float32](b, "sgemm-nt", 256, 512, 512, linalg.NoTrans, linalg.Trans, threads)
		gemm[float32](b, "sgemm-tn", 256, 512, 512, linalg.Trans, linalg.NoTrans, threads)
		gemm[float32](b, "sgemm-tn", 512, 256, 512, linalg.Trans, linalg.NoTrans, threads)
		gemm[float32](b, "sgemm", 256, 10, 512, linalg.NoTrans, linalg.NoTrans, threads)
		gemm[float64](b, "dgemm", 4096, 513, 512, linalg.NoTrans, linalg.NoTrans, threads)
	}
	if simd.For[float32]().Splits() {
		splitGemm(b, 4096, 513, 512)
		splitGemm(b, 256, 513, 512)
	}
	streams(b)
	factorisations(b)
}

// gemm measures an m x k by k x n product.
func gemm[T matrix.Float](b *bench, op string, m, k, n int, opA, opB linalg.Op, threads int) {
	x, y := random[T](m, k), random[T](k, n)
	if opA == linalg.Trans {
		x = random[T](k, m)
	}
	if opB == linalg.Trans {
		y = random[T](n, k)
	}
	c := matrix.New[T](m, n)
	resource := fma32
	if op == "dgemm" {
		resource = fma64
	}
	b.rate(op, fmt.Sprintf("%dx%dx%d", m, k, n), resource, threads, 2*float64(m*k*n), func(team *linalg.Team) {
		linalg.Gemm(team, c, 1, x, opA, y, opB, 0)
	})
}

// splitGemm measures a product of split numbers on all threads, relative to the
// limit of multiply-adds, which it may exceed.
func splitGemm(b *bench, m, k, n int) {
	x, y, c := random[float32](m, k), random[float32](k, n), matrix.New[float32](m, n)
	b.rate("sgemm-split", fmt.Sprintf("%dx%dx%d", m, k, n), fma32, allThreads(), 2*float64(m*k*n),
		func(team *linalg.Team) {
			linalg.GemmSplit(team, c, 1, x, linalg.NoTrans, y, linalg.NoTrans, 0, nil)
		})
}

// streams measures operations that read a large matrix once.
func streams(b *bench) {
	const rows, cols = 100_000, 512
	pool := random[float32](rows, cols)
	query, out := random[float32](1, cols).Row(0), make([]float32, rows)
	shape, bytes := fmt.Sprintf("%dx%d", rows, cols), float64(4*rows*cols)
	for _, threads := range threadCounts() {
		b.rate("gemv", shape, memory, threads, bytes, func(team *linalg.Team) { linalg.MulVec(team, out, pool, query) })
		b.rate("sqdist", shape, memory, threads, bytes, func(team *linalg.Team) { linalg.SqDistTo(team, out, pool, query) })
	}
}

// factorisations measures what a posterior needs. It counts n³/3 operations for the
// Cholesky factor and for the inverse of a triangle, and 4n³/3 for the reduction of
// an eigenproblem, whose other parts vary.
func factorisations(b *bench) {
	for _, threads := range threadCounts() {
		cholesky(b, 2048, threads)
		triangularInverse(b, 1024, threads)
		eigen(b, 512, threads)
	}
}

func cholesky(b *bench, n, threads int) {
	a := positive(n)
	work := matrix.New[float64](n, n)
	b.rateAfter("cholesky", square(n), fma64, threads, cube(n)/3,
		func() { matrix.Copy(work, a) }, func(team *linalg.Team) { must(linalg.Cholesky(team, work)) })
}

func triangularInverse(b *bench, n, threads int) {
	a := positive(n)
	must(linalg.Cholesky(nil, a))
	work := matrix.New[float64](n, n)
	b.rateAfter("triinv", square(n), fma64, threads, cube(n)/3,
		func() { matrix.Copy(work, a) }, func(team *linalg.Team) { must(linalg.InvertLower(team, work)) })
}

func eigen(b *bench, n, threads int) {
	a := positive(n)
	values, vectors := make([]float64, n), matrix.New[float64](n, n)
	b.seconds("eigen", square(n), fma64, threads, 4*cube(n)/3,
		func(team *linalg.Team) { must(linalg.SymEigen(team, values, vectors, a)) })
}

func square(n int) string { return fmt.Sprintf("%dx%d", n, n) }
func cube(n int) float64  { return float64(n) * float64(n) * float64(n) }

// positive returns a positive definite matrix.
func positive(n int) matrix.Dense[float64] {
	x, a := random[float64](n, n), matrix.New[float64](n, n)
	linalg.Syrk(nil, a, 1/float64(n), x, linalg.NoTrans, 0)
	for i := range n {
		a.Set(i, i, a.At(i, i)+1)
	}
	return a
}

// random returns a matrix of normal variates from a fixed seed.
func random[T matrix.Float](rows, cols int) matrix.Dense[T] {
	r := rand.New(rand.NewPCG(1, 2))
	m := matrix.New[T](rows, cols)
	for i := range m.Data {
		m.Data[i] = T(r.NormFloat64())
	}
	return m
}
