package nextbatch_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// farOffsets are constants that float64 adds exactly to multiples of 1/4096: 1.7e9 is a time in
// Unix seconds.
var farOffsets = []float64{1e7, 1.7e9, 1e12}

// farTables has labelled rows and candidates with an offset in column a, and labels of two targets.
func farTables(t *testing.T, offset float64) (train, pool *dataset.Table) {
	t.Helper()
	stream := rng.New(1, "far from zero")
	var tables []*dataset.Table
	for _, rows := range []int{40, 101} {
		a, b, y, z := dataset.NewNumeric("a"), dataset.NewNumeric("b"), dataset.NewNumeric("y"), dataset.NewNumeric("z")
		for i := range rows {
			u, v := math.Round(4096*stream.NormFloat64())/4096, stream.NormFloat64()
			a.Append([]float64{u + offset, math.NaN()}[min(i%11/10, 1)])
			b.Append(v)
			y.Append(3*u + 0.1*v)
			z.Append(u * v)
		}
		columns := []dataset.Column{a, b, y, z}
		tables = append(tables, tableOf(t, columns[:4-2*len(tables)]...))
	}
	return tables[0], tables[1]
}

func farRequest(t *testing.T, offset float64) nextbatch.Request {
	train, pool := farTables(t, offset)
	return nextbatch.Request{Input: tables.Input{Train: train, Pool: pool, TargetColumns: []string{"y", "z"}},
		Ask: limits.Ask{Batch: 6}, Spec: spec.MustParse("lcmd-tp:grad>sketch(32)"),
		Options: fitted.Options{Choices: fitted.Choices{Network: network.Config{
			Architecture: network.Architecture{Hidden: []int{16}}, Training: network.Training{Epochs: 5}}}}}
}

// selected returns the batch and the model, with the warnings.
func selected(t *testing.T, r nextbatch.Request) (*nextbatch.Result, *learner.Model, []string) {
	t.Helper()
	plan, err := r.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	result, err := plan.Select(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return result, plan.Model(), plan.Warnings
}

// TestBatchFarFromZero: adding a constant to a column, exactly, changes no bit of the inputs, and
// so neither the batch nor the predictions: of one target and of several, in memory and in
// files, by a network that is trained, or by one that was saved.
func TestBatchFarFromZero(t *testing.T) {
	t.Parallel()
	inFile := func(r nextbatch.Request) nextbatch.Request {
		asked := 0
		r.Folder, r.Admit = t.TempDir(), func(int64, ...string) error {
			if asked++; asked == 1 {
				return errors.New("too much")
			}
			return nil
		}
		return r
	}
	ways := map[string]func(nextbatch.Request) nextbatch.Request{
		"two targets": func(r nextbatch.Request) nextbatch.Request { return r },
		"one target": func(r nextbatch.Request) nextbatch.Request {
			r.Train, r.TargetColumns = tableOf(t, r.Train.Columns()[:3]...), []string{"y"}
			return r
		},
		"in files":   inFile,
		"no network": func(r nextbatch.Request) nextbatch.Request { r.Spec = spec.MustParse("maxdet-p:ntk>train"); return r },
		"saved network": func(r nextbatch.Request) nextbatch.Request {
			_, model, _ := selected(t, r)
			path := filepath.Join(t.TempDir(), "net.safetensors")
			if err := model.Save(path); err != nil {
				t.Fatal(err)
			}
			var err error
			if r.Model, err = learner.Load(path); err != nil {
				t.Fatal(err)
			}
			return r
		},
	}
	for name, way := range ways {
		want, _, _ := selected(t, way(farRequest(t, 0)))
		for _, offset := range farOffsets {
			got, _, warnings := selected(t, way(farRequest(t, offset)))
			if !slices.Equal(got.Indices, want.Indices) || !slices.Equal(got.Scores, want.Scores) ||
				!reflect.DeepEqual(got.Predictions, want.Predictions) {
				t.Errorf("%s, offset %v: rows %v, want %v", name, offset, got.Indices, want.Indices)
			}
			if slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "digits") }) {
				t.Errorf("%s, offset %v: %q", name, offset, warnings)
			}
		}
	}
}

// TestLabelsFarFromZero: labels far from zero are predicted as well as others.
func TestLabelsFarFromZero(t *testing.T) {
	t.Parallel()
	predicted := func(offset float64) []float64 {
		r := farRequest(t, 0)
		y, moved := r.Train.Columns()[2].(*dataset.Numeric), dataset.NewNumeric("y")
		for row := range y.Len() {
			moved.Append(math.Round(1024*y.Float(row))/1024 + offset)
		}
		r.Train = tableOf(t, append(slices.Clone(r.Train.Columns()[:2]), moved)...)
		r.TargetColumns = []string{"y"}
		_, model, warnings := selected(t, r)
		if slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "digits") }) {
			t.Errorf("offset %v: %q", offset, warnings)
		}
		rows := rowsOf(t, tables.Tables{Input: tables.Input{Pool: r.Pool}, Encoder: model.Columns()})
		values, err := model.Predict(t.Context(), rows.Pool)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	want := predicted(0)
	for _, offset := range farOffsets {
		for i, v := range predicted(offset) {
			if d := v - offset - want[i]; math.Abs(d) > 2e-3 {
				t.Fatalf("offset %v, row %d: %v, want %v", offset, i, v-offset, want[i])
			}
		}
	}
}

// sums is a network from elsewhere that takes two inputs as they are.
type sums struct{}

func (sums) Inputs() int                      { return 2 }
func (sums) Taps() kernel.Taps[float32]       { return sums{} }
func (sums) Infinite() kernel.InfiniteNetwork { return kernel.InfiniteNetwork{} }
func (sums) Widths() (in, grad []int)         { return []int{2}, []int{0} }

func (sums) Block(_ context.Context, rows matrix.Dense[float32], _ int) (in, grad []matrix.Dense[float32]) {
	return []matrix.Dense[float32]{rows}, []matrix.Dense[float32]{matrix.New[float32](rows.Rows, 0)}
}

// TestForeignFarFromZero: a network from elsewhere that takes standardised inputs gets them
// with all their digits. One that takes raw inputs gets them in float32, with a warning.
func TestForeignFarFromZero(t *testing.T) {
	t.Parallel()
	inputs := func(offset float64, standardise bool) (matrix.Dense[float32], []string) {
		f := &nextbatch.Foreign{Model: sums{}, Standardise: standardise}
		train, pool := farTables(t, offset)
		tables,
			err := f.Tables(tables.Tables{Input: tables.Input{Train: train, Pool: pool, TargetColumns: []string{"y", "z"},
			Missing: tables.DropMissing}})
		if err != nil {
			t.Fatal(err)
		}
		rows := rowsOf(t, tables)
		_, x, err := f.Inputs(rows)
		if err != nil {
			t.Fatal(err)
		}
		return x, slices.DeleteFunc(rows.Warnings, func(w string) bool { return !strings.Contains(w, "digits") })
	}
	want, _ := inputs(0, true)
	for _, offset := range farOffsets {
		got, warnings := inputs(offset, true)
		if !slices.Equal(got.Data, want.Data) || len(warnings) > 0 {
			t.Errorf("offset %v: row 0 is %v, want %v; %q", offset, got.Row(0), want.Row(0), warnings)
		}
		_, warnings = inputs(offset, false)
		if len(warnings) != 1 || !strings.Contains(warnings[0], `column "a" loses digits: its numbers lie around `) {
			t.Errorf("offset %v: raw inputs: %q", offset, warnings)
		}
	}
	if _, warnings := inputs(0, false); len(warnings) > 0 {
		t.Errorf("%q", warnings)
	}
}

func tableOf(t *testing.T, columns ...dataset.Column) *dataset.Table {
	t.Helper()
	table, err := dataset.NewTable(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func rowsOf(t *testing.T, of tables.Tables) *tables.Rows {
	t.Helper()
	rows, err := of.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
