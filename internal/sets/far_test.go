package sets

import (
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// farTable has numbers far from zero, one of which is missing, and other columns. Offsets that are whole numbers are
// added exactly.
func farTable(t *testing.T, offset float64) *dataset.Table {
	t.Helper()
	stream := rng.New(1, "digits")
	a, b := dataset.NewNumeric("a"), dataset.NewNumeric("b")
	for row := range 60 {
		v := math.Round(4096*stream.NormFloat64())/4096 + offset
		if row == 3 {
			v = math.NaN()
		}
		a.Append(v)
		b.Append(stream.NormFloat64())
	}
	table, err := dataset.NewTable(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestPrepareFarFromZero: the numbers of a data set stay as they are, unless float32 would lose
// their digits.
func TestPrepareFarFromZero(t *testing.T) {
	plain := farTable(t, 0)
	y := dataset.NewNumeric("y")
	for row := range 60 {
		y.Append(float64(row))
	}
	prepare := func(table *dataset.Table) *Regression {
		all, err := dataset.NewTable(append(slices.Clone(table.Columns()), y)...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Prepare(all, Preparation{Target: encode.Target{Columns: []string{"y"}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := prepare(plain)
	if want.Encoder.Centres != nil {
		t.Fatalf("centres %v of a column around zero", want.Encoder.Centres)
	}
	for _, offset := range []float64{1e7, 1.7e9, 1e12, -3e9} {
		r := prepare(farTable(t, offset))
		if len(r.Encoder.Centres) != 2 || r.Encoder.Centres[0] == 0 || r.Encoder.Centres[1] != 0 {
			t.Fatalf("offset %v: centres %v", offset, r.Encoder.Centres)
		}
		for i := range r.X.Rows {
			moved := float64(r.X.At(i, 0)) + (r.Encoder.Centres[0] - offset)
			if math.Abs(moved-float64(want.X.At(i, 0))) > 1e-6 || r.X.At(i, 1) != want.X.At(i, 1) {
				t.Fatalf("offset %v, row %d: %v, want %v", offset, i, r.X.Row(i), want.X.Row(i))
			}
		}
	}
	years := dataset.NewNumeric("year")
	for row := range 60 {
		years.Append(float64(2000 + row%7))
	}
	table, err := plain.Without("b")
	if err != nil {
		t.Fatal(err)
	}
	if table, err = dataset.NewTable(append(slices.Clone(table.Columns()), years)...); err != nil {
		t.Fatal(err)
	}
	if r := prepare(table); r.Encoder.Centres != nil {
		t.Errorf("centres %v of years, which float32 holds", r.Encoder.Centres)
	}
}
