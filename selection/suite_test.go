package selection_test

import (
	"testing"

	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/selection/selectiontest"
)

const sigma2 = selection.DefaultSigma2

func TestRandom(t *testing.T) {
	t.Parallel()
	selectiontest.Suite[float32]{Method: selection.Random{}}.Run(t)
}

func TestMaxDiag(t *testing.T) {
	t.Parallel()
	suites(t, selection.MaxDiag{}, func() selectiontest.Oracle { return &selectiontest.MaxDiag{} })
}

func TestMaxDist(t *testing.T) {
	t.Parallel()
	suites(t, selection.MaxDist{}, func() selectiontest.Oracle { return &selectiontest.MaxDist{} })
}

func TestLCMD(t *testing.T) {
	t.Parallel()
	for _, size := range []selection.Size{selection.SquaredDistance, selection.Distance, selection.Count} {
		suites(t, selection.LCMD{Size: size}, func() selectiontest.Oracle { return &selectiontest.LCMD{Size: size} })
	}
}

func TestKMeansPP(t *testing.T) {
	t.Parallel()
	suites(t, selection.KMeansPP{}, nil)
}

func TestGreedyKMeansPP(t *testing.T) {
	t.Parallel()
	suites(t, selection.GreedyKMeansPP{}, nil)
}

func TestMaxDet(t *testing.T) {
	t.Parallel()
	byKernel := func() selectiontest.Oracle { return &selectiontest.MaxDetKernel{Sigma2: sigma2} }
	byFeatures := func() selectiontest.Oracle { return &selectiontest.MaxDetFeatures{Sigma2: sigma2} }
	t.Run("kernel space", selectiontest.Suite[float64]{Compared: 0.98, Oracle: byKernel,
		Method: selection.MaxDet{In: selection.InKernelSpace}}.Run)
	t.Run("by cost", selectiontest.Suite[float64]{Compared: 0.98, Oracle: byKernel,
		Method: selection.MaxDet{}}.Run)
	t.Run("feature space", selectiontest.Suite[float64]{Compared: 0.98, Oracle: byFeatures, NoKernel: true,
		Method: selection.MaxDet{In: selection.InFeatureSpace}}.Run)
	t.Run("float32 features", selectiontest.Suite[float32]{Compared: 0.9, Oracle: byFeatures, NoKernel: true,
		Method: selection.MaxDet{}}.Run)
}

func TestBAIT(t *testing.T) {
	t.Parallel()
	for _, s2 := range []float64{1e-2, sigma2} {
		t.Run("forward", selectiontest.Suite[float64]{Compared: 0.4, NoKernel: true,
			Method: selection.BAIT{Sigma2: s2},
			Oracle: func() selectiontest.Oracle { return &selectiontest.BAIT{Sigma2: s2} }}.Run)
		t.Run("forward backward", selectiontest.Suite[float64]{Compared: 0.2, NoKernel: true, NoScore: true,
			Method: selection.BAIT{Sigma2: s2, Backward: true},
			Oracle: func() selectiontest.Oracle {
				return &selectiontest.BAITBackward{BAIT: selectiontest.BAIT{Sigma2: s2}}
			}}.Run)
	}
}

func TestFrankWolfe(t *testing.T) {
	t.Parallel()
	t.Run("feature space", selectiontest.Suite[float64]{Compared: 0.9, NoKernel: true, NoScore: true,
		Method: selection.FrankWolfe{},
		Oracle: func() selectiontest.Oracle { return &selectiontest.FrankWolfeFeatures{} }}.Run)
	t.Run("kernel space", selectiontest.Suite[float64]{Compared: 0.9, Quadratic: true, NoScore: true,
		Method: selection.FrankWolfe{In: selection.InKernelSpace},
		Oracle: func() selectiontest.Oracle { return &selectiontest.FrankWolfeKernel{} }}.Run)
}

// suites runs the suite in both precisions.
func suites(t *testing.T, m selection.Method, o func() selectiontest.Oracle) {
	t.Helper()
	t.Run(m.Name()+" float32", selectiontest.Suite[float32]{Method: m, Oracle: o, Compared: 0.9}.Run)
	t.Run(m.Name()+" float64", selectiontest.Suite[float64]{Method: m, Oracle: o, Compared: 0.94}.Run)
}
