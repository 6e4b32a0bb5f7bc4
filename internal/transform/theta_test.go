package transform

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// theta returns the draws of weights, which only this test forms:
// θ = σ·L^{-T}·E.
func theta(t *testing.T, posterior *featurePosterior, fit Fit, normals string) matrix.Dense[float64] {
	draws := golden.Matrix(t, normals)
	theta := matrix.New[float64](draws.Rows, draws.Cols)
	one, root := matrix.New[float64](draws.Rows, draws.Rows), matrix.New[float64](draws.Rows, draws.Rows)
	for i := range one.Rows {
		one.Set(i, i, 1)
	}
	posterior.inverse.Mul(nil, root, posterior.factor/fit.Lambda, one)
	linalg.Gemm(nil, theta, 1, root, linalg.NoTrans, draws, linalg.NoTrans, 0)
	return theta
}

func TestGoldenTheta(t *testing.T) {
	t.Parallel()
	train := golden.Matrix(t, "sketch/grad_features_train.npy")
	m := kernel.NewLinear[float64](train.Cols)
	for text, sigma := range map[string]float64{"0.001": 0.001, "0.1": 0.1} {
		t.Run(text, func(t *testing.T) {
			posterior, fit, err := newFeaturePosterior(t.Context(), "test", m, train, sigma*sigma, normalising, nil)
			if err != nil {
				t.Fatal(err)
			}
			folder := "acs/sigma_" + text + "/"
			got := theta(t, posterior, fit, folder+"acs_rf_E.npy")
			golden.MustMatch(t, "paper", got, golden.Matrix(t, folder+"acs_rf_theta_paper.npy"), 1e-7)
			for i := range got.Data {
				got.Data[i] /= sigma
			}
			golden.MustMatch(t, "published", got, golden.Matrix(t, folder+"acs_rf_theta_ref.npy"), 1e-7)
		})
	}
	posterior, fit, err := newFeaturePosterior(t.Context(), "test", m, train, 1, normalising, nil)
	if err != nil {
		t.Fatal(err)
	}
	golden.MustMatch(t, "hyper", theta(t, posterior, fit, "acs/hyper/E.npy"),
		golden.Matrix(t, "acs/hyper/theta.npy"), 1e-10)
	noise, err := expectedNoise(t.Context(), posterior, train, golden.Vector(t, "y_train.npy"))
	if err != nil {
		t.Fatal(err)
	}
	want := golden.Scalar(t, "acs/hyper/b_tilde") / golden.Scalar(t, "acs/hyper/a_tilde")
	if math.Abs(noise-want) > 1e-10*want {
		t.Errorf("b̃/ã is %v, want %v", noise, want)
	}
}
