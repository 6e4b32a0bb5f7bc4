package network

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestRowsOfRawNumbers: a model takes raw numbers by way of Rows, which subtracts what was
// subtracted for Fit, also after the model was saved, and for every target.
func TestRowsOfRawNumbers(t *testing.T) {
	t.Parallel()
	needFloat32(t, "the centres of float64 rows round otherwise")
	x, y := raw(1, 100, 0.1)
	far := matrix.Converted[float64](x)
	for i := range far.Rows {
		far.Set(i, 1, far.At(i, 1)+1.7e9)
	}
	o := quick(1)
	o.Config.Training.Epochs = 3
	both := make([]float64, 0, 2*len(y))
	for _, v := range y {
		both = append(both, v, -v)
	}
	predicted := func(raw matrix.Dense[float64], o Options) []float64 {
		rows := matrix.New[Real](raw.Rows, raw.Cols)
		centres := o.Centres
		if o.Columns != nil {
			centres = o.Columns.Centres
		}
		dataset.Centre(rows, raw, centres)
		m, err := Fit(t.Context(), Sample{X: rows, Y: both, Targets: 2}, o)
		if err != nil {
			t.Fatal(err)
		}
		file, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		back := &Model{}
		if err := back.UnmarshalBinary(file); err != nil {
			t.Fatal(err)
		}
		if back.Centres() == nil || !slices.Equal(back.Centres(), m.Centres()) {
			t.Errorf("centres %v, after saving %v", m.Centres(), back.Centres())
		}
		again, err := back.Target(1).Rows(raw)
		if err != nil || !slices.Equal(again.Data, rows.Data) {
			t.Errorf("other rows: %v", err)
		}
		values, err := back.Target(1).Predict(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	plain := matrix.Converted[float64](x)
	o.Centres = dataset.Centres(plain)
	want := predicted(plain, o)
	o.Centres = dataset.Centres(far)
	if got := predicted(far, o); !slices.Equal(got, want) {
		t.Errorf("far from zero %v, want %v", got[:3], want[:3])
	}
	o.Columns, o.Centres = &encode.Encoder{Numeric: []string{"a", "b", "c"}, Centres: o.Centres}, nil
	if got := predicted(far, o); !slices.Equal(got, want) {
		t.Errorf("of columns %v, want %v", got[:3], want[:3])
	}
	o.Centres = o.Columns.Centres
	for want, o := range map[string]Options{
		"centres beside columns": o,
		"1 centres for 3 inputs": {Centres: []float64{1}},
		"but must be finite":     {Centres: []float64{1, math.NaN(), 2}},
		"centre 0 is +Inf": {Columns: &encode.Encoder{Numeric: []string{"a", "b", "c"},
			Centres: []float64{math.Inf(1), 0, 0}}},
		"2 centres for 3 numeric ": {Columns: &encode.Encoder{Numeric: []string{"a", "b", "c"}, Centres: []float64{1, 0}}},
	} {
		if _, err := Fit(context.Background(), Sample{X: x, Y: y}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestFilesWithCentres: earlier versions reject a file whose inputs have centres, as they would
// predict from other numbers; a file that lacks them, or has them twice, is rejected.
func TestFilesWithCentres(t *testing.T) {
	t.Parallel()
	x, y := raw(1, 60, 0.1)
	o := quick(1)
	o.Config.Training.Epochs = 1
	o.Centres = []float64{0, 0, 0}
	file, err := mustFit(t, x, y, o).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var p filePreprocessing
	header, err := decodeTensors(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(header.metadata["preprocessing"]), &p); err != nil || p.Inputs == inputScaling {
		t.Errorf("scaling %q, %v", p.Inputs, err)
	}
	for want, change := range map[string]func(map[string]any){
		"but with these centres":                 edit("preprocessing", centredScaling, inputScaling),
		"there are 11 tensors":                   addColumns(`{"Numeric":["a","b","c"],"Centres":[1,2,3]}`),
		"2 centres for 3 numeric columns":        addColumns(`{"Numeric":["a","b","c"],"Centres":[1,2]}`),
		`tensor "inputs.centre" has shape [1 3]`: field(centreName, "shape", []int{1, 3}),
	} {
		err := new(Model).UnmarshalBinary(rebuilt(t, file, change))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
