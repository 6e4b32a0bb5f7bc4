package kernels_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

// Prepare returns features unless they take more numbers than the factors.
func TestPreparedAs(t *testing.T) {
	t.Parallel()
	net := someNetwork[float32](kerneltest.ReLU, 5, 8, 7, 1)
	rows := someRows[float32](10, 5)
	for _, test := range []struct {
		name   string
		k      kernel.Kernel[float32]
		width  int
		linear bool
	}{
		{"linear", kernel.NewLinear[float32](5), 5, true},
		{"scaled linear", scaledLinear(5), 5, true},
		{"last layer", lastLayers[float32](t, net, 1), 8, true},
		{"gradient", kernels.NewGrad[float32](net), 6 + 8 + 9 + 7 + 8 + 1, false},
		{"laplace", must(kernels.NewLaplace[float32](5, 1)), 5, false},
	} {
		k, sets, err := kernels.Prepare(t.Context(), test.k, rows, rows.Slice(0, 3))
		if err != nil {
			t.Fatal(err)
		}
		if kernels.IsLinear(k) != test.linear || sets[0].Cols != test.width || sets[0].Rows != 10 || sets[1].Rows != 3 {
			t.Errorf("%s: linear: %v, %v and %v", test.name, kernels.IsLinear(k), sets[0].Shape(), sets[1].Shape())
		}
		_, again, err := kernels.Prepare(t.Context(), k, sets...)
		if err != nil || &again[0].Data[0] != &sets[0].Data[0] {
			t.Errorf("%s: prepared rows are copied; error %v", test.name, err)
		}
	}
	if kernels.IsLinear[float32](lastLayers[float32](t, net, 1)) {
		t.Error("IsLinear holds for the last-layer kernel")
	}
}

func scaledLinear(inputs int) kernel.Kernel[float32] {
	e, f := kernels.Decompose[float32](kernel.NewLinear[float32](inputs))
	return kernels.Compose(e, kernels.Form[float32](kernels.Scaled[float32]{Of: f, Factor: 4}))
}

func TestPrepareNamesTheRow(t *testing.T) {
	t.Parallel()
	net := someNetwork[float64](kerneltest.ReLU, 5, 8, 1)
	good, bad := someRows[float64](4, 5), someRows[float64](kernel.BlockRows+4, 5)
	bad.Set(kernel.BlockRows+2, 3, math.NaN())
	for _, k := range []kernel.Kernel[float64]{kernel.NewLinear[float64](5), kernels.NewGrad(net),
		lastLayers[float64](t, net, 1)} {
		var row *kernel.RowError
		if _, _, err := kernels.Prepare(t.Context(), k, good, bad); !errors.As(err, &row) ||
			row.Row != kernel.BlockRows+2 || row.Column != 3 {
			t.Errorf("error %v", err)
		}
		var width *kernel.WidthError
		if _, _, err := kernels.Prepare(t.Context(), k, someRows[float64](4, 6)); !errors.As(err, &width) ||
			width.Got != 6 || width.Want != 5 {
			t.Errorf("error %v", err)
		}
	}
}

// Features that an embedding already holds are not copied.
func TestBorrow(t *testing.T) {
	t.Parallel()
	net := someNetwork[float64](kerneltest.ReLU, 5, 8, 1)
	rows := someRows[float64](10, 5)
	for name, m := range map[string]kernel.FeatureMap[float64]{
		"linear":     kernel.NewLinear[float64](5),
		"last layer": lastLayers[float64](t, net, 1),
		"gradient":   kernels.NewGrad(net),
	} {
		var scratch kernels.Scratch[float64]
		got, err := kernels.Borrow(t.Context(), m, rows, &scratch)
		if err != nil {
			t.Fatal(err)
		}
		want := features(t, m, rows)
		for i := range want.Rows {
			for j, v := range want.Row(i) {
				if got.At(i, j) != v {
					t.Fatalf("%s: feature %d of row %d is %v, not %v", name, j, i, got.At(i, j), v)
				}
			}
		}
		if own := &got.Data[0] == &scratch.Matrix(1, 1).Data[0]; own != (name == "gradient") {
			t.Errorf("%s: copied: %v", name, own)
		}
		if same := &got.Data[0] == &rows.Data[0]; same != (name == "linear") {
			t.Errorf("%s: the rows themselves: %v", name, same)
		}
	}
}

func TestCountsOutOfRange(t *testing.T) {
	t.Parallel()
	net := someNetwork[float64](kerneltest.ReLU, 5, 8, 1)
	for _, n := range []int{-1, 0, 3} {
		if _, err := kernels.NewLastLayers(net, n); err == nil || !strings.Contains(err.Error(), "network that has 2") {
			t.Errorf("the last %d layers: error %v", n, err)
		}
	}
	if _, err := kernel.NewFunc[float64](0, 1, nil); err == nil {
		t.Error("a map without inputs is accepted")
	}
	if _, err := kernel.NewFunc[float64](1, 0, nil); err == nil {
		t.Error("a map without features is accepted")
	}
}

// A destination of the wrong shape is a bug in the calling program, and panics.
func TestWrongDestination(t *testing.T) {
	t.Parallel()
	k, rows := kernel.NewLinear[float64](3), someRows[float64](4, 3)
	for name, f := range map[string]func() error{
		"Diag":     func() error { return k.Diag(t.Context(), make([]float64, 3), rows) },
		"Cross":    func() error { return k.Cross(t.Context(), matrix.New[float64](4, 3), rows, rows) },
		"Features": func() error { return k.Features(t.Context(), matrix.New[float64](4, 2), rows) },
	} {
		func() {
			defer func() {
				if _, ok := recover().(matrix.ShapeError); !ok {
					t.Errorf("%s does not panic with a ShapeError", name)
				}
			}()
			t.Errorf("%s returns %v", name, f())
		}()
	}
}
