package linalg

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// benchFactor times work of the given number of operations, each time on a fresh
// copy of from, and reports which share of the arithmetic peak, measured at the
// same moment, the best run reached.
func benchFactor(b *testing.B, name string, threads int, flops float64, from matrix.Dense[float64],
	work func(team *Team, m matrix.Dense[float64])) {
	b.Run(fmt.Sprintf("%s/n=%d/threads=%d", name, from.Rows, threads), func(b *testing.B) {
		team := NewTeam(threads)
		m := from.Clone()
		best, peak := time.Hour, 0.0
		for b.Loop() {
			matrix.Copy(m, from)
			peak = max(peak, fmaPeak())
			start := time.Now()
			work(team, m)
			best = min(best, time.Since(start))
		}
		rate := flops / best.Seconds() / 1e9
		b.ReportMetric(best.Seconds()*1e3, "best-ms")
		b.ReportMetric(rate, "GFLOP/s")
		b.ReportMetric(100*rate/(peak*float64(threads)), "%peak")
	})
}

// fmaPeak measures the multiply-adds of one core, in GFLOP/s.
func fmaPeak() float64 {
	start := time.Now()
	ops := simd.For[float64]().FMALoop(20000)
	return float64(ops) / time.Since(start).Seconds() / 1e9
}

func randomSPD(r *rand.Rand, n int) matrix.Dense[float64] {
	g, a := strided[float64](r, n, n), matrix.New[float64](n, n)
	Syrk(nil, a, 1/float64(max(n, 1)), g, NoTrans, 0)
	for i := range n {
		a.Set(i, i, a.At(i, i)+1)
	}
	return a
}

func BenchmarkUpper(b *testing.B) {
	for _, n := range []int{512, 2048} {
		a := randomSPD(rand.New(rand.NewPCG(1, 2)), n)
		u, c := NewUpper(lowerOf(a, NoTrans), Trans), matrix.New[float64](n, n)
		for _, threads := range []int{1, 2} {
			benchFactor(b, "float64", threads, float64(n)*float64(n)*float64(n), a,
				func(team *Team, m matrix.Dense[float64]) { u.Mul(team, c, 1, m) })
		}
	}
}

func BenchmarkSyrk(b *testing.B) {
	for _, n := range []int{512, 2048} {
		a := randomSPD(rand.New(rand.NewPCG(1, 2)), n)
		c := matrix.New[float64](n, n)
		for _, threads := range []int{1, 2} {
			benchFactor(b, "float64", threads, float64(n)*float64(n)*float64(n), a,
				func(team *Team, m matrix.Dense[float64]) { Syrk(team, c, 1, m, Trans, 0) })
		}
	}
}

func BenchmarkCholesky(b *testing.B) {
	for _, n := range []int{64, 128, 512, 2048} {
		a := randomSPD(rand.New(rand.NewPCG(1, 2)), n)
		for _, threads := range []int{1, 2} {
			benchFactor(b, "float64", threads, float64(n)*float64(n)*float64(n)/3, a, func(team *Team, m matrix.Dense[float64]) {
				if err := Cholesky(team, m); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

func BenchmarkInvertLower(b *testing.B) {
	const n = 1024
	l := randomSPD(rand.New(rand.NewPCG(1, 2)), n)
	for _, threads := range []int{1, 2} {
		benchFactor(b, "float64", threads, n*n*n/3, l, func(team *Team, m matrix.Dense[float64]) {
			if err := InvertLower(team, m); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkSolveLower(b *testing.B) {
	const n = 1024
	r := rand.New(rand.NewPCG(1, 2))
	l, rhs := randomSPD(r, n), randomSPD(r, n)
	for _, side := range []Side{Left, Right} {
		for _, op := range []Op{NoTrans, Trans} {
			for _, threads := range []int{1, 2} {
				benchFactor(b, fmt.Sprintf("right=%v/trans=%v", side, op), threads, n*n*n, rhs,
					func(team *Team, m matrix.Dense[float64]) {
						if err := SolveLower(team, m, side, l, op); err != nil {
							b.Fatal(err)
						}
					})
			}
		}
	}
}

func BenchmarkSymEigen(b *testing.B) {
	for _, n := range []int{128, 512} {
		a := randomSPD(rand.New(rand.NewPCG(1, 2)), n)
		values := make([]float64, n)
		for _, threads := range []int{1, 2} {
			benchFactor(b, "float64", threads, 9*float64(n)*float64(n)*float64(n), a, func(team *Team, m matrix.Dense[float64]) {
				if err := SymEigen(team, values, m, m); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
