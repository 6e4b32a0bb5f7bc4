package onnx

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// runtimeCase is a file of testdata with rows and what onnxruntime computes for them.
type runtimeCase struct {
	Rows    [][]float32 `json:"rows"`
	Outputs [][]float32 `json:"outputs"`
}

// everyCase calls f for every network of testdata.
func everyCase(t *testing.T, f func(t *testing.T, net *Network, x, want matrix.Dense[float32])) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		path := strings.TrimSuffix(file, ".json") + ".onnx"
		t.Run(filepath.Base(path), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c runtimeCase
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatal(err)
			}
			net, err := Load(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			f(t, net, matrix.FromRows(c.Rows), matrix.FromRows(c.Outputs))
		})
	}
}

func TestPredictionsAreThoseOfOnnxruntime(t *testing.T) {
	t.Parallel()
	everyCase(t, func(t *testing.T, net *Network, x, want matrix.Dense[float32]) {
		got, err := net.Predict(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		mustBeClose(t, "prediction", got, want, 1e-5)
	})
}

func TestRefusesAndNames(t *testing.T) {
	t.Parallel()
	for file, words := range map[string][]string{
		"operator": {"attention", "Softmax", "wave", "Cos", "not supported"},
		"rows":     {"turn", "Transpose", "rows"},
		"batch":    {"average", "ReduceMean", "axis 0"},
		"opset":    {"operator set 8", "9"},
		"external": {`"w"`, "another file"},
	} {
		_, err := Load("testdata/refused_"+file+".onnx", Options{})
		if err == nil {
			t.Errorf("%s: no error", file)
			continue
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not mention %q", file, err, word)
			}
		}
	}
	var node *NodeError
	if _, err := Load("testdata/refused_rows.onnx", Options{}); !errors.As(err, &node) ||
		node.Op != "Transpose" || node.Node != "turn" {
		t.Errorf("%v is no *NodeError with operator and node", err)
	}
}

func TestUnknownCategoryIsNamed(t *testing.T) {
	t.Parallel()
	net, err := Load("testdata/embedding.onnx", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind, level float32
		word        string
	}{{4, 0, "4 is not a category"}, {0.5, 0, "0.5 is not a category"}, {0, 3, "3 is not a category"}} {
		x := matrix.FromRows([][]float32{{0, 0, 0, 1, 1}, {0, 0, 0, c.kind, c.level}})
		if _, err := net.Predict(t.Context(), x); err == nil || !strings.Contains(err.Error(), c.word) ||
			!strings.Contains(err.Error(), "row 1") {
			t.Errorf("%v: error %v", c, err)
		}
	}
}
