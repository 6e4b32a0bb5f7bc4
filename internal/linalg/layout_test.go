package linalg

import (
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// TestViewsBeyondTheirData passes each function one operand whose rows overlap or
// lie outside its data: the function panics with a typed value and writes nothing.
func TestViewsBeyondTheirData(t *testing.T) {
	const n = 4
	vector := func() []float64 { return make([]float64, n) }
	square := func() matrix.Dense[float64] { return matrix.New[float64](n, n) }
	type view = matrix.Dense[float64]
	calls := map[string]func(bad view){
		"Gemm, destination":           func(bad view) { Gemm(nil, bad, 1, square(), NoTrans, square(), NoTrans, 0) },
		"Gemm, left":                  func(bad view) { Gemm(nil, square(), 1, bad, Trans, square(), NoTrans, 0) },
		"Gemm, right":                 func(bad view) { Gemm(nil, square(), 1, square(), NoTrans, bad, Trans, 0) },
		"Syrk, destination":           func(bad view) { Syrk(nil, bad, 1, square(), NoTrans, 0) },
		"Syrk, operand":               func(bad view) { Syrk(nil, square(), 1, bad, Trans, 0) },
		"NewUpper":                    func(bad view) { NewUpper(bad, Trans) },
		"Upper, destination":          func(bad view) { NewUpper(square(), NoTrans).Mul(nil, bad, 1, square()) },
		"Upper, left":                 func(bad view) { NewUpper(square(), NoTrans).Mul(nil, square(), 1, bad) },
		"MirrorLower":                 func(bad view) { MirrorLower(bad) },
		"Cholesky":                    func(bad view) { _ = Cholesky(nil, bad) },
		"CholeskyRescue, destination": func(bad view) { _, _ = CholeskyRescue(nil, bad, square()) },
		"CholeskyRescue, operand":     func(bad view) { _, _ = CholeskyRescue(nil, square(), bad) },
		"SolveLower, right-hand side": func(bad view) { _ = SolveLower(nil, bad, Right, square(), NoTrans) },
		"SolveLower, triangle":        func(bad view) { _ = SolveLower(nil, square(), Left, bad, NoTrans) },
		"SolveLowerVec":               func(bad view) { _ = SolveLowerVec(vector(), bad, Trans) },
		"InvertLower":                 func(bad view) { _ = InvertLower(nil, bad) },
		"SymEigen, vectors":           func(bad view) { _ = SymEigen(nil, vector(), bad, square()) },
		"SymEigen, operand":           func(bad view) { _ = SymEigen(nil, vector(), square(), bad) },
		"MulVec":                      func(bad view) { MulVec(nil, vector(), bad, vector()) },
		"MulVecT":                     func(bad view) { MulVecT(nil, vector(), bad, vector()) },
		"SqDistTo":                    func(bad view) { SqDistTo(nil, vector(), bad, vector()) },
		"RowNorms":                    func(bad view) { RowNorms(nil, vector(), bad) },
		"ColumnMeans":                 func(bad view) { ColumnMeans(nil, vector(), bad) },
	}
	for what, call := range calls {
		for _, stride := range []int{-n, 0, n - 1, n + 1, math.MaxInt/4 + 1, math.MaxInt} {
			bad := view{Rows: n, Cols: n, Stride: stride, Data: slices.Repeat([]float64{7}, n*n)}
			requireLayoutError(t, what, func() { call(bad) })
			if slices.ContainsFunc(bad.Data, func(v float64) bool { return v != 7 }) {
				t.Errorf("%s, stride %d: something was written", what, stride)
			}
		}
		requireLayoutError(t, what, func() { call(view{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n-1)}) })
	}
}

func requireLayoutError(t *testing.T, what string, work func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if err, ok := recover().(matrix.LayoutError); !ok {
			t.Errorf("%s: recovered %v, want a layout error", what, err)
		}
	}()
	work()
}
