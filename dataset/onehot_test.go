package dataset

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

func TestEncoderTakesSmallColumnsFirst(t *testing.T) {
	t.Parallel()
	full := table(t,
		categorical("three", "b", "a", "c", "a"),
		NewNumeric("x", 1, 2, 3, 4),
		NewNumeric("same", 5, 5, 5, 5),
		categorical("one", "q", "q", "q", "q"),
		NewText("id", "r1", "r2", "r3", "r4"),
		categorical("two", "no", "yes", "no", "yes"))
	full.columns[0].(*Categorical).SortLevels()
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

func TestEncoderLimit(t *testing.T) {
	t.Parallel()
	levels := func(name string, n int) *Categorical {
		c := NewCategorical(name)
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
	e := FitEncoder(table(t, categorical("c", "a", "b", "c"), NewNumeric("x", 1, 2, 3)), OneHot{MissingColumns: true})
	other := table(t, NewNumeric("x", 7, 8), NewText("id", "p", "q"), categorical("c", "c", ""))
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
	e := FitEncoder(table(t, categorical("c", "a", "b", "c"), NewNumeric("x", 1, 2, 3)), OneHot{})
	abc := categorical("c", "a", "b")
	for want, other := range map[string]*Table{
		`column "x" is not in the table, which has "c"`: table(t, abc),
		`column "x" is text, not numeric`:               table(t, abc, NewText("x", "p", "q")),
		`column "c" is numeric, not categorical`:        table(t, NewNumeric("x", 1, 2), NewNumeric("c", 1, 2)),
		`column "x", row 1 (from 0): NaN cannot be used as an input; correct it, or leave it empty if it is missing`:   table(t, abc, NewNumeric("x", 1, math.NaN())),
		`column "x", row 0 (from 0): 1e+40 cannot be used as an input; correct it, or leave it empty if it is missing`: table(t, abc, NewNumeric("x", 1e40, 1)),
		`column "c", row 1 (from 0): the value is missing`:                                                             table(t, categorical("c", "a", ""), NewNumeric("x", 1, 2)),
		`column "c", row 1 (from 0): the level "d" is not one of "a", "b", "c"`:                                        table(t, categorical("c", "a", "d"), NewNumeric("x", 1, 2)),
	} {
		err := Encode(matrix.New[float32](other.Rows(), 4), e, other)
		if at := (*ColumnError)(nil); !errors.As(err, &at) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
