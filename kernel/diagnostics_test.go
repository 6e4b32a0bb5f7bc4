package kernel_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

func TestGoldenEffectiveDimension(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gradsketch", "gradsketch_scaled", "gradsketch_post", "ll_scaled", "mixture24", "lowdim3"} {
		var want struct {
			Centred float64 `json:"reference_centered"`
			Paper   float64 `json:"paper_uncentered"`
		}
		golden.Entry(t, "effdim/"+name, &want)
		pool := golden.Matrix(t, "sel/"+name+"/F_pool.npy")
		k := kernel.NewLinear[float64](pool.Cols)
		paper := must(kernel.EffectiveDimension(t.Context(), k, pool, false))
		centred := must(kernel.EffectiveDimension(t.Context(), k, pool, true))
		golden.MustMatchVector(t, name, []float64{paper, centred}, []float64{want.Paper, want.Centred}, exact)
	}
}

// The eigenvalues of the covariance of the features are those of the kernel
// matrix, and repeating all rows n times multiplies them by n.
func TestSpectrumInBothSpaces(t *testing.T) {
	t.Parallel()
	const times = 30
	rows := someRows[float64](40, 7)
	for i := range rows.Data {
		rows.Data[i] += 3
	}
	repeated := make([]int, times*rows.Rows) // more than one block
	for i := range repeated {
		repeated[i] = i % rows.Rows
	}
	k := kernel.NewLinear[float64](7)
	for _, centred := range []bool{false, true} {
		few := must(kernel.Spectrum[float64](t.Context(), k, rows, centred))
		many := must(kernel.Spectrum[float64](t.Context(), opaque{k}, rows, centred))
		if len(few) != 7 || len(many) != rows.Rows {
			t.Fatalf("%d and %d eigenvalues", len(few), len(many))
		}
		golden.MustMatchVector(t, "eigenvalues", many[:7], few, 1e-12)
		if math.Abs(many[7]) > 1e-9*many[0] {
			t.Errorf("centred %v: the eighth eigenvalue is %v", centred, many[7])
		}
		for i := range few {
			few[i] *= times
		}
		golden.MustMatchVector(t, "in blocks", must(kernel.Spectrum[float64](t.Context(), k, rows.SelectRows(repeated), centred)), few, 1e-12)
	}
}

// opaque hides the features of a kernel, and everything else that it is made of.
type opaque struct{ of kernel.Kernel[float64] }

func (o opaque) Inputs() int { return o.of.Inputs() }
func (o opaque) Diag(ctx context.Context, dst []float64, x matrix.Dense[float64]) error {
	return o.of.Diag(ctx, dst, x)
}
func (o opaque) Cross(ctx context.Context, dst, a, b matrix.Dense[float64]) error {
	return o.of.Cross(ctx, dst, a, b)
}

func TestEffectiveDimensionOfNothing(t *testing.T) {
	t.Parallel()
	zero := matrix.New[float64](5, 3)
	k := kernel.NewLinear[float64](3)
	for _, rows := range []matrix.Dense[float64]{zero, zero.Slice(0, 0)} {
		for _, centred := range []bool{false, true} {
			if _, err := kernel.EffectiveDimension(t.Context(), k, rows, centred); err == nil || !strings.Contains(err.Error(), "degenerate") {
				t.Errorf("%d rows: error %v", rows.Rows, err)
			}
		}
	}
}

func TestCompareDistances(t *testing.T) {
	t.Parallel()
	rows := someRows[float64](12, 4) // the last repeats the first
	k := kernel.NewLinear[float64](4)
	if e := must(kernel.CompareDistances[float64](t.Context(), k, k, rows)); e != (kernel.DistanceError{Pairs: 65}) {
		t.Errorf("a kernel compared with itself: %+v", e)
	}
	doubled := must(kernel.NewFunc(4, 4, func(dst, rows matrix.Dense[float64]) error {
		matrix.Copy(dst, rows)
		for i := range dst.Data {
			dst.Data[i] *= 1.5
		}
		return nil
	}))
	e := must(kernel.CompareDistances[float64](t.Context(), doubled, k, rows))
	for _, v := range []float64{e.Mean, e.RMS, e.Max} {
		if math.Abs(v-0.5) > 1e-9 {
			t.Errorf("distances times 1.5: %+v", e)
		}
	}
	same := matrix.New[float64](3, 4)
	if _, err := kernel.CompareDistances[float64](t.Context(), k, k, same); err == nil || !strings.Contains(err.Error(), "no two of the 3 rows") {
		t.Errorf("equal rows: error %v", err)
	}
	if _, err := kernel.CompareDistances[float64](t.Context(), k, k, someRows[float64](3, 5)); err == nil {
		t.Error("rows of the wrong width are accepted")
	}
}

func TestConformOpaque(t *testing.T) {
	t.Parallel()
	net := someNetwork[float64](kerneltest.ReLU, 4, 6, 1)
	rows := someRows[float64](20, 4)
	kerneltest.Conform[float64](t, opaque{kernel.NewGrad(net)}, rows, 1e-12)
}
