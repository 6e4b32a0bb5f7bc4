package linalg

import (
	"fmt"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

func BenchmarkGemm(b *testing.B) {
	for _, threads := range []int{1, 2} {
		for _, s := range [][3]int{{4096, 513, 512}, {256, 512, 512}, {256, 10, 512}} {
			benchGemm[float32](b, threads, s, NoTrans, NoTrans)
		}
		benchGemm[float32](b, threads, [3]int{256, 512, 512}, NoTrans, Trans)
		benchGemm[float32](b, threads, [3]int{512, 256, 512}, Trans, NoTrans)
		benchGemm[float64](b, threads, [3]int{4096, 513, 512}, NoTrans, NoTrans)
	}
}

// BenchmarkGemmSplit has the products of a training step.
func BenchmarkGemmSplit(b *testing.B) {
	split := func(team *Team, c, x matrix.Dense[float32], opA Op, y matrix.Dense[float32], opB Op) {
		GemmSplit(team, c, 1, x, opA, y, opB, 0, nil)
	}
	for _, threads := range []int{1, 2} {
		for _, s := range [][3]int{{4096, 513, 512}, {1024, 513, 512}, {256, 513, 512}} {
			benchProduct(b, threads, s, NoTrans, NoTrans, split)
		}
		benchProduct(b, threads, [3]int{256, 512, 512}, NoTrans, Trans, split)
		benchProduct(b, threads, [3]int{513, 256, 512}, Trans, NoTrans, split)
	}
}

func benchGemm[T matrix.Float](b *testing.B, threads int, s [3]int, opA, opB Op) {
	benchProduct(b, threads, s, opA, opB, func(team *Team, c, x matrix.Dense[T], opA Op, y matrix.Dense[T], opB Op) {
		Gemm(team, c, 1, x, opA, y, opB, 0)
	})
}

func benchProduct[T matrix.Float](b *testing.B, threads int, s [3]int, opA, opB Op,
	multiply func(team *Team, c, x matrix.Dense[T], opA Op, y matrix.Dense[T], opB Op)) {
	var zero T
	name := fmt.Sprintf("%T/%dx%dx%d/%v-%v/threads=%d", zero, s[0], s[1], s[2], opA, opB, threads)
	b.Run(name, func(b *testing.B) {
		team := NewTeam(threads)
		m, k, n := s[0], s[1], s[2]
		shapeA, shapeB := opA.shape(m, k), opB.shape(k, n)
		x, y, c := matrix.New[T](shapeA.Rows, shapeA.Cols), matrix.New[T](shapeB.Rows, shapeB.Cols), matrix.New[T](m, n)
		for b.Loop() {
			multiply(team, c, x, opA, y, opB)
		}
		b.ReportMetric(2*float64(m*k*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}
