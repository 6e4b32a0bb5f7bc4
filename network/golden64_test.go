//go:build network64

package network

import (
	"fmt"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// Comparisons with numbers that the published implementation recorded in float64.

func TestGoldenTrainingFloat64(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"relu_f64", "silu_f64", "relu_small_n_f64", "relu_long_f64"} {
		t.Run(name, func(t *testing.T) {
			stepThrough(t, name, 1e-10, 1e-9)
			runThrough(t, name, 1e-10, 1e-9)
		})
	}
}

func TestGoldenTaps(t *testing.T) {
	for _, act := range []string{"relu", "silu"} {
		net := goldenNet(t, act, 0)
		x := golden.Matrix(t, "X_train.npy")
		in, grad := NewTaps(net, x.Rows, nil).Block(t.Context(), x, 0)
		for l := range in {
			what := fmt.Sprintf("%s, layer %d", act, l+1)
			golden.MustMatch(t, what+", inputs", in[l], golden.Matrix(t, fmt.Sprintf("%s/grad_in%d_train.npy", act, l+1)), 1e-10)
			if l < len(grad) {
				golden.MustMatch(t, what+", gradients", grad[l], golden.Matrix(t,
					fmt.Sprintf("%s/grad_out%d_train.npy", act, l+1)), 1e-10)
			}
		}
		full := fullGradient(in, append(grad, columnOf(x.Rows, 1, 0)))
		golden.MustMatch(t, act+", full gradient", full, golden.Matrix(t, act+"/grad_full_train.npy"), 1e-10)
		in, grad = NewTaps(net, 64, nil).Block(t.Context(), x, net.Layers()-1)
		if len(in) != 1 || len(grad) != 0 {
			t.Fatalf("%d inputs and %d gradients of the last layer", len(in), len(grad))
		}
		golden.MustMatch(t, act+", last layer", in[0], golden.Matrix(t, act+"/phi_ll_train.npy"), 1e-10)
	}
}

func TestGoldenGradientKernelInBlocks(t *testing.T) {
	const block = 77 // 500 rows: the last block is smaller
	for _, act := range []string{"relu", "silu"} {
		net := goldenNet(t, act, 0)
		x, pool := golden.Matrix(t, "X_train.npy"), golden.Matrix(t, "X_pool.npy")
		in, grad := NewTaps(net, x.Rows, nil).Block(t.Context(), x, 0)
		kernel := matrix.New[Real](x.Rows, pool.Rows)
		taps := NewTaps(net, block, nil)
		for from := 0; from < pool.Rows; from += block {
			to := min(from+block, pool.Rows)
			poolIn, poolGrad := taps.Block(t.Context(), pool.Slice(from, to), 0)
			for l := range in {
				inner, outer := matrix.New[Real](x.Rows, to-from), matrix.New[Real](x.Rows, to-from)
				linalg.Gemm(nil, inner, 1, in[l], linalg.NoTrans, poolIn[l], linalg.Trans, 0)
				for i := range outer.Data {
					outer.Data[i] = 1
				}
				if l < len(grad) {
					linalg.Gemm(nil, outer, 1, grad[l], linalg.NoTrans, poolGrad[l], linalg.Trans, 0)
				}
				for i := range x.Rows {
					for j := range to - from {
						kernel.Data[i*kernel.Stride+from+j] += inner.At(i, j) * outer.At(i, j)
					}
				}
			}
		}
		golden.MustMatch(t, act, kernel, golden.Matrix(t, act+"/k_grad_train_pool.npy"), 1e-10)
	}
}

func TestGoldenPosterior(t *testing.T) {
	t.Parallel()
	for _, act := range []string{"relu", "silu"} {
		net := goldenNet(t, act, 0)
		x := golden.Matrix(t, "X_train.npy")
		for _, noise := range []float64{1e-6, 1e-2} {
			q, err := fitPosterior(nil, net, x, noise)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "λ", q.Lambda, golden.Scalar(t, act+"/ll/scale_factor_lambda"), 1e-12)
			for part, suffix := range map[string]string{"pool": "pool_diag", "train": "train_diag"} {
				rows := golden.Matrix(t, "X_"+part+".npy")
				in, _ := NewTaps(net, rows.Rows, nil).Block(t.Context(), rows, net.Layers()-1)
				got := make([]float64, rows.Rows)
				if err := q.variance(nil, got, in[0].Clone()); err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%s/posterior/ll_s2_%s_%s.npy", act,
					map[float64]string{1e-6: "1e-06", 1e-2: "0.01"}[noise], suffix)
				golden.MustMatchVector(t, name, got, golden.Vector(t, name), 1e-7)
			}
		}
	}
}
