package dataset

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestConcat(t *testing.T) {
	t.Parallel()
	levels := func(name string, values ...string) Column {
		c := NewCategorical(name)
		for _, v := range values {
			if v == "" {
				c.Append(-1)
			} else {
				c.Append(c.AddLevel(v))
			}
		}
		return c
	}
	must := func(columns ...Column) *Table {
		table, err := NewTable(columns...)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	a := must(NewNumeric("x", 1, math.NaN()), levels("c", "red", ""), NewText("t", "p", "q"))
	b := must(levels("c", "blue", "red"), NewText("t", "r", ""), levels("x", "", ""))
	all, err := Concat([]string{"x", "c", "t"}, a, b)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for row := range all.Rows() {
		for _, c := range all.Columns() {
			got = append(got, c.Format(row))
		}
	}
	want := []string{"1", "red", "p", "", "", "q", "", "blue", "r", "", "red", ""}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := Concat([]string{"x", "y"}, a, b); err == nil || !strings.Contains(err.Error(), `"y"`) {
		t.Errorf("an absent column: %v", err)
	}
	other := must(levels("x", "low"))
	if _, err := Concat([]string{"x"}, a, other); err == nil || !strings.Contains(err.Error(), "numeric") {
		t.Errorf("columns of two kinds: %v", err)
	}
}
