package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// linalgSection measures the products, factorisations and streams that all
// else is made of.
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
	streams(b)
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
	b.rate(op, fmt.Sprintf("%dx%dx%d", m, k, n), resource, threads, 2*float64(m*k*n), func() {
		linalg.Gemm(c, 1, x, opA, y, opB, 0)
	})
}

// streams measures what reads a large matrix once.
func streams(b *bench) {
	const rows, cols = 100_000, 512
	pool := random[float32](rows, cols)
	query, out := random[float32](1, cols).Row(0), make([]float32, rows)
	shape, bytes := fmt.Sprintf("%dx%d", rows, cols), float64(4*rows*cols)
	for _, threads := range threadCounts() {
		b.rate("gemv", shape, memory, threads, bytes, func() { linalg.MulVec(out, pool, query) })
		b.rate("sqdist", shape, memory, threads, bytes, func() { linalg.SqDistTo(out, pool, query) })
	}
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
