package encode

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/matrix"
)

func TestEncoderTakesSmallColumnsFirst(t *testing.T) {
	t.Parallel()
	full := table(t,
		categorical("three", "b", "a", "c", "a"),
		dataset.NewNumeric("x", 1, 2, 3, 4),
		dataset.NewNumeric("same", 5, 5, 5, 5),
		categorical("one", "q", "q", "q", "q"),
		dataset.NewText("id", "r1", "r2", "r3", "r4"),
		categorical("two", "no", "yes", "no", "yes"))
	full.Columns()[0].(*dataset.Categorical).SortLevels()
	e := FitEncoder(full, OneHot{MissingColumns: true})
	want := []string{"x", "two=yes", "two missing", "three=a", "three=b", "three=c", "three missing"}
	if !slices.Equal(e.Features(), want) {
		t.Fatalf("features %q, want %q", e.Features(), want)
	}
	x := matrix.New[float64](4, 7)
	for i := range x.Data {
		x.Data[i] = math.NaN() // every entry must be written
	}
	if err := Encode(x, e, full); err != nil {
		t.Fatal(err)
	}
	wantX := []float64{
		1, 0, 0, 0, 1, 0, 0,
		2, 1, 0, 1, 0, 0, 0,
		3, 0, 0, 0, 0, 1, 0,
		4, 1, 0, 1, 0, 0, 0}
	if !slices.Equal(x.Data, wantX) {
		t.Errorf("encoded %v, want %v", x.Data, wantX)
	}
	dropped := []DroppedInput{{"same", "has a single value"}, {"one", "has a single value"}, {"id", "text is not encoded"}}
	if !slices.Equal(e.Dropped, dropped) {
		t.Errorf("dropped %v, want %v", e.Dropped, dropped)
	}
}

// TestOrderedLevels: an order of three levels or more is one feature more, and a level that had no row has its place in
// it.
func TestOrderedLevels(t *testing.T) {
	t.Parallel()
	order := []string{"low", "mid", "high", "top"}
	rule := OneHot{Ordered: map[string][]string{"grade": order, "two": {"b", "a"}}}
	fitted := table(t, categorical("grade", "high", "low", "mid"), categorical("two", "a", "b", "a"))
	e := FitEncoder(fitted, rule)
	if want := []string{"two=b", "grade=high", "grade=low", "grade=mid",
		"grade (order)"}; !slices.Equal(e.Features(), want) {
		t.Fatalf("features %q, want %q", e.Features(), want)
	}
	if err := e.FitMissing(t.Context(), table(t, categorical("grade", "high", "low", ""),
		categorical("two", "a", "b", "a")), []int{0, 1, 2}, true); err != nil {
		t.Fatal(err)
	}
	rows := table(t, categorical("grade", "low", "mid", "top", "none", ""), categorical("two", "a", "a", "a", "a", "a"))
	x := matrix.New[float64](5, 6)
	if err := Encode(x, e, rows); err != nil {
		t.Fatal(err)
	}
	for row, want := range [][]float64{{0, 1, 0, 0}, {0, 0, 1, 1. / 3}, {0, 0, 0, 1}, {0, 0, 0, 0.5}, {0, 0, 0, 0.5}} {
		if !slices.Equal(x.Row(row)[1:5], want) {
			t.Errorf("row %d is %v, want %v", row, x.Row(row)[1:5], want)
		}
	}
	if x.At(4, 5) != 1 || x.At(0, 5) != 0 {
		t.Errorf("the marks of gaps are %v and %v", x.At(4, 5), x.At(0, 5))
	}
}

func TestEncoderLimit(t *testing.T) {
	t.Parallel()
	levels := func(name string, n int) *dataset.Categorical {
		c := dataset.NewCategorical(name)
		for row := range 400 {
			c.Append(c.AddLevel(strconv.Itoa(row % n)))
		}
		return c
	}
	full := table(t, levels("large", 200), levels("mid", 101), levels("small", 100))
	if e := FitEncoder(full, OneHot{}); len(e.Features()) != 201 || e.Dropped[0].Column != "large" {
		t.Errorf("%d features, dropped %v", len(e.Features()), e.Dropped)
	}
	if e := FitEncoder(full, OneHot{MaxLevels: 401}); len(e.Features()) != 401 || e.Dropped != nil {
		t.Errorf("%d features, dropped %v", len(e.Features()), e.Dropped)
	}
}

// TestEncodeAnotherTable: a level's codes differ between tables; only its name
// counts.
func TestEncodeAnotherTable(t *testing.T) {
	t.Parallel()
	e := FitEncoder(table(t, categorical("c", "a", "b", "c"), dataset.NewNumeric("x", 1, 2, 3)),
		OneHot{MissingColumns: true})
	other := table(t, dataset.NewNumeric("x", 7, 8), dataset.NewText("id", "p", "q"), categorical("c", "c", ""))
	x := matrix.New[float32](2, 5)
	if err := Encode(x, e, other); err != nil {
		t.Fatal(err)
	}
	if want := []float32{7, 0, 0, 1, 0, 8, 0, 0, 0, 1}; !slices.Equal(x.Data, want) {
		t.Errorf("encoded %v, want %v", x.Data, want)
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	e := FitEncoder(table(t, categorical("c", "a", "b", "c"), dataset.NewNumeric("x", 1, 2, 3)), OneHot{})
	abc := categorical("c", "a", "b")
	for want, other := range map[string]*dataset.Table{
		`column "x" is not in the table, which has "c"`: table(t, abc),
		`column "x" is text, not numeric`:               table(t, abc, dataset.NewText("x", "p", "q")),
		`column "c" is numeric, not categorical`: table(t, dataset.NewNumeric("x", 1, 2),
			dataset.NewNumeric("c", 1, 2)),
		`column "x", row 1 (from 0): NaN cannot be used as an input; correct it, or leave it empty ` +
			`if it is missing`: table(t, abc, dataset.NewNumeric("x", 1, math.NaN())),
		`column "x", row 0 (from 0): 1e+40 cannot be used as an input; correct it, or leave it empty ` +
			`if it is missing`: table(t, abc, dataset.NewNumeric("x", 1e40, 1)),
		`column "c", row 1 (from 0): the value is missing`: table(t, categorical("c", "a", ""),
			dataset.NewNumeric("x", 1, 2)),
		`column "c", row 1 (from 0): the level "d" is not one of "a", "b", "c"`: table(t, categorical("c", "a", "d"),
			dataset.NewNumeric("x", 1, 2)),
	} {
		err := Encode(matrix.New[float32](other.Rows(), 4), e, other)
		if at := (*dataset.ColumnError)(nil); !errors.As(err, &at) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestOnlyIn: levels that only some rows have, of one-hot columns and of a column of two levels.
func TestOnlyIn(t *testing.T) {
	t.Parallel()
	all := table(t, categorical("site", "a", "b", "", "c", "c", "a"), categorical("pair", "x", "x", "", "x", "y", "y"),
		dataset.NewNumeric("v", 1, 2, 3, 4, 5, 6))
	e := FitEncoder(all, OneHot{})
	e.Impute, e.Medians = true, []float64{3}
	x := matrix.New[float32](all.Rows(), len(e.Features()))
	if err := Encode(x, e, all); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(e.OnlyIn(x.Slice(3, 6), x.Slice(0, 3)), e.OnlyIn(x.Slice(0, 3), x.Slice(3, 6)))
	if want := "[{pair y 2} {site c 2}] [{site b 1}]"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
