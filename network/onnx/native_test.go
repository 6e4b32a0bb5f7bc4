package onnx_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/network/onnx"
	"github.com/nextbatch/nextbatch/spec"
)

// exported fits a model and returns it with the network that is read back from its
// ONNX file.
func exported(t *testing.T, a network.Activation, x matrix.Dense[float32], y []float64,
	pool matrix.Dense[float32]) (*network.Model, *onnx.Network) {
	t.Helper()
	config := network.Config{Architecture: network.Architecture{Hidden: []int{64, 48}, Activation: a},
		Training: network.Training{Epochs: 12}}
	m, err := network.Fit(t.Context(), network.Sample{X: x, Y: y, Unlabelled: pool}, network.Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "net.onnx")
	if err := onnx.Save(path, m); err != nil {
		t.Fatal(err)
	}
	net, err := onnx.Load(path, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m, net
}

// A network of our own that comes back from an ONNX file, with its scaling in the graph,
// predicts the same and picks the same batch by every kind of kernel and method.
func TestBatchOfAnExportedNetworkIsTheNativeOne(t *testing.T) {
	t.Parallel()
	for _, a := range []network.Activation{network.ReLU, network.SiLU, network.GELU} {
		t.Run(a.String(), func(t *testing.T) {
			x, pool := matrix.New[float32](150, 6), matrix.New[float32](700, 6)
			rng.FillNormal(rng.New(1, "train"), x.Data)
			rng.FillNormal(rng.New(2, "pool"), pool.Data)
			y := make([]float64, x.Rows)
			for i := range y {
				r := x.Row(i)
				y[i] = 40 + 7*float64(r[0]*r[1]-r[2])
			}
			model, net := exported(t, a, x, y, pool)
			want, err := model.Predict(t.Context(), pool)
			if err != nil {
				t.Fatal(err)
			}
			got, err := net.Predict(t.Context(), pool)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range want {
				if d := float64(got.At(i, 0)) - v; d > 1e-4 || d < -1e-4 {
					t.Fatalf("row %d: prediction %v, of the model %v", i, got.At(i, 0), v)
				}
			}
			train, err := model.Inputs(x)
			if err != nil {
				t.Fatal(err)
			}
			candidates, err := model.Inputs(pool)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"lcmd-tp:grad>sketch(512)", "lcmd-tp:ll", "maxdet-p:grad>sketch(128)>train",
				"bait-f-p:ll>train", "maxdist-p:ll(2)", "kmeanspp-tp:grad>sketch(64)"} {
				s := spec.MustParse(text)
				native, err := nextbatch.Select(t.Context(), s, nextbatch.Problem{Models: nextbatch.Models(model.Ensemble()),
					Train: train, Pool: candidates, Batch: 20})
				if err != nil {
					t.Fatal(err)
				}
				foreign, err := nextbatch.Select(t.Context(), s, nextbatch.Problem{Models: []nextbatch.Model{net}, Train: x,
					Pool: pool, Batch: 20})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(native.Rows(), foreign.Rows()) {
					t.Errorf("%s: %v, native %v", text, foreign.Rows(), native.Rows())
				}
			}
		})
	}
}

// A network that is exported takes raw numbers: it subtracts the centres of the columns as well
// as their means, without rounding them by more than the numbers differ.
func TestExportedNetworkFarFromZero(t *testing.T) {
	t.Parallel()
	const offset = 12_000_000 // float32 holds this plus any whole number of a few thousands
	raw, y := matrix.New[float64](150, 2), make([]float64, 150)
	for i := range raw.Rows {
		a, b := float64(i*7%40), float64(i*i%23)/7
		raw.Set(i, 0, offset+a)
		raw.Set(i, 1, b)
		y[i] = a - b*b
	}
	columns := &encode.Encoder{Numeric: []string{"a", "b"}, Centres: dataset.Centres(raw)}
	x := matrix.New[float32](raw.Rows, raw.Cols)
	dataset.Centre(x, raw, columns.Centres)
	config := network.Config{Architecture: network.Architecture{Hidden: []int{32}}, Training: network.Training{Epochs: 20}}
	m, err := network.Fit(t.Context(), network.Sample{X: x, Y: y}, network.Options{Config: config, Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	file, err := onnx.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "net.onnx")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	net, err := onnx.Load(path, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if net.Columns() == nil || net.Columns().Centres != nil || m.Columns().Centres == nil {
		t.Errorf("columns %+v, of the model %+v", net.Columns(), m.Columns())
	}
	want, err := m.Predict(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	got, err := net.Predict(t.Context(), matrix.Converted[float32](raw))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range want {
		if d := float64(got.At(i, 0)) - v; d > 1e-3 || d < -1e-3 {
			t.Fatalf("row %d: prediction %v, of the model %v", i, got.At(i, 0), v)
		}
	}
}
