package selection_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// goldenRow is a row of the paper's tables: a whole pipeline.
type goldenRow struct {
	Name       string              `json:"alg"`
	Mode       string              `json:"mode"`
	Over       float64             `json:"overselection_factor"`
	Kernel     string              `json:"kernel"`
	Base       string              `json:"base_kernel"`
	Transforms [][]json.RawMessage `json:"transforms"`
	Models     int                 `json:"n_models"`
	Results    map[string]struct {
		Prefix int `json:"robust_prefix"`
	} `json:"results"`
}

func TestGoldenTableRows(t *testing.T) {
	t.Parallel()
	train, pool := golden.Matrix(t, "X_train.npy"), golden.Matrix(t, "X_pool.npy")
	for _, act := range []string{"relu", "silu"} {
		g := newGoldenKernels(t, act)
		var rows []goldenRow
		golden.Entry(t, act+"/rows", &rows)
		for _, row := range rows {
			t.Run(act+"/"+row.Name, func(t *testing.T) {
				k := g.kernel(t, row)
				for _, batch := range []int{16, 64} {
					p := selection.Problem[float64]{Pool: pool, Train: train, Kernel: k, Batch: batch}
					if row.Mode == "TP" {
						p.Mode = selection.TP
					}
					checkRow(t, row, p, fmt.Sprintf("%s/rowsel/%s_b%d", act, row.Name, batch), fmt.Sprintf("b%d", batch))
				}
			})
		}
	}
}

func checkRow(t *testing.T, row goldenRow, p selection.Problem[float64], file, result string) {
	t.Helper()
	name, _, _ := strings.Cut(row.Name, "_")
	name = strings.TrimSuffix(strings.TrimSuffix(name, "-p"), "-tp")
	if name == "fw" {
		name = "frankwolfe"
	}
	methods := selection.Methods()
	at := slices.IndexFunc(methods, func(e selection.Entry) bool { return e.Name == name })
	if at < 0 {
		t.Fatalf("there is no method %q", name)
	}
	r, err := selection.Select(t.Context(), methods[at].New(selection.Settings{Compat: true}), p)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	want := golden.Ints(t, file+".npy")
	if name == "maxdiag" {
		slices.Reverse(want) // it lists the smallest first
	}
	for i, got := range r.Rows()[:row.Results[result].Prefix] {
		if got != want[i] {
			t.Errorf("%s: pick %d is row %d, want %d", file, i, got, want[i])
			return
		}
	}
}

// goldenKernels builds the kernels of the table rows with the recorded draws.
type goldenKernels struct {
	act    string
	nets   []*kerneltest.Network[float64]
	labels []float64
	train  matrix.Dense[float64]
	draws  map[string]struct {
		Draws int `json:"n_draws"`
	}
	built map[string]kernel.Kernel[float64]
}

func newGoldenKernels(t *testing.T, act string) *goldenKernels {
	g := &goldenKernels{act: act, labels: golden.Vector(t, "y_train.npy"), train: golden.Matrix(t, "X_train.npy"),
		built: map[string]kernel.Kernel[float64]{}}
	golden.Entry(t, act+"/rowkernels", &g.draws)
	for model := range 3 {
		n := &kerneltest.Network[float64]{SigmaW: golden.Scalar(t, act+"/sigma_w"), SigmaB: golden.Scalar(t, act+"/sigma_b"),
			Activation: kerneltest.ReLU}
		if act == "silu" {
			n.Activation = kerneltest.SiLU
		}
		for l := 1; l <= 3; l++ {
			n.Weights = append(n.Weights, golden.Matrix(t, fmt.Sprintf("%s/model%d/W%d.npy", act, model, l)))
			n.Biases = append(n.Biases, golden.Vector(t, fmt.Sprintf("%s/model%d/b%d.npy", act, model, l)))
		}
		g.nets = append(g.nets, n)
	}
	return g
}

// kernel returns the kernel of a row.
func (g *goldenKernels) kernel(t *testing.T, row goldenRow) kernel.Kernel[float64] {
	t.Helper()
	if k, ok := g.built[row.Kernel]; ok {
		return k
	}
	var numbers replay
	for i := range g.draws[row.Kernel].Draws {
		numbers = append(numbers, golden.Matrix(t, fmt.Sprintf("%s/rowkernel/%s/draw%d.npy", g.act, row.Kernel, i)).Data...)
	}
	members := make([]kernel.Kernel[float64], row.Models)
	for i := range members {
		members[i] = g.base(t, row.Base, i)
	}
	k := members[0]
	for _, raw := range row.Transforms {
		k = g.apply(t, k, members, raw, &numbers)
	}
	g.built[row.Kernel] = k
	return k
}

func (g *goldenKernels) base(t *testing.T, name string, model int) kernel.Kernel[float64] {
	t.Helper()
	switch name {
	case "ll":
		k, err := kernels.NewLastLayers(g.nets[model], 1)
		must(t, err)
		return k
	case "grad":
		return kernels.NewGrad(g.nets[model])
	case "linear":
		return kernel.NewLinear[float64](g.train.Cols)
	}
	k, err := kernels.NewNNGP[float64](kernel.InfiniteNetwork{Inputs: g.train.Cols, Layers: 3, SigmaW: g.nets[0].SigmaW})
	must(t, err)
	return k
}

func (g *goldenKernels) apply(t *testing.T, k kernel.Kernel[float64], members []kernel.Kernel[float64],
	raw []json.RawMessage, from *replay) kernel.Kernel[float64] {
	t.Helper()
	var name string
	var given []*float64
	must(t, json.Unmarshal(raw[0], &name))
	must(t, json.Unmarshal(raw[1], &given))
	m, _ := k.(kernel.FeatureMap[float64])
	var err error
	switch name {
	case "scale":
		k, _, err = transform.Scale(t.Context(), k, g.train)
	case "train":
		k, _, err = transform.Train(t.Context(), k, g.train, sigma2)
	case "ens":
		k, err = transform.Ensemble(members...)
	case "rp":
		k, err = transform.Sketch(m, int(*given[0]), from, transform.Published)
	case "acs-grad":
		k, _, err = transform.ACSGrad(t.Context(), k, g.train, sigma2, transform.Published)
	case "acs-rf":
		k, _, err = transform.ACSRandomFeatures(t.Context(), m, g.train, int(*given[0]), sigma2, from, transform.Published)
	case "acs-rf-hyper":
		k, _, err = transform.ACSRandomFeaturesHyper(t.Context(), m, g.train, g.labels, int(*given[0]),
			from, transform.Published)
	default:
		t.Fatalf("no transformation %q", name)
	}
	must(t, err)
	return k
}

// replay is a source of recorded normal numbers.
type replay []float64

func (r *replay) NormFloat64() float64 {
	v := (*r)[0]
	*r = (*r)[1:]
	return v
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
