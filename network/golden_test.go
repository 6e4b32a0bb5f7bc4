package network

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// goldenRun is a recorded training: golden/train.
type goldenRun struct {
	Act     Activation `json:"act"`
	SigmaW  float64    `json:"sigma_w"`
	SigmaB  float64    `json:"sigma_b"`
	Train   int        `json:"n_train"`
	Valid   int        `json:"n_valid"`
	Batch   int        `json:"batch_size"`
	Epochs  int        `json:"epochs"`
	Rate    float64    `json:"lr"`
	Steps   int        `json:"n_steps"`
	Best    int        `json:"best_epoch"`
	Sizes   []int      `json:"sizes"`
	EpsAdam float64    `json:"adam_eps"`
	Betas   [2]float64 `json:"adam_betas"`
}

func (r goldenRun) architecture() Architecture {
	last := len(r.Sizes) - 1
	return Architecture{Hidden: r.Sizes[1:last], Outputs: r.Sizes[last],
		Activation: r.Act, SigmaW: r.SigmaW, SigmaB: &r.SigmaB}
}

// recorded hands out the orders of a recorded training, one for each epoch.
type recorded struct{ orders []int }

func (r *recorded) Permute(dst []int) {
	copy(dst, r.orders)
	r.orders = r.orders[len(dst):]
}

// goldenTraining returns the training of a recorded run, before its first step.
func goldenTraining(t *testing.T, name string) (*training, goldenRun) {
	t.Helper()
	var run goldenRun
	golden.Entry(t, "train/"+name, &run)
	net, err := newZero(run.Sizes[0], run.architecture())
	if err != nil {
		t.Fatal(err)
	}
	dir := "train/" + name + "/"
	for l := range net.Layers() {
		matrix.Convert(net.Weights(l), golden.Matrix(t, fmt.Sprintf("%sW%d_init.npy", dir, l+1)))
	}
	x := matrix.Converted[Real](golden.Matrix(t, dir+"X.npy"))
	labels := golden.Vector(t, dir+"y.npy")
	y := matrix.Converted[Real](matrix.View(len(labels), 1, labels))
	training := Training{Epochs: run.Epochs, Batch: run.Batch, Rate: run.Rate,
		Beta1: &run.Betas[0], Beta2: &run.Betas[1], Eps: run.EpsAdam}
	data := Data{
		X: x.Slice(0, run.Train), Y: y.Slice(0, run.Train),
		ValidX: x.Slice(run.Train, x.Rows), ValidY: y.Slice(run.Train, x.Rows),
	}
	return newTraining(net, training, data, &recorded{golden.Ints(t, dir+"perms.npy")}), run
}

func mustMatchWeights(t *testing.T, net *MLP, name, when string, tol float64) {
	t.Helper()
	for l := range net.Layers() {
		w := golden.Matrix(t, fmt.Sprintf("train/%s/W%d_%s.npy", name, l+1, when))
		golden.MustMatch(t, fmt.Sprintf("W%d %s", l+1, when), matrix.Converted[float64](net.Weights(l)), w, tol)
		b := golden.Vector(t, fmt.Sprintf("train/%s/b%d_%s.npy", name, l+1, when))
		golden.MustMatch(t, fmt.Sprintf("b%d %s", l+1, when),
			matrix.Converted[float64](matrix.View(1, len(b), net.Bias(l))), matrix.View(1, len(b), b), tol)
	}
}

func TestGoldenTrainingFloat32(t *testing.T) {
	t.Parallel()
	stepThrough(t, "relu_f32", 1e-5, 1e-3)
	runThrough(t, "relu_f32", 1e-5, 1e-3)
}

// stepThrough compares every step of a recorded training.
func stepThrough(t *testing.T, name string, tol, weightTol float64) {
	t.Helper()
	tr, run := goldenTraining(t, name)
	dir := "train/" + name + "/"
	losses, rates := golden.Vector(t, dir+"losses.npy"), golden.Vector(t, dir+"lrs.npy")
	norms := golden.Vector(t, dir+"gradnorms.npy")
	if tr.steps != run.Steps || len(losses) != run.Steps {
		t.Fatalf("%d steps, want %d", tr.steps, run.Steps)
	}
	for epoch := range run.Epochs {
		tr.order.Permute(tr.rows)
		for b := range len(tr.rows) / tr.batch {
			step := tr.step
			near(t, fmt.Sprintf("rate of step %d", step), tr.rate(), rates[step], 1e-14)
			loss := tr.take(tr.rows[b*tr.batch : (b+1)*tr.batch])
			near(t, fmt.Sprintf("loss of step %d", step), loss, losses[step], tol)
			norm := math.Sqrt(float64(simd.For[Real]().SumSquares(tr.adam.gradient)))
			near(t, fmt.Sprintf("gradient norm of step %d", step), norm, norms[step], 100*tol)
		}
		if epoch == 0 || epoch == run.Epochs-1 {
			mustMatchWeights(t, tr.net, name, fmt.Sprintf("epoch%d", epoch), weightTol)
		}
	}
}

// runThrough compares the loop around the steps: validation and what is kept.
func runThrough(t *testing.T, name string, tol, weightTol float64) {
	t.Helper()
	tr, run := goldenTraining(t, name)
	history, err := tr.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range golden.Vector(t, "train/"+name+"/valid_rmse.npy") {
		near(t, fmt.Sprintf("validation RMSE of epoch %d", i), history.Epochs[i].ValidRMSE, want, tol)
	}
	if history.Best != run.Best+1 {
		t.Errorf("epoch %d was kept, want %d", history.Best, run.Best+1)
	}
	mustMatchWeights(t, tr.net, name, "final", weightTol)
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Abs(want)) {
		t.Fatalf("%s is %v, want %v: relative difference %.3g", what, got, want, math.Abs(got/want-1))
	}
}

// goldenNet returns a recorded network: golden/relu or golden/silu.
func goldenNet(t *testing.T, act string, model int) *MLP {
	t.Helper()
	var sizes []int
	golden.Entry(t, act+"/sizes", &sizes)
	a, err := ParseActivation(act)
	if err != nil {
		t.Fatal(err)
	}
	last := len(sizes) - 1
	net, err := newZero(sizes[0], Architecture{Hidden: sizes[1:last], Activation: a,
		SigmaW: golden.Scalar(t, act+"/sigma_w"), SigmaB: new(golden.Scalar(t, act+"/sigma_b"))})
	if err != nil {
		t.Fatal(err)
	}
	for l := range net.Layers() {
		matrix.Convert(net.Weights(l), golden.Matrix(t, fmt.Sprintf("%s/model%d/W%d.npy", act, model, l+1)))
		for i, b := range golden.Vector(t, fmt.Sprintf("%s/model%d/b%d.npy", act, model, l+1)) {
			net.Bias(l)[i] = Real(b)
		}
	}
	return net
}

func TestGoldenForward(t *testing.T) {
	t.Parallel()
	for _, act := range []string{"relu", "silu"} {
		net := goldenNet(t, act, 0)
		for part, tol := range map[string]float64{"train": tolerance(1e-10, 1e-6),
			"pool": tolerance(1e-10, 1e-6), "pool_f32": 1e-6} {
			x := matrix.Converted[Real](golden.Matrix(t, "X_"+strings.TrimSuffix(part, "_f32")+".npy"))
			z := predict(net, x)
			golden.MustMatchVector(t, act+" "+part, matrix.Converted[float64](z).Data,
				golden.Vector(t, act+"/forward_"+part+".npy"), tol)
		}
	}
}
