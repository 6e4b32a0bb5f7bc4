package tables

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/golden"
)

// TestLeaks: columns that are measured together with the label are not inputs, in one table and in two, unless they are
// kept; those that set labelled rows apart are named.
func TestLeaks(t *testing.T) {
	t.Parallel()
	list := golden.Leaks(t)
	for _, want := range list {
		name, table := want.Name, readLeak(t, want.Name, want.Target)
		whole := Tables{Input: Input{Table: table, IDColumn: "id", TargetColumns: []string{want.Target}}}
		labelled := AnyLabel(table, whole.TargetColumns)
		var with, without []int
		for row := range table.Rows() {
			if labelled(row) {
				with = append(with, row)
			} else {
				without = append(without, row)
			}
		}
		halves := whole
		halves.Table, halves.Train, halves.Pool = nil, table.Select(with), table.Select(without)
		for _, tables := range []Tables{whole, halves} {
			rows := rowsOf(t, tables)
			want.Check(t, "rows", droppedOf(rows), strings.Join(rows.Warnings, "\n"))
			if len(rows.Encoder.Features()) < 5 {
				t.Errorf("%s: inputs %q", name, rows.Encoder.Features())
			}
		}
		whole.Keep = want.Dropped
		for _, text := range rowsOf(t, whole).Warnings {
			if len(want.Dropped) > 0 && strings.Contains(text, "labelled rows") || strings.Contains(text, "measured together") {
				t.Errorf("%s, kept: %q", name, text)
			}
		}
	}
	if files, err := filepath.Glob("testdata/leaks/*.csv"); err != nil || len(files) != len(list) || len(files) < 30 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// TestLeakThatThePoolLacks: a column that is measured together with the label is not an input, either, where the table
// of candidates does not have it. With too few rows to tell, or for a column that is kept, that is an error.
func TestLeakThatThePoolLacks(t *testing.T) {
	t.Parallel()
	in := func(few bool, keep ...string) Tables {
		a, b, conversion, y := dataset.NewNumeric("a"), dataset.NewNumeric("a"), dataset.NewNumeric("conversion"),
			dataset.NewNumeric("y")
		n := 24
		if few {
			n = 3
		}
		for i := range n {
			a.Append(float64(i * i % 7))
			b.Append(float64(i * i % 11))
			conversion.Append(float64(i * i % 13))
			y.Append(float64(i))
		}
		return Tables{Input: Input{Train: tableOf(t, a, conversion, y), Pool: tableOf(t, b), TargetColumns: []string{"y"},
			Columns: Columns{Keep: keep}}}
	}
	rows := rowsOf(t, in(false))
	const word = `column "conversion" is not used: it has values in 24 of 24 labelled rows, and the pool has no such ` +
		`column, so it is measured together with the label`
	if got := rows.Encoder.Columns(); !slices.Equal(got, []string{"a"}) || !slices.Contains(rows.Warnings, word) {
		t.Errorf("inputs %q, warnings %q", got, rows.Warnings)
	}
	for _, tables := range []Tables{in(true), in(false, "conversion")} {
		if _, err := tables.Rows(t.Context()); err == nil || !strings.Contains(err.Error(),
			`"conversion" is not in the table`) {
			t.Errorf("got %v", err)
		}
	}
}

func readLeak(t *testing.T, name, target string) *dataset.Table {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "leaks", name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	table, err := source.ReadCSV(t.Context(), file, source.Options{ID: "id"}.WithLabels([]string{target}))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// droppedOf lists the columns that are not inputs because of the label.
func droppedOf(r *Rows) (names []string) {
	for _, d := range r.Encoder.Dropped {
		if slices.Contains([]string{together, "is a copy of the label", "has the name of the label"}, d.Reason) {
			names = append(names, d.Column)
		}
	}
	return names
}

// TestOnlyLeaks: without another input there is an error, which says why.
func TestOnlyLeaks(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	x := dataset.NewNumeric("x", append([]float64{1, 2, 3, 4, 5, 6}, slices.Repeat([]float64{nan}, 20)...)...)
	y := dataset.NewNumeric("y", append([]float64{3, 1, 2, 6, 4, 5}, slices.Repeat([]float64{nan}, 20)...)...)
	_, err := Tables{Input: Input{Table: tableOf(t, x, y), TargetColumns: []string{"y"}}}.Rows(t.Context())
	if !errors.Is(err, errNoInput) || !strings.Contains(err.Error(),
		`"x" is not used: it has values in 6 of 6 labelled rows and in 0 of 20 others`) {
		t.Error(err)
	}
}

// TestNoInputSaysWhy: the error lists what keeps each column from being an input.
func TestNoInputSaysWhy(t *testing.T) {
	t.Parallel()
	names, y := make([]string, 22), make([]float64, 22)
	for i := range names {
		names[i], y[i] = fmt.Sprintf("A_%03d", i), float64(i*i%7)
	}
	_, err := Tables{Input: Input{Table: tableOf(t, wordColumn("block", names...),
		dataset.NewNumeric("same", make([]float64, 22)...),
		dataset.NewNumeric("y", y...)), TargetColumns: []string{"y"}}}.Rows(t.Context())
	if want := `no column is left as an input: column "block" is not used: text is not encoded; ` +
		`column "same" is not used: has a single value`; !errors.Is(err, errNoInput) || err.Error() != want {
		t.Error(err)
	}
}

// TestChance compares the bound with drawn rows.
func TestChance(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const draws = 20_000
	for _, c := range []struct{ a, n, b, m int }{{3, 5, 1, 15}, {6, 10, 4, 20}, {2, 4, 0, 10},
		{4, 4, 4, 12}, {1, 5, 4, 5}} {
		hits := 0
		for range draws {
			held := 0
			for _, row := range r.Perm(c.n + c.m)[:c.n] {
				if row < c.a+c.b {
					held++
				}
			}
			if held >= c.a {
				hits++
			}
		}
		got, drawn := chance(c.a, c.n, c.b, c.m), float64(hits)/draws
		if got < drawn-0.01 || got > 1.2*drawn+0.01 && got < 1 {
			t.Errorf("%+v: %v, drawn %v", c, got, drawn)
		}
	}
}

// TestModelOfLabelledRowsAlone: where no candidate was there to tell, the rows to predict are.
func TestModelOfLabelledRowsAlone(t *testing.T) {
	t.Parallel()
	table := readLeak(t, "conversion", "yield")
	labelled := AnyLabel(table, []string{"yield"})
	var with, without []int
	for row := range table.Rows() {
		if labelled(row) {
			with = append(with, row)
		} else {
			without = append(without, row)
		}
	}
	fitted := rowsOf(t, Tables{Input: Input{Train: table.Select(with), Pool: table.Select(nil), IDColumn: "id",
		TargetColumns: []string{"yield"}}})
	if len(droppedOf(fitted)) > 0 || len(fitted.Warnings) > 0 {
		t.Errorf("%q, %q", droppedOf(fitted), fitted.Warnings)
	}
	const want = `pool: no row has a value of "conversion", which every row had that the model learnt from; its errors ` +
		`and intervals do not hold here`
	scored := rowsOf(t, Tables{Input: Input{Pool: table.Select(without)}, Encoder: &fitted.Encoder})
	if len(scored.Warnings) != 2 || !strings.HasPrefix(scored.Warnings[0], want) {
		t.Errorf("%q", scored.Warnings)
	}
	some := rowsOf(t, Tables{Input: Input{Pool: table}, Encoder: &fitted.Encoder})
	if len(some.Warnings) != 1 {
		t.Errorf("%q", some.Warnings)
	}
}
