package incontext

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// golden is what PyTorch computes with the same weights (training/incontext/golden.py).
type golden struct {
	Rows                     [][]*float32
	Nominal                  []bool
	Labels                   []float64
	Views                    int
	Means, Deviations, First []float64
}

func readGolden(t *testing.T) (list []golden) {
	t.Helper()
	raw, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func (g golden) tables() (Table, matrix.Dense[float32]) {
	all := matrix.New[float32](len(g.Rows), len(g.Nominal))
	for i, row := range g.Rows {
		for j, v := range row {
			all.Set(i, j, float32(math.NaN()))
			if v != nil {
				all.Set(i, j, *v)
			}
		}
	}
	levels := make([]int, len(g.Nominal))
	for j, nominal := range g.Nominal {
		if nominal {
			levels[j] = 500
		}
	}
	n := len(g.Labels)
	return Table{all.Slice(0, n), levels, g.Labels}, all.Slice(n, all.Rows)
}

// TestPredictsAsPyTorchDoes: a thousandth of a per cent far from the mean is enough to move a deviation, so float32
// gives it fewer digits than the mean.
func TestPredictsAsPyTorchDoes(t *testing.T) {
	list := readGolden(t)
	if testing.Short() { // plain loops are slow
		list = slices.Concat(list[:2], list[4:])
	}
	for k, g := range list {
		table, others := g.tables()
		d := predict(t, table, others, g.Views, 0)
		means, deviations := d.Moments()
		_, spread := table.moments()
		for i := range means {
			apart := math.Abs(deviations[i] - g.Deviations[i])
			if math.Abs(means[i]-g.Means[i]) > 1e-4*spread || apart > 5e-4*spread {
				t.Errorf("table %d, row %d: %v ± %v, want %v ± %v", k, i, means[i], deviations[i], g.Means[i], g.Deviations[i])
			}
		}
		for b, p := range g.First {
			if math.Abs(d.Probabilities.At(0, b)-p) > 1e-5 {
				t.Errorf("table %d, bin %d: %v, want %v", k, b, d.Probabilities.At(0, b), p)
			}
		}
	}
}

func skipIfShort(t *testing.T) {
	if testing.Short() {
		t.Skip("plain loops are slow")
	}
}

func (t Table) moments() (mean, deviation float64) {
	l := newLabels(t.Labels)
	return l.mean, l.deviation
}

func predict(t *testing.T, table Table, rows matrix.Dense[float32], views, threads int) Distributions {
	t.Helper()
	m, err := New(table, views)
	if err != nil {
		t.Fatal(err)
	}
	d, err := m.Predict(linalg.WithThreads(context.Background(), threads), rows)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestThreadsAndNeighboursChangeNothing(t *testing.T) {
	skipIfShort(t)
	g := readGolden(t)[3]
	table, others := g.tables()
	all := predict(t, table, others, 2, 1)
	if more := predict(t, table, others, 2, 4); !slices.Equal(all.Probabilities.Data, more.Probabilities.Data) {
		t.Error("four threads predict otherwise than one")
	}
	one := predict(t, table, others.Slice(7, 8), 2, 0)
	for b, p := range one.Probabilities.Row(0) {
		if math.Abs(p-all.Probabilities.At(7, b)) > 1e-6 {
			t.Fatalf("a row alone has %v in bin %d, among others %v", p, b, all.Probabilities.At(7, b))
		}
	}
}

func TestTheOrderOfRowsChangesNothing(t *testing.T) {
	skipIfShort(t)
	g := readGolden(t)[2]
	table, others := g.tables()
	before, _ := predict(t, table, others, 1, 0).Moments()
	turned := Table{matrix.New[float32](table.Rows.Rows, table.Rows.Cols), table.Levels, slices.Clone(table.Labels)}
	slices.Reverse(turned.Labels)
	for i := range table.Rows.Rows {
		copy(turned.Rows.Row(i), table.Rows.Row(table.Rows.Rows-1-i))
	}
	after, _ := predict(t, turned, others, 1, 0).Moments()
	_, spread := table.moments()
	for i := range before {
		if math.Abs(before[i]-after[i]) > 1e-4*spread {
			t.Errorf("row %d: %v, in another order %v", i, before[i], after[i])
		}
	}
}

func TestUnitsChangeLittle(t *testing.T) {
	skipIfShort(t)
	g := readGolden(t)[2]
	table, others := g.tables()
	before, _ := predict(t, table, others, 1, 0).Moments()
	scaled := Table{table.Rows, table.Levels, slices.Clone(table.Labels)}
	for i := range scaled.Labels {
		scaled.Labels[i] = scaled.Labels[i]*1e-9 - 5
	}
	after, _ := predict(t, scaled, others, 1, 0).Moments()
	_, spread := table.moments()
	for i := range before {
		if math.Abs((after[i]+5)*1e9-before[i]) > 1e-2*spread {
			t.Errorf("row %d: %v, in another unit %v", i, before[i], (after[i]+5)*1e9)
		}
	}
}

func TestDamagedWeightsAreRefused(t *testing.T) {
	damaged := slices.Clone(weightsFile)
	damaged[len(damaged)/2] ^= 1
	if _, err := readNetwork(damaged, manifest); err == nil {
		t.Error("a flipped bit goes unseen")
	}
	for _, file := range [][]byte{nil, weightsFile[:7], weightsFile[:100], weightsFile[:len(weightsFile)-2]} {
		if tensors, err := readTensors(file); err == nil {
			if tensors.take("answer.bias", 256); tensors.err == nil {
				tensors.take("thinking", 8, 128)
			}
			if tensors.err == nil {
				t.Errorf("%d of %d bytes are read", len(file), len(weightsFile))
			}
		}
	}
}

func TestTablesThatTheNetworkCannotRead(t *testing.T) {
	rows, nan := matrix.New[float32](3, 2), math.NaN()
	for _, bad := range []Table{
		{rows, []int{0}, []float64{1, 2, 3}},
		{rows, []int{0, 0}, []float64{1, 2}},
		{rows, []int{0, 0}, []float64{1, nan, 3}},
		{rows.Slice(0, 1), []int{0, 0}, []float64{1}},
		{matrix.New[float32](3, 129), make([]int, 129), []float64{1, 2, 3}},
		{matrix.New[float32](1025, 1), make([]int, 1), make([]float64, 1025)},
		{matrix.FromRows([][]float32{{1}, {float32(math.Inf(1))}}), []int{0}, []float64{1, 2}},
	} {
		if _, err := New(bad, 1); err == nil {
			t.Errorf("a table of %d×%d with %d labels is taken", bad.Rows.Rows, bad.Rows.Cols, len(bad.Labels))
		}
	}
	if _, err := New(Table{rows, []int{0, 0}, []float64{1, 2, 3}}, 0); err == nil {
		t.Error("no views are taken")
	}
	// Equal labels and columns that never vary are no error.
	if d := predict(t, Table{rows, []int{0, 0}, []float64{4, 4, 4}}, rows, 1, 0); d.Probabilities.Rows != 3 {
		t.Error("equal labels are not predicted")
	}
}

func BenchmarkPredict(b *testing.B) {
	table := Table{matrix.New[float32](300, 10), make([]int, 10), make([]float64, 300)}
	for i := range table.Rows.Data {
		table.Rows.Data[i] = float32(mix(uint64(i))%1000) / 100
	}
	for i := range table.Labels {
		table.Labels[i] = float64(table.Rows.At(i, 0) + table.Rows.At(i, 3)*table.Rows.At(i, 4))
	}
	for b.Loop() {
		m, err := New(table, 1)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.Predict(context.Background(), table.Rows.Slice(0, 100)); err != nil {
			b.Fatal(err)
		}
	}
}
