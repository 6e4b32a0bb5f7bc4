package transform_test

import (
	"fmt"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
)

// sketched returns the golden gradient sketch.
func sketched(t testing.TB) kernel.FeatureMap[float64] {
	var arrays []string
	for l := 1; l <= 3; l++ {
		arrays = append(arrays, fmt.Sprintf("sketch/grad_A_in%d", l), fmt.Sprintf("sketch/grad_A_out%d", l))
	}
	draws := record(t, arrays...)
	for i := range draws.left {
		draws.left[i] *= 8 // √p: the recorded matrices are divided by it
	}
	return must(transform.Sketch(base(t, "relu", "grad", 0).(kernel.FeatureMap[float64]), 64, draws, transform.Published))
}

func TestGoldenACSGrad(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	some := pool.Slice(0, 50)
	for text, sigma := range map[string]float64{"0.001": 0.001, "0.1": 0.1} {
		t.Run(text, func(t *testing.T) {
			folder := "acs/sigma_" + text + "/"
			published, fit, err := transform.ACSGrad(t.Context(), sketched(t), train, sigma*sigma, transform.Published)
			if err != nil {
				t.Fatal(err)
			}
			golden.MustMatchVector(t, "λ", []float64{fit.Lambda}, []float64{golden.Scalar(t, "acs/lambda")}, exact)
			golden.MustMatch(t, "published", cross(t, published, some, some),
				golden.Matrix(t, folder+"acs_grad_ref_block.npy"), withNoise)
			golden.MustMatchVector(t, "published", diag(t, published, pool),
				golden.Vector(t, folder+"acs_grad_ref_diag.npy"), withNoise)
			paper, _, err := transform.ACSGrad(t.Context(), sketched(t), train, sigma*sigma, transform.Paper)
			if err != nil {
				t.Fatal(err)
			}
			golden.MustMatch(t, "paper", cross(t, paper, some, some),
				golden.Matrix(t, folder+"acs_grad_paper_block.npy"), withNoise)
		})
	}
}

func TestGoldenACSRandomFeatures(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	for text, sigma := range map[string]float64{"0.001": 0.001, "0.1": 0.1} {
		t.Run(text, func(t *testing.T) {
			folder := "acs/sigma_" + text + "/"
			for array, variant := range map[string]transform.Variant{"acs_rf_ref_features_pool": transform.Published,
				"acs_rf_paper_features_pool": transform.Paper} {
				draws := record(t, folder+"acs_rf_E")
				k, _, err := transform.ACSRandomFeatures(t.Context(), sketched(t), train, 64, sigma*sigma, draws, variant)
				if err != nil {
					t.Fatal(err)
				}
				draws.done()
				golden.MustMatch(t, array, features(t, k, pool), golden.Matrix(t, folder+array+".npy"), withNoise)
			}
		})
	}
}

func TestGoldenACSRandomFeaturesHyper(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	draws := record(t, "acs/hyper/E")
	k, _, err := transform.ACSRandomFeaturesHyper(t.Context(), sketched(t), train, golden.Vector(t, "y_train.npy"), 64,
		draws, transform.Published)
	if err != nil {
		t.Fatal(err)
	}
	draws.done()
	golden.MustMatch(t, "features", features(t, k, pool), golden.Matrix(t, "acs/hyper/ref_features_pool.npy"), exact)
}
