package onnx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
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
