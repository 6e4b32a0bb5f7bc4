package onnx

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// writeTensors writes a safetensors file.
func writeTensors(t *testing.T, path string, tensors map[string]*constant) {
	t.Helper()
	header, data := map[string]any{}, []byte{}
	for name, c := range tensors {
		from := len(data)
		for _, v := range c.floats {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		header[name] = map[string]any{"dtype": "F32", "shape": c.shape, "data_offsets": []int{from, len(data)}}
	}
	// PyTorch counts batches in an integer, which is not a weight.
	header["1.num_batches_tracked"] = map[string]any{"dtype": "I64", "shape": []int{},
		"data_offsets": []int{len(data), len(data) + 8}}
	data = append(data, make([]byte, 8)...)
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	raw := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if err := os.WriteFile(path, append(raw, data...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A file that PyTorch's safetensors wrote predicts what PyTorch does.
func TestDescribedByPyTorch(t *testing.T) {
	t.Parallel()
	net, err := LoadDescribed("testdata/described/torch.json", Options{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("testdata/described/outputs.json")
	if err != nil {
		t.Fatal(err)
	}
	var c runtimeCase
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	y, err := net.Predict(t.Context(), matrix.FromRows(c.Rows))
	if err != nil {
		t.Fatal(err)
	}
	mustBeClose(t, "prediction", y, matrix.FromRows(c.Outputs), 1e-5)
}

// A PyTorch network as a state dictionary with a description predicts what its ONNX file
// does.
func TestDescribedNetwork(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/torch_residual_old.onnx")
	if err != nil {
		t.Fatal(err)
	}
	m, err := decodeModel(raw)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tensors := map[string]*constant{}
	for i := range m.graph.initializers {
		c, err := newConstant(&m.graph.initializers[i])
		if err != nil {
			t.Fatal(err)
		}
		tensors[m.graph.initializers[i].name] = c
	}
	writeTensors(t, filepath.Join(dir, "net.safetensors"), tensors)
	text := `{"weights": "net.safetensors", "inputs": 6, "layers": [
		{"op": "Linear", "name": "first"}, {"op": "BatchNorm1d", "name": "norm"}, {"op": "ReLU", "as": "h"},
		{"op": "Linear", "name": "second"}, {"op": "Tanh"}, {"op": "Add", "from": ["h", ""]}, {"op": "Dropout"},
		{"op": "Linear", "name": "out"}]}`
	load := func(text string) (*Network, error) {
		path := filepath.Join(dir, "net.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return LoadDescribed(path, Options{})
	}
	net, err := load(text)
	if err != nil {
		t.Fatal(err)
	}
	same, err := Load("testdata/torch_residual_old.onnx", Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := normals(4, 9, 6)
	predict := func(net *Network) matrix.Dense[float32] {
		y, err := net.Predict(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		return y
	}
	mustBeClose(t, "prediction", predict(net), predict(same), 0)

	for _, c := range []struct{ old, new, word string }{
		{`"Tanh"`, `"Conv1d"`, "layer 4 (Conv1d): the class is not supported"},
		{`"name": "second"`, `"name": "third"`, `no tensor "third.weight"`},
		{`"inputs": 6`, `"inputs": 5`, "do not fit"},
		{`["h", ""]`, `["i", ""]`, `nothing computes its input "i"`},
		{`"net.safetensors"`, `"../net.safetensors"`, "beside the description"},
		{`"as"`, `"ass"`, "unknown field"},
	} {
		if _, err := load(strings.Replace(text, c.old, c.new, 1)); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: error %v", c.new, err)
		}
	}
}
