package network

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/matrix"
)

// load reads a file that Save wrote.
func load(path string) (*Model, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &Model{}
	return m, m.UnmarshalBinary(raw)
}

func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "model.safetensors")
	x, y := raw(1, 400, 0.1)
	o := quick(2)
	o.Columns, o.Source = &encode.Encoder{Numeric: []string{"a", "b", "c"}}, "a test"
	r := mustFit(t, x, y, o)
	for range 2 { // the second time over an old file
		if err := r.Save(path); err != nil {
			t.Fatal(err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left behind", len(files))
	}
	back, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := o.Config.WithDefaults(); !reflect.DeepEqual(back.config, want) || back.holdout != nil ||
		!reflect.DeepEqual(back.Columns(), o.Columns) {
		t.Errorf("configuration %+v, want %+v; holdout %v, columns %+v", back.config, want, back.holdout, back.Columns())
	}
	if !reflect.DeepEqual(back.Provenance(), r.Provenance()) || len(back.Ensemble()) != 2 ||
		back.posteriors[0].Noise != defaultNoise {
		t.Errorf("%+v", back)
	}
	x, _ = raw(9, 40, 0)
	predicted, _ := r.PredictStd(t.Context(), x)
	got, err := back.PredictStd(t.Context(), x)
	if err != nil || !reflect.DeepEqual(got, predicted) {
		t.Errorf("other predictions (%v)", err)
	}
	_, wantHigh, _ := r.PredictInterval(t.Context(), x, 0.8)
	if _, high, err := back.PredictInterval(t.Context(), x, 0.8); err != nil || !slices.Equal(high, wantHigh) {
		t.Errorf("other intervals (%v)", err)
	}
	first, _ := r.MarshalBinary()
	second, _ := back.MarshalBinary()
	if !bytes.Equal(first, second) {
		t.Error("saved twice, the bytes differ")
	}
}

func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	if err := new(Model).Save(filepath.Join(t.TempDir(), "x")); !errors.Is(err, ErrNotFitted) {
		t.Errorf("error %v", err)
	}
	if err := fitted(t, 1).Save(filepath.Join(t.TempDir(), "no", "such", "folder")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// rebuilt returns a file with its header changed.
func rebuilt(t testing.TB, raw []byte, change func(header map[string]any)) []byte {
	t.Helper()
	length := binary.LittleEndian.Uint64(raw)
	var header map[string]any
	if err := json.Unmarshal(raw[8:8+length], &header); err != nil {
		t.Fatal(err)
	}
	change(header)
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, raw[8+length:])
}

// edit returns a change of one text of the metadata.
func edit(key, old, new string) func(map[string]any) {
	return func(header map[string]any) {
		metadata := header["__metadata__"].(map[string]any)
		metadata[key] = strings.Replace(metadata[key].(string), old, new, 1)
	}
}

func addColumns(text string) func(map[string]any) {
	return func(header map[string]any) { header["__metadata__"].(map[string]any)["columns"] = text }
}

func field(tensor, key string, value any) func(map[string]any) {
	return func(header map[string]any) { header[tensor].(map[string]any)[key] = value }
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	needFloat32(t, "the messages name its size")
	r := fitted(t, 1)
	good, err := r.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	header := func(text string) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	}
	bias := "members.0.layers.2.bias"
	negative := slices.Clone(good)
	binary.LittleEndian.PutUint64(negative[len(negative)-8:], math.Float64bits(-1)) // the last validation error
	notFinite := slices.Clone(good)
	binary.LittleEndian.PutUint64(notFinite[len(notFinite)-8:], math.Float64bits(math.NaN()))
	tests := map[string]struct {
		raw  []byte
		word string
	}{
		"empty":         {nil, "0 bytes"},
		"short":         {good[:7], "7 bytes"},
		"no header":     {good[:8], "the header has"},
		"half a header": {good[:100], "the header has"},
		"half the data": {good[:len(good)/2], "truncated"},
		"a byte less":   {good[:len(good)-1], "truncated"},
		"a byte more":   {append(slices.Clone(good), 0), "bytes of data, the file"},
		"huge header":   {[]byte{255, 255, 255, 255, 255, 255, 255, 255, '{', '}'}, "the header has"},
		"no object":     {header(`[]`), "no JSON object"},
		"broken JSON":   {header(`{"a": `), "header"},
		"two objects":   {header(`{} {}`), "more after"},
		"twice": {header(`{"a": {"dtype":"F32","shape":[0],"data_offsets":[0,0]}, "a": {}}`),
			`"a" is there twice`},
		"unknown field": {header(`{"a": {"dtype":"F32","shape":[0],"data_offsets":[0,0],"b":1}}`), "unknown field"},
		"negative":      {header(`{"a": {"dtype":"F32","shape":[-1],"data_offsets":[0,0]}}`), "header"},
		"overflow": {header(`{"a": {"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`),
			"too large"},
		"metadata number": {header(`{"__metadata__": {"a": 1}}`), "header"},
		"no format":       {header(`{}`), `the format is ""`},
		"other format":    {rebuilt(t, good, edit("format", "1", "2")), "the format is"},
		"dtype":           {rebuilt(t, good, field(bias, "dtype", "F16")), `"F16" is not supported`},
		"other dtype":     {rebuilt(t, good, field(bias, "dtype", "BF16")), "bytes, not"},
		"integers":        {rebuilt(t, good, field(bias, "dtype", "I32")), "is of type I32, not F32"},
		"offsets":         {rebuilt(t, good, field(bias, "data_offsets", []int{4, 0})), "data_offsets"},
		"one offset":      {rebuilt(t, good, field(bias, "data_offsets", []int{4})), "data_offsets"},
		"overlap":         {rebuilt(t, good, field(bias, "data_offsets", []int{0, 4})), "overlap"},
		"shape":           {rebuilt(t, good, field(bias, "shape", []int{2})), "takes 8 bytes, not 4"},
		"missing tensor": {rebuilt(t, good, func(h map[string]any) { h["extra"] = h[bias]; delete(h, bias) }),
			`no tensor "` + bias},
		"no architecture": {rebuilt(t, good, edit("architecture", "{", "")), "metadata, architecture"},
		"other widths": {rebuilt(t, good, edit("architecture", "[40,40]", "[40,41]")),
			"does not fit its architecture [3 40 41 1]"},
		"other depth":      {rebuilt(t, good, edit("architecture", "[40,40]", "[40]")), "2 layers"},
		"huge widths":      {rebuilt(t, good, edit("architecture", "[40,40]", "[1000000,1000000]")), "does not fit"},
		"no hidden layers": {rebuilt(t, good, edit("architecture", "[40,40]", "null")), "hidden layers"},
		"other activation": {rebuilt(t, good, edit("architecture", `"relu"`, `"nope"`)), `no activation "nope"`},
		"many members": {rebuilt(t, good, edit("architecture", `"members":1`, `"members":1000000000`)),
			"1000000000 members"},
		"other inputs":    {rebuilt(t, good, edit("architecture", `"inputs":3`, `"inputs":4`)), "shape [3 40], not [4 40]"},
		"negative inputs": {rebuilt(t, good, edit("architecture", `"inputs":3`, `"inputs":-3`)), "-3 inputs"},
		"training":        {rebuilt(t, good, edit("training", `"epochs":60`, `"epochs":-60`)), "-60 epochs"},
		"columns": {rebuilt(t, good, addColumns(`{"Numeric":["a"]}`)),
			"the columns give 1 inputs, but the networks have 3"},
		"no columns":        {rebuilt(t, good, addColumns(`[`)), "metadata, columns"},
		"preprocessing":     {rebuilt(t, good, edit("preprocessing", "tanh", "sinh")), "scaled by"},
		"posterior":         {rebuilt(t, good, edit("uncertainty", `"unit":`, `"unit":-`)), "posterior 0"},
		"intervals":         {rebuilt(t, good, edit("intervals", `"floor":`, `"floor":-1e`)), "intervals"},
		"no intervals":      {rebuilt(t, good, edit("intervals", "{", "")), "metadata, intervals"},
		"negative errors":   {negative, "negative or not sorted"},
		"NaN":               {notFinite, `tensor "validation.errors": number 79 is NaN`},
		"no JSON in header": {header(`{"a"}`), "header"},
	}
	for name, test := range tests {
		var r Model
		err := r.UnmarshalBinary(test.raw)
		if err == nil || !strings.Contains(err.Error(), test.word) {
			t.Errorf("%s: error %v does not say %q", name, err, test.word)
		}
		if r.ensemble != nil {
			t.Errorf("%s: the model changed", name)
		}
	}
}

// tiny returns a file of a few hundred bytes, to start fuzzing from.
func tiny(t testing.TB) []byte {
	t.Helper()
	x, y := raw(1, 6, 0)
	r := mustFit(t, x, y, Options{Config: Config{Architecture: Architecture{Hidden: []int{2}},
		Training: Training{Epochs: 1}}})
	file, err := r.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// FuzzLoad reads any bytes: an error or a model that works, never a panic.
func FuzzLoad(f *testing.F) {
	good := tiny(f)
	f.Add(good)
	f.Add(good[:len(good)-5])
	f.Add(rebuilt(f, good, edit("architecture", "[2]", "[2,2]")))
	f.Add(rebuilt(f, good, field("inputs.mean", "shape", []int{1, 3})))
	f.Fuzz(func(t *testing.T, file []byte) {
		var r Model
		if r.UnmarshalBinary(file) != nil {
			return
		}
		if _, err := r.MarshalBinary(); err != nil {
			t.Errorf("what was loaded cannot be saved: %v", err)
		}
		if _, err := r.PredictStd(t.Context(), matrix.New[Real](2, r.Ensemble()[0].Inputs())); err != nil {
			t.Logf("prediction: %v", err)
		}
	})
}

// TestLoadsEarlierFiles: a file that was saved before holdout and σ_b could be zero
// still loads, and predicts what it predicted then.
func TestLoadsEarlierFiles(t *testing.T) {
	t.Parallel()
	needFloat32(t, "the files have its weights")
	m, err := load(filepath.Join("testdata", "before_0.1.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Columns() == nil || *m.config.Architecture.SigmaB != 0.2 || m.Provenance().ValidRows != 20 {
		t.Errorf("%+v", m)
	}
	u, err := m.PredictStd(t.Context(), matrix.FromRows([][]Real{{0, 1, 1}, {0.8414709848078965, -0.9899924966004454, 0}}))
	if err != nil {
		t.Fatal(err)
	}
	golden.MustMatchVector(t, "means", u.Mean, []float64{0.5478114731897546, 0.47287579533161606}, 1e-5)
	golden.MustMatchVector(t, "deviations", u.Std, []float64{0.865388658184722, 1.4981150366002953}, 1e-5)
}
