package space

import (
	"math"
	"slices"
	"testing"
)

// TestStoredSpaces: a space that is read back has the same words and the same candidates, without its files.
func TestStoredSpaces(t *testing.T) {
	t.Parallel()
	c := counted(t, everything)
	raw, err := c.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Stored(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.Columns(), c.Columns()) || again.Count.String() != c.Count.String() {
		t.Errorf("%v, not %v", again.Columns(), c.Columns())
	}
	one, other := build(t, c, 50, 3), build(t, again, 50, 3)
	if !slices.Equal(one.Names(), other.Names()) {
		t.Errorf("%q, not %q", other.Names(), one.Names())
	}
	for row := range one.Rows() {
		if rowText(one, row) != rowText(other, row) {
			t.Fatalf("row %d: %s, not %s", row, rowText(other, row), rowText(one, row))
		}
	}
	if _, err := Stored(t.Context(), raw[1:]); err == nil {
		t.Error("a damaged one is read")
	}
}

// TestCandidatesNearOthers: they are candidates, others than those of the sample, and on average nearer to their row
// than other rows are.
func TestCandidatesNearOthers(t *testing.T) {
	t.Parallel()
	c := counted(t, everything)
	d, err := c.Draw(t.Context(), Build{Rows: 400, Seed: 5, Progress: func(int, int) {}})
	if err != nil {
		t.Fatal(err)
	}
	near, err := d.Near([]int{7}, 200)
	if err != nil {
		t.Fatal(err)
	}
	if near.Rows() < 50 || near.Rows() > 200 || !slices.Equal(near.Names(), d.Names()) {
		t.Fatalf("%d rows of %q", near.Rows(), near.Names())
	}
	seen := map[string]bool{}
	for row := range d.Rows() {
		seen[rowText(d.Table, row)] = true
	}
	for row := range near.Rows() {
		if text := rowText(near, row); seen[text] {
			t.Errorf("%s is there twice", text)
		} else {
			seen[text] = true
		}
	}
	away := func(of interface{ Float(int) float64 }, rows int, from float64) (sum float64) {
		for row := range rows {
			sum += math.Abs(of.Float(row)-from) / float64(rows)
		}
		return sum
	}
	ours, err := d.Numeric("temperature (°C)")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := near.Numeric("temperature (°C)")
	if err != nil {
		t.Fatal(err)
	}
	if from := ours.Float(7); away(theirs, near.Rows(), from) > away(ours, d.Rows(), from)/2 {
		t.Errorf("%v, where others are %v", away(theirs, near.Rows(), from), away(ours, d.Rows(), from))
	}
	temperature, pressure := theirs, (interface{ Float(int) float64 })(nil)
	if pressure, err = near.Numeric("pressure"); err != nil {
		t.Fatal(err)
	}
	for row := range near.Rows() {
		if p := pressure.Float(row); temperature.Float(row)+2*p > 110 {
			t.Errorf("row %d does not meet the constraint", row)
		}
	}
}
