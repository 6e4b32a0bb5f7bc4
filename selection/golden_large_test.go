package selection_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// TestGoldenLarge selects 256 of 50000 rows by the gradients of a trained
// network, sketched to 512 features. Under the race detector it selects the first 32 of them.
func TestGoldenLarge(t *testing.T) {
	t.Parallel()
	if testing.Short() || simd.For[float32]().Name() == "go" {
		t.Skip("takes seconds; minutes without assembly")
	}
	pool, train := largeFeatures(t, "X_pool"), largeFeatures(t, "X_train")
	narrow := selection.Problem[float32]{Pool: pool, Train: train, Batch: largeBatch, Mode: selection.TP}
	lcmd := timed(t, "lcmd_tp", selection.LCMD{}, narrow)
	maxDist := timed(t, "maxdist_tp", selection.MaxDist{}, narrow)
	for _, as := range []string{"f32", "f64"} { // the published code picks the same in both
		mustBeLarge(t, "lcmd_tp_"+as, lcmd.Rows())
		mustBeLarge(t, "maxdist_tp_"+as, maxDist.Rows())
	}

	double := selection.Problem[float64]{Pool: matrix.Converted[float64](pool),
		Train: matrix.Converted[float64](train), Batch: largeBatch}
	linear := kernel.NewLinear[float64](512)
	draw := replay(golden.Matrix(t, "large/draw0_fw_p_acs-rf-hyper.npy").Data)
	hyper, _, err := transform.ACSRandomFeaturesHyper(t.Context(), linear, double.Train,
		golden.Vector(t, "large/y_train.npy"), 512, &draw, transform.Published)
	must(t, err)
	checkLarge(t, "fw_p_acs-rf-hyper", selection.FrankWolfe{}, onFeatures(t, double, hyper))

	posterior, _, err := transform.Train(t.Context(), linear, double.Train, sigma2)
	must(t, err)
	post := onFeatures(t, double, posterior)
	checkLarge(t, "maxdiag_train", selection.MaxDiag{}, post)
	checkLarge(t, "maxdist_p_train", selection.MaxDist{}, post)
	checkLarge(t, "lcmd_p_train", selection.LCMD{}, post)
	checkLarge(t, "fw_p_train", selection.FrankWolfe{}, post)
	checkLarge(t, "maxdet_p_train", selection.MaxDet{}, post)
	bait := timed(t, "bait_fb_p_train", selection.BAIT{Compat: true, Backward: true}, post)
	if largeBatch == 256 { // a smaller batch leaves out other rows
		mustBeLarge(t, "bait_fb_p_train", bait.Rows())
	}
	mustBeLarge(t, "bait_f_p_train", firstPicked(bait, largeBatch))
}

// firstPicked returns the rows that a forward step picked first, those that were
// removed later among them.
func firstPicked(r *selection.Result, n int) []int {
	rows := make([]int, n)
	for _, p := range r.Picks {
		if p.Step <= n {
			rows[p.Step-1] = p.Row
		}
	}
	for _, p := range r.Removed {
		if p.Picked <= n {
			rows[p.Picked-1] = p.Row
		}
	}
	return rows
}

func checkLarge(t *testing.T, name string, m selection.Method, p selection.Problem[float64]) {
	t.Helper()
	mustBeLarge(t, name, timed(t, name, m, p).Rows())
}

func timed[T matrix.Float](t *testing.T, name string, m selection.Method, p selection.Problem[T]) *selection.Result {
	t.Helper()
	r, err := selection.Select(t.Context(), m, p)
	must(t, err)
	t.Logf("%-18s %6.2f s: train %.2f, forward %.2f, backward %.2f", name, r.Timing.Total.Seconds(),
		r.Timing.Train.Seconds(), r.Timing.Forward.Seconds(), r.Timing.Backward.Seconds())
	return r
}

func mustBeLarge(t *testing.T, name string, got []int) {
	t.Helper()
	want := golden.Ints(t, "large/idx_"+name+".npy")
	if name == "maxdiag_train" {
		slices.Reverse(want) // it lists the smallest first
	}
	if len(got) != largeBatch {
		t.Errorf("%s: %d picks", name, len(got))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: pick %d is row %d, want %d", name, i, got[i], want[i])
			return
		}
	}
}

// onFeatures puts the features of a kernel in the place of rows.
func onFeatures(t *testing.T, p selection.Problem[float64], k kernel.Kernel[float64]) selection.Problem[float64] {
	t.Helper()
	var err error
	p.Pool, err = kernels.FeatureMatrix(t.Context(), k.(kernel.FeatureMap[float64]), p.Pool)
	must(t, err)
	p.Train, err = kernels.FeatureMatrix(t.Context(), k.(kernel.FeatureMap[float64]), p.Train)
	must(t, err)
	return p
}

func narrowed(t *testing.T, name string) matrix.Dense[float32] {
	return matrix.Converted[float32](golden.Matrix(t, "large/"+name+".npy"))
}

// largeFeatures are the sketched gradients of the golden network 10-512-512-1:
// Σ over layers of √512·(x̃A_in) ⊙ (gA_out), with matrices that have been divided
// by √512.
func largeFeatures(t *testing.T, inputs string) matrix.Dense[float32] {
	t.Helper()
	const sigma = 0.2
	x := narrowed(t, inputs)
	root := float32(math.Sqrt(512))
	var layers, slopes, weights []matrix.Dense[float32]
	for l := 1; l <= 3; l++ {
		w := narrowed(t, fmt.Sprintf("W%d", l))
		b := narrowed(t, fmt.Sprintf("b%d", l))
		factor := float32(sigma / math.Sqrt(float64(w.Rows)))
		layers = append(layers, extended(x, factor, sigma))
		z := product(x, linalg.NoTrans, w, linalg.NoTrans, factor)
		x, slopes = rectified(z, b.Data, sigma), append(slopes, positive(z, b.Data, sigma))
		weights = append(weights, w)
	}
	back := matrix.New[float32](x.Rows, 1)
	for i := range back.Data {
		back.Data[i] = 1
	}
	features := matrix.New[float32](x.Rows, 512)
	for l := 2; l >= 0; l-- {
		in := product(layers[l], linalg.NoTrans, narrowed(t, fmt.Sprintf("A_in%d", l+1)), linalg.NoTrans, root)
		out := product(back, linalg.NoTrans, narrowed(t, fmt.Sprintf("A_out%d", l+1)), linalg.NoTrans, 1)
		for i, v := range in.Data {
			features.Data[i] += v * out.Data[i]
		}
		if l > 0 {
			back = product(back, linalg.NoTrans, weights[l], linalg.Trans, float32(sigma/math.Sqrt(float64(weights[l].Rows))))
			for i, s := range slopes[l-1].Data {
				back.Data[i] *= s
			}
		}
	}
	return features
}

func product(a matrix.Dense[float32], opA linalg.Op, b matrix.Dense[float32], opB linalg.Op,
	alpha float32) matrix.Dense[float32] {
	cols := b.Cols
	if opB == linalg.Trans {
		cols = b.Rows
	}
	dst := matrix.New[float32](a.Rows, cols)
	linalg.Gemm(nil, dst, alpha, a, opA, b, opB, 0)
	return dst
}

// extended is [factor·x, sigma].
func extended(x matrix.Dense[float32], factor, sigma float32) matrix.Dense[float32] {
	e := matrix.New[float32](x.Rows, x.Cols+1)
	for i := range x.Rows {
		row := e.Row(i)
		for j, v := range x.Row(i) {
			row[j] = factor * v
		}
		row[x.Cols] = sigma
	}
	return e
}

func rectified(z matrix.Dense[float32], bias []float32, sigma float32) matrix.Dense[float32] {
	return mapped(z, bias, sigma, func(v float32) float32 { return max(v, 0) })
}

func positive(z matrix.Dense[float32], bias []float32, sigma float32) matrix.Dense[float32] {
	return mapped(z, bias, sigma, func(v float32) float32 {
		if v > 0 {
			return 1
		}
		return 0
	})
}

func mapped(z matrix.Dense[float32], bias []float32, sigma float32, f func(float32) float32) matrix.Dense[float32] {
	m := matrix.New[float32](z.Rows, z.Cols)
	for i := range z.Rows {
		for j, v := range z.Row(i) {
			m.Row(i)[j] = f(v + sigma*bias[j])
		}
	}
	return m
}
