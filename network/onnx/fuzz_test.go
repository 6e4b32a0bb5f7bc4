package onnx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// FuzzParse: no file panics, needs memory out of proportion or runs into a shape that
// was not checked.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.onnx")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		net, err := Parse(raw, Options{})
		if err != nil {
			return
		}
		x := matrix.New[float32](2, net.Inputs())
		if _, err := net.Predict(t.Context(), x); err != nil {
			return // a category that an embedding does not have
		}
		if net.CheckGradients() != nil || net.outputs() > 4 {
			return
		}
		net.taps(2).Block(t.Context(), x, 0)
	})
}

// FuzzDescribed: no description and no safetensors file panics or needs memory out of proportion.
func FuzzDescribed(f *testing.F) {
	text, err := os.ReadFile("testdata/described/torch.json")
	if err != nil {
		f.Fatal(err)
	}
	raw, err := os.ReadFile("testdata/described/torch.safetensors")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, raw)
	f.Add([]byte(`{"weights": "w", "inputs": 2, "layers": [{"op": "Mul", "from": ["inputs", "inputs"], "as": "h"}, `+
		`{"op": "Add", "from": ["h", ""]}]}`), raw)
	f.Fuzz(func(t *testing.T, text, raw []byte) {
		net, err := parseDescribed(text, raw)
		if err != nil {
			return
		}
		if _, err := net.Predict(t.Context(), matrix.New[float32](2, net.Inputs())); err != nil {
			t.Fatal(err)
		}
	})
}

// parseDescribed is LoadDescribed without files.
func parseDescribed(text, raw []byte) (*Network, error) {
	d, err := readDescription(text)
	if err != nil {
		return nil, err
	}
	tensors, err := network.ReadTensors(raw)
	if err != nil {
		return nil, err
	}
	m, err := d.model(tensors)
	if err != nil {
		return nil, err
	}
	return newNetwork(m, Options{})
}
