package encode

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// offsets are constants that float64 adds exactly to multiples of 1/4096: 1.7e9 is a time in
// Unix seconds.
var offsets = []float64{1e7, 1.7e9, 1e12, -3e9}

// offsetTable has numbers far from zero, one of which is missing, and other columns.
func offsetTable(t *testing.T, rows int, offset float64) *dataset.Table {
	t.Helper()
	stream := rng.New(1, "digits")
	a, b := dataset.NewNumeric("a"), dataset.NewNumeric("b")
	for row := range rows {
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

func encoded(t *testing.T, table *dataset.Table) matrix.Dense[float32] {
	t.Helper()
	e := FitEncoder(table, OneHot{})
	rows := make([]int, table.Rows())
	for i := range rows {
		rows[i] = i
	}
	if err := e.FitMissing(t.Context(), table, rows, true); err != nil {
		t.Fatal(err)
	}
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	x := matrix.New[float32](table.Rows(), len(e.Features()))
	if err := Encode(x, e, table); err != nil {
		t.Fatal(err)
	}
	return x
}

// TestEncodeFarFromZero: adding a constant to a column changes no bit of the features, for an
// even and for an odd number of rows.
func TestEncodeFarFromZero(t *testing.T) {
	for _, rows := range []int{50, 51} {
		want := encoded(t, offsetTable(t, rows, 0))
		for _, offset := range offsets {
			if got := encoded(t, offsetTable(t, rows, offset)); !slices.Equal(got.Data, want.Data) {
				t.Errorf("offset %v: other features, %v instead of %v", offset, got.Row(0), want.Row(0))
			}
		}
	}
}

// TestCentre: the centre of a matrix is one of its numbers, whatever else is not finite.
func TestCentre(t *testing.T) {
	x := matrix.View(4, 2, []float64{1e12 + 0.25, math.NaN(), 1e12 + 0.5, math.Inf(1), 1e12,
		math.NaN(), 1e12 + 3, math.NaN()})
	centres := dataset.Centres(x)
	if !slices.Equal(centres, []float64{1e12 + 0.5, 0}) {
		t.Fatalf("centres %v", centres)
	}
	rows := matrix.New[float32](4, 2)
	dataset.Centre(rows, x, centres)
	if got := []float32{rows.At(0, 0), rows.At(1, 0), rows.At(2, 0), rows.At(3, 0)}; !slices.Equal(got,
		[]float32{-0.25, 0, -0.5, 2.5}) {
		t.Errorf("rows %v", got)
	}
	dataset.Centre(rows, x, nil)
	if rows.At(0, 0) != 1e12 {
		t.Errorf("without centres %v", rows.At(0, 0))
	}
}

// TestCoarse: lost digits are reported where they matter, and nowhere else.
func TestCoarse(t *testing.T) {
	normal := func(offset, unit float64, single bool) *dataset.Numeric {
		c, stream := dataset.NewNumeric("c", math.NaN()), rng.New(2, "coarse")
		for range 200 {
			v := offset + unit*stream.NormFloat64()
			if single {
				v = float64(float32(v))
			}
			c.Append(v)
		}
		if single {
			c.FromSingle = true
		}
		return c
	}
	counts := func(offset, step float64) *dataset.Numeric {
		c := dataset.NewNumeric("c")
		for i := range 200 {
			c.Append(offset + step*float64(i%19))
		}
		return c
	}
	outlier := normal(1.7e9, 100, true)
	outlier.Append(0)
	for name, c := range map[string]struct {
		column  *dataset.Numeric
		rounded bool
		want    string // what the text has; empty if nothing is lost
	}{
		"around zero":                         {normal(0, 1, false), false, ""},
		"around zero, rounded":                {normal(0, 1, false), true, ""},
		"Unix seconds in float64":             {normal(1.7e9, 1, false), false, ""},
		"Unix seconds in float64, rounded":    {normal(1.7e9, 1, false), true, "steps of 1.3e+02, those of float32"},
		"Unix seconds in float32":             {normal(1.7e9, 100, true), false, "around 1.7e+09"},
		"a year of seconds in float32":        {normal(1.7e9, 1e7, true), false, ""},
		"ten million in float32":              {normal(1e7, 1, true), false, "steps of 1, those of float32"},
		"1e12 in float64":                     {normal(1e12, 1, false), false, ""},
		"1e16 in float64":                     {normal(1e16, 10, false), false, "steps of 2, those of float64"},
		"large ids":                           {normal(1e18, 1e17, false), false, ""},
		"whole numbers below 2^24":            {counts(16_000_000, 1), true, ""},
		"whole numbers above 2^24":            {counts(20_000_001, 1), false, ""},
		"whole numbers above 2^24, rounded":   {counts(20_000_001, 1), true, "those of float32"},
		"round numbers above 2^24, unchanged": {counts(20_000_000, 100), true, ""},
		"an outlier that dwarfs the others":   {outlier, false, ""},
		"one value":                           {dataset.NewNumeric("c", 1e15, 1e15), false, ""},
		"one value, rounded":                  {dataset.NewNumeric("c", 1e15+1, 1e15+1), true, ""},
		"one value above 2^53":                {dataset.NewNumeric("c", 1e17, 1e17), false, "steps of 16, those of float64"},
		"Unix seconds that are one float32":   {normal(1.7e9, 1, true), false, "steps of 1.3e+02, those of float32"},
		"no value":                            {dataset.NewNumeric("c", math.NaN()), false, ""},
	} {
		lost, found := c.column.Coarse(c.rounded, 0)
		if found != (c.want != "") || found && !strings.Contains(lost.String(), c.want) {
			t.Errorf("%s: %v, %v; want %q", name, found, lost, c.want)
		}
		if again, kept := c.column.Select([]int{0}).(*dataset.Numeric), c.column.FromSingle; again.FromSingle != kept {
			t.Errorf("%s: the copy has forgotten that it was float32", name)
		}
	}
}

// TestConstantByRounding: a column that is dropped because its numbers became one says so.
func TestConstantByRounding(t *testing.T) {
	for v, want := range map[float64]string{7: "has a single value",
		1e18: "has a single value in float64, where numbers so large differ by at least 1.3e+02; if they did differ, " +
			"subtract an offset before the column is saved"} {
		table, err := dataset.NewTable(dataset.NewNumeric("a", v, v, v))
		if err != nil {
			t.Fatal(err)
		}
		if e := FitEncoder(table, OneHot{}); len(e.Dropped) != 1 || e.Dropped[0].Reason != want {
			t.Errorf("%v: %q", v, e.Dropped)
		}
	}
}

// TestScalerFarFromZero: the sum of many large numbers has no digits left for how they vary; mean
// and deviation have.
func TestScalerFarFromZero(t *testing.T) {
	const n, offset = 300_000, 1e12
	labels, plain := make([]float64, n), make([]float64, n)
	stream := rng.New(3, "labels")
	for i := range labels {
		plain[i] = math.Round(64*stream.NormFloat64())/64 + 20
		labels[i] = plain[i] + offset
	}
	got, err := FitLabelScaler(labels)
	if err != nil {
		t.Fatal(err)
	}
	want, err := FitLabelScaler(plain)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Mean-offset-want.Mean) > 2e-4 || math.Abs(got.Deviation-want.Deviation) > 1e-6 {
		t.Errorf("mean %v and deviation %v, want %v and %v", got.Mean-offset, got.Deviation, want.Mean, want.Deviation)
	}
}

func TestEncoderWithWrongCentres(t *testing.T) {
	for want, e := range map[string]Encoder{
		"1 centres for 2 numeric columns": {Numeric: []string{"a", "b"}, Centres: []float64{1}},
		"centre 1 is NaN":                 {Numeric: []string{"a", "b"}, Centres: []float64{1, math.NaN()}},
	} {
		if err := e.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestFitCentresCancelled: an encoder whose centres were not all found subtracts none.
func TestFitCentresCancelled(t *testing.T) {
	table, err := dataset.NewTable(dataset.NewNumeric("a", 1e9, 1e9+1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := FitEncoder(table, OneHot{})
	if err := e.FitCentres(ctx, table, []int{0, 1}); !errors.Is(err, context.Canceled) || e.Centres != nil {
		t.Errorf("%v, centres %v", err, e.Centres)
	}
}
