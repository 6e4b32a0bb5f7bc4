package merge_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/merge"
)

func mustTable(t *testing.T, columns ...dataset.Column) *dataset.Table {
	t.Helper()
	table, err := dataset.NewTable(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestFill(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	table := mustTable(t, dataset.NewText("id", "a", "b", "c", "d"), dataset.NewNumeric("x", 1, 2.5, 3, none),
		dataset.NewNumeric("y", 7, none, none, none))
	good := func() []dataset.Column {
		return []dataset.Column{dataset.NewText("id", "c", "b", "a", "d"), dataset.NewText("x", "3.0", "2.50", "1", ""),
			dataset.NewNumeric("score", 9, 9, 9, 9), dataset.NewNumeric("y", 30, none, 7, 40)}
	}
	f, err := merge.Fill(table, mustTable(t, good()...), "id", "row", "y")
	if err != nil || !slices.Equal(f.Rows, []int{2, 3}) || !slices.Equal(f.Labels, []float64{30, 40}) ||
		f.Known != 1 || f.Empty != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	labels, err := f.Into(table, "y").Numeric("y")
	if err != nil || labels.Format(0)+labels.Format(1)+labels.Format(2)+labels.Format(3) != "73040" {
		t.Errorf("merged: %v, %v", labels, err)
	}
	text := mustTable(t, dataset.NewText("y", "7.00", "", "", "NA"))
	if c := f.Into(text, "y").Columns()[0]; c.Format(0) != "7.00" || c.Format(2) != "30" || c.Format(3) != "40" {
		t.Errorf("as text: %q, %q, %q", c.Format(0), c.Format(2), c.Format(3))
	}
	if added := f.Into(mustTable(t, dataset.NewNumeric("x", 1, 2, 3, 4)), "y"); added.Names()[1] != "y" {
		t.Errorf("a new column: %v", added.Names())
	}
	for name, test := range map[string]struct {
		at     int
		column dataset.Column
		row    int
		text   string
	}{
		"unknown id":    {0, dataset.NewText("id", "c", "z", "a", "d"), 1, `"z"`},
		"missing id":    {0, dataset.NewText("id", "c", "", "a", "d"), 1, "missing"},
		"repeated id":   {0, dataset.NewText("id", "c", "b", "c", "d"), 2, "also that of row 0"},
		"another input": {1, dataset.NewText("x", "3", "2.6", "1", ""), 1, `"2.6", but the table has "2.5" in row 1`},
		"empty input":   {1, dataset.NewText("x", "3", "2.5", "", ""), 2, `the table has "1"`},
		"other label":   {3, dataset.NewNumeric("y", 30, none, 8, 40), 2, "the label is 8, but the table has 7 in row 0"},
		"infinite":      {3, dataset.NewNumeric("y", 30, none, 7, math.Inf(1)), 3, "finite"},
	} {
		columns := good()
		columns[test.at] = test.column
		_, err := merge.Fill(table, mustTable(t, columns...), "id", "row", "y")
		var wrong *dataset.ColumnError
		if !errors.As(err, &wrong) || wrong.Column != test.column.Name() || wrong.Row != test.row ||
			!strings.Contains(wrong.Problem, test.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	twice := mustTable(t, dataset.NewText("id", "a", "a"), dataset.NewNumeric("y", none, none))
	if _, err := merge.Fill(twice, mustTable(t, dataset.NewText("id", "a"), dataset.NewNumeric("y", 1)), "id", "row",
		"y"); err == nil || !strings.Contains(err.Error(), "several rows") {
		t.Errorf("an id that the table has twice: %v", err)
	}
}

// TestIdenticalRowsFillOnce: a row of the filled table that is identical to one before it counts once, by id, by number
// and among replicates; one that differs anywhere does not.
func TestIdenticalRowsFillOnce(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	table := mustTable(t, dataset.NewText("id", "a", "b"), dataset.NewNumeric("y", none, none))
	filled := func(note string, last float64) *dataset.Table {
		return mustTable(t, dataset.NewText("id", "b", "b", "a", "b"), dataset.NewNumeric("row", 1, 1, 0, 1),
			dataset.NewNumeric("replicate", 1, 1, 1, 1),
			dataset.NewNumeric("y", 5, 5, none, last), dataset.NewText("note", "", "", "", note))
	}
	for name, fill := range map[string]func(filled *dataset.Table) (merge.Filled, error){
		"id": func(filled *dataset.Table) (merge.Filled, error) {
			return merge.Fill(table, filled, "id", "row", "y")
		},
		"number": func(filled *dataset.Table) (merge.Filled, error) {
			return merge.Fill(table, filled, "", "row", "y")
		},
		"replicate": func(filled *dataset.Table) (merge.Filled, error) {
			room, err := merge.MakeRoom(table, filled, "id", "replicate", "y")
			if err != nil {
				return merge.Filled{}, err
			}
			if len(room.Copies) > 0 {
				t.Errorf("%d copies for one measurement", len(room.Copies))
			}
			return merge.FillRows(table, filled, room.At, "id", "y")
		},
	} {
		f, err := fill(filled("", 5))
		if err != nil || !slices.Equal(f.Rows, []int{1}) || !slices.Equal(f.Labels, []float64{5}) ||
			f.Known != 2 || f.Empty != 1 {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
		for _, other := range []*dataset.Table{filled("again", 5), filled("", 6)} {
			if f, err := fill(other); err == nil {
				t.Errorf("%s: rows that differ were accepted: %+v", name, f)
			}
		}
	}
}

func TestFillByNumber(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	table := mustTable(t, dataset.NewNumeric("x", 1, 2, 3), dataset.NewNumeric("y", none, none, none))
	f, err := merge.Fill(table, mustTable(t, dataset.NewNumeric("row", 2, 0),
		dataset.NewNumeric("y", 5, 6)), "", "row", "y")
	if err != nil || !slices.Equal(f.Rows, []int{2, 0}) {
		t.Errorf("%+v, %v", f, err)
	}
	for _, rows := range [][]float64{{3, 0}, {-1, 0}, {0.5, 0}, {none, 0}, {1, 1}} {
		if _, err := merge.Fill(table, mustTable(t, dataset.NewNumeric("row", rows...), dataset.NewNumeric("y", 5, 6)), "",
			"row", "y"); err == nil {
			t.Errorf("rows %v were accepted", rows)
		}
	}
}
