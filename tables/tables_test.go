package tables

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/matrix"
)

// measured is a table of ids, two inputs, a label that every fourth row has, and
// a cost.
func measured(t *testing.T, rows int) *dataset.Table {
	t.Helper()
	id, x, y := dataset.NewText("id"), dataset.NewNumeric("x"), dataset.NewNumeric("y")
	c, cost := dataset.NewCategorical("colour", "blue", "green", "red"), dataset.NewNumeric("cost")
	for i := range rows {
		id.Append([]byte{'r', byte('a' + i%26), byte('a' + i/26)})
		x.Append(math.Sin(float64(i)))
		c.Append(int32(i % 3))
		cost.Append(float64(i))
		if i%4 == 0 {
			y.Append(x.Float(i) * 2)
		} else {
			y.Append(math.NaN())
		}
	}
	table, err := dataset.NewTable(id, x, c, y, cost)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestRowsOfOneTable(t *testing.T) {
	t.Parallel()
	rows, err := Tables{Input: Input{Table: measured(t, 40), TargetColumns: []string{"y"}},
		NotInputs: []string{"id", "cost"}}.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rows.Train.Rows != 10 || rows.Pool.Rows != 30 || rows.PoolRows[0] != 1 || rows.TrainRows[1] != 4 {
		t.Errorf("%d and %d rows", rows.Train.Rows, rows.Pool.Rows)
	}
	if want := []string{"x", "colour=blue", "colour=green", "colour=red"}; !slices.Equal(rows.Encoder.Features(), want) {
		t.Errorf("features %q", rows.Encoder.Features())
	}
	if got := rows.plain(rows.Pool)[0]; math.Abs(float64(got)-math.Sin(1)) > 1e-6 {
		t.Errorf("first candidate has x = %v", got)
	}
	if len(rows.Warnings) > 0 || rows.Labels.At(1, 0) != 2*math.Sin(4) {
		t.Errorf("warnings %q, labels %v", rows.Warnings, rows.Labels)
	}
}

// TestRowsOfTwoTables: two tables with the rows of one give its numbers.
func TestRowsOfTwoTables(t *testing.T) {
	t.Parallel()
	table := measured(t, 40)
	one, err := Tables{Input: Input{Table: table, TargetColumns: []string{"y"}},
		NotInputs: []string{"id", "cost"}}.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pool, err := table.Select(one.PoolRows).Without("y")
	if err != nil {
		t.Fatal(err)
	}
	train, err := table.Select(one.TrainRows).Without("cost")
	if err != nil {
		t.Fatal(err)
	}
	two, err := Tables{Input: Input{Train: train, Pool: pool, TargetColumns: []string{"y"}},
		NotInputs: []string{"id", "cost"}}.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one.Train.Data, two.Train.Data) || !slices.Equal(one.Pool.Data, two.Pool.Data) ||
		!slices.Equal(one.Labels.Data, two.Labels.Data) {
		t.Error("the numbers differ")
	}
	if _,
		err := (Tables{Input: Input{Train: pool, Pool: pool, TargetColumns: []string{"y"}}}).Rows(t.Context()); err == nil {
		t.Error("missing labels are accepted")
	}
}

func TestRowsWithMissingInputs(t *testing.T) {
	t.Parallel()
	x, y := dataset.NewNumeric("x", 1, math.NaN(), 3, 4, 5), dataset.NewNumeric("y", 1, math.NaN(),
		math.NaN(), 2, math.NaN())
	table, err := dataset.NewTable(x, y)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Tables{Input: Input{Table: table, TargetColumns: []string{"y"}, Missing: DropMissing}}.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rows.PoolRows, []int{2, 4}) || len(rows.Warnings) != 1 ||
		!strings.Contains(rows.Warnings[0], `column "x"`) {
		t.Errorf("pool %v, warnings %q", rows.PoolRows, rows.Warnings)
	}
	_, err = Tables{Input: Input{Table: table, TargetColumns: []string{"y"}, Missing: RefuseMissing}}.Rows(t.Context())
	if missing := (*MissingError)(nil); !errors.As(err, &missing) || !slices.Equal(missing.Rows, []int{1}) {
		t.Errorf("strict: %v", err)
	}
	infinite, err := dataset.NewTable(dataset.NewNumeric("x", 1, 2, math.Inf(1)),
		dataset.NewNumeric("y", 1, 2, math.NaN()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Tables{Input: Input{Table: infinite, TargetColumns: []string{"y"}}}).Rows(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "row 2") {
		t.Errorf("infinite: %v", err)
	}
}

// TestFewRowsOfCategories: the labelled rows of a table of building blocks have one row of most of them. They are
// inputs, as they are in the whole table; ids and free text are not.
func TestFewRowsOfCategories(t *testing.T) {
	t.Parallel()
	const n = 24
	a, b, id := dataset.NewCategorical("A_block"), dataset.NewCategorical("B_block"), dataset.NewCategorical("sample")
	notes, y := dataset.NewCategorical("notes"), dataset.NewNumeric("y")
	for i := range n {
		a.Append(a.AddLevel("amine " + strconv.Itoa(i%16)))
		b.Append(b.AddLevel("CC(=O)OC" + strconv.Itoa(max(1, i))))
		id.Append(id.AddLevel("s" + strconv.Itoa(i)))
		notes.Append(notes.AddLevel("dissolved slowly on day " + strconv.Itoa(i%22)))
		y.Append(float64(i % 7))
	}
	rows := rowsOf(t, Tables{Input: Input{Table: tableOf(t, a, b, id, notes, y), TargetColumns: []string{"y"}}})
	if len(rows.Encoder.Features()) != 16+23 {
		t.Errorf("features %q, warnings %q", rows.Encoder.Features(), rows.Warnings)
	}
	mustSay(t, rows.Warnings, `2 columns are not used: text is not encoded: "sample", "notes"`)
}

// TestRowsOfWords: a column with a name per row is text, even in a small table, unless
// it is declared a category; a column of numbers with words among them is reported.
func TestRowsOfWords(t *testing.T) {
	t.Parallel()
	name, x, y := dataset.NewCategorical("name"), dataset.NewCategorical("x"), dataset.NewNumeric("y")
	z := dataset.NewNumeric("z")
	for i := range 30 {
		name.Append(name.AddLevel("n" + strconv.Itoa(i)))
		value := strconv.Itoa(i % 10)
		if i == 17 || i == 18 {
			value = "unknown"
		}
		x.Append(x.AddLevel(value))
		z.Append(math.Sin(float64(i)))
		y.Append([]float64{1, math.NaN()}[i%2])
	}
	table, err := dataset.NewTable(name, x, z, y)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Tables{Input: Input{Table: table, TargetColumns: []string{"y"}}}.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(rows.Encoder.Features()) != 12 || len(rows.Warnings) != 2 {
		t.Errorf("features %q, warnings %q", rows.Encoder.Features(), rows.Warnings)
	}
	for i, word := range []string{`column "x" is mostly numbers but is treated as words because of 2 cells: row 17 ` +
		`(from 0) is "unknown"`, `column "name" is not used: text is not encoded`} {
		if !strings.Contains(rows.Warnings[i], word) {
			t.Errorf("warning %q does not say %q", rows.Warnings[i], word)
		}
	}
	rows, err = Tables{Input: Input{Table: table, TargetColumns: []string{"y"},
		Columns: Columns{Categorical: []string{"name", "x"}}}}.Rows(t.Context())
	if err != nil || len(rows.Encoder.Features()) != 42 || len(rows.Warnings) != 0 {
		t.Errorf("declared: %v, %q", err, rows.Warnings)
	}
}

func TestSomeTrain(t *testing.T) {
	t.Parallel()
	r := &Rows{Train: matrix.FromRows([][]float32{{0}, {1}, {2}, {3}, {4}, {5}}),
		Labels: matrix.View(6, 1, []float64{0, 1, 2, 3, 4, 5}), TrainRows: []int{9, 8, 7, 6, 5, 4}}
	if s := r.SomeTrain(3); s.Train.Rows != 3 || s.Train.At(1, 0) != 2 || s.Labels.At(2, 0) != 4 ||
		!slices.Equal(s.TrainRows, []int{9, 7, 5}) {
		t.Errorf("%+v", s)
	}
	if r.SomeTrain(6) != r || r.SomeTrain(9) != r {
		t.Error("all rows are copied")
	}
}
