package dataset

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// categorical returns a column of the given values; "" is a missing value.
func categorical(name string, values ...string) *Categorical {
	c := NewCategorical(name)
	for _, v := range values {
		if v == "" {
			c.Append(missingCode)
			continue
		}
		c.Append(c.AddLevel(v))
	}
	return c
}

func table(t testing.TB, columns ...Column) *Table {
	t.Helper()
	made, err := NewTable(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func formatted(c Column) []string {
	values := make([]string, c.Len())
	for row := range values {
		values[row] = c.Format(row)
	}
	return values
}

// TestColumnsKeepWhatWasAppended grows columns across chunk boundaries.
func TestColumnsKeepWhatWasAppended(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, chunkLen - 1, chunkLen, chunkLen + 1, 3*chunkLen + 7} {
		numeric, text, levels := NewNumeric("n"), NewText("t"), NewCategorical("c")
		var numbers []float64
		var texts, codes []string
		for row := range n {
			v := float64(r.IntN(100))
			if row > chunkLen { // more digits than float32 holds, after a chunk that fits
				v = r.NormFloat64()
			}
			numeric.Append(v)
			numbers = append(numbers, v)
			texts = append(texts, strings.Repeat("x", r.IntN(4)))
			text.Append([]byte(texts[row]))
			codes = append(codes, strconv.Itoa(r.IntN(30)))
			levels.Append(levels.AddLevel(codes[row]))
		}
		levels.SortLevels()
		for row, want := range numbers {
			if got := numeric.Float(row); got != want {
				t.Fatalf("n=%d, row %d: %v, want %v", n, row, got, want)
			}
		}
		if !slices.Equal(formatted(text), texts) || !slices.Equal(formatted(levels), codes) {
			t.Fatalf("n=%d: text or levels changed", n)
		}
		rows := r.Perm(n)
		for _, c := range []Column{numeric, text, levels} {
			picked := c.Select(rows)
			for i, row := range rows {
				if picked.Format(i) != c.Format(row) {
					t.Fatalf("%v: row %d of the selection is %q, want %q", c.Kind(), i, picked.Format(i), c.Format(row))
				}
			}
		}
	}
}

func TestNumericIsExactAndCompact(t *testing.T) {
	t.Parallel()
	c := NewNumeric("x", 1, math.NaN(), -7, math.Inf(1), 16777216)
	if c.isDouble {
		t.Error("numbers that float32 holds are stored as float64")
	}
	c.Append(16777217)
	if !c.isDouble || c.Float(5) != 16777217 || !c.Missing(1) || c.Float(3) != math.Inf(1) || c.Format(1) != "" {
		t.Errorf("after the switch to float64: %v", formatted(c))
	}
}

func TestLevelsAreSorted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ values, want []string }{
		{[]string{"10", "9", "1", ""}, []string{"1", "9", "10"}},
		{[]string{"b", "10", "a", "9"}, []string{"10", "9", "a", "b"}},
	} {
		c := categorical("c", test.values...)
		c.SortLevels()
		if !slices.Equal(c.Levels(), test.want) || !slices.Equal(formatted(c), test.values) {
			t.Errorf("%v: levels %v, values %v", test.values, c.Levels(), formatted(c))
		}
		if code, ok := c.Lookup([]byte(test.want[1])); !ok || code != 1 {
			t.Errorf("%v: Lookup finds %d, %v", test.values, code, ok)
		}
	}
}

func TestNumericBecomesCategorical(t *testing.T) {
	t.Parallel()
	c := NewNumeric("suit", 10, 2, math.NaN(), 2, -1).Categorical()
	if !slices.Equal(c.Levels(), []string{"-1", "2", "10"}) || !slices.Equal(formatted(c),
		[]string{"10", "2", "", "2", "-1"}) {
		t.Errorf("levels %v, values %v", c.Levels(), formatted(c))
	}
}

func TestTableRefuses(t *testing.T) {
	t.Parallel()
	good := table(t, NewNumeric("a", 1, 2), NewText("b", "x", "y"))
	_, uneven := NewTable(NewNumeric("a", 1, 2), NewNumeric("b", 1))
	_, twice := NewTable(NewNumeric("a", 1), NewText("a", "x"))
	_, absent := good.Column("c")
	_, kind := good.Numeric("b")
	_, without := good.Without("a", "z")
	for want, err := range map[string]error{
		`column "b" has 1 rows where column "a" has 2`:          uneven,
		`column "a" is the name of columns 1 and 2; rename one`: twice,
		`column "c" is not in the table, which has "a", "b"`:    absent,
		`column "b" is text, not numeric`:                       kind,
		`column "z" is not in the table, which has "a", "b"`:    without,
	} {
		if at := (*ColumnError)(nil); !errors.As(err, &at) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestUnknownCodePanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if _, ok := recover().(*ColumnError); !ok {
			t.Error("no *ColumnError")
		}
	}()
	NewCategorical("c", "only").Append(1)
}

func TestCompleteRows(t *testing.T) {
	t.Parallel()
	full := table(t,
		NewNumeric("n", 1, math.NaN(), 3, 4),
		categorical("c", "a", "b", "", "a"),
		NewText("t", "x", "y", "z", "w"))
	if got := full.CompleteRows(); !slices.Equal(got, []int{0, 3}) {
		t.Errorf("complete rows %v", got)
	}
}

// TestDropLast: dropping rows leaves a column as if they had never been there,
// across chunk boundaries too.
func TestDropLast(t *testing.T) {
	t.Parallel()
	const rows = 2*chunkLen + 3
	number, double, text := NewNumeric("n"), NewNumeric("w", 0.1), NewText("t")
	double.DropLast()
	level := NewCategorical("c", "a", "b")
	var kept []int
	for row := range rows {
		keep := row%3 == 0 || row > chunkLen && row < chunkLen+100
		appendings := 1
		if !keep {
			appendings = 2 // in a row, to empty a chunk again
		}
		for range appendings {
			number.Append(float64(row))
			double.Append(float64(row) + 0.1)
			level.Append(int32(row % 2))
			text.Append([]byte(strconv.Itoa(row)))
		}
		if keep {
			kept = append(kept, row)
			continue
		}
		for range appendings {
			for _, c := range []Column{number, double, level, text} {
				c.DropLast()
			}
		}
	}
	for _, c := range []Column{number, double, level, text} {
		if c.Len() != len(kept) {
			t.Fatalf("%s: %d rows, want %d", c.Name(), c.Len(), len(kept))
		}
	}
	for i, row := range kept {
		if number.Float(i) != float64(row) || double.Float(i) != float64(row)+0.1 ||
			level.Code(i) != int32(row%2) || text.Format(i) != strconv.Itoa(row) {
			t.Fatalf("row %d: %s, %s, %s, %s", row, number.Format(i), double.Format(i), level.Format(i), text.Format(i))
		}
	}
	for range kept {
		text.DropLast()
		number.DropLast()
	}
	if text.Append([]byte("x")); text.Len() != 1 || text.Format(0) != "x" || number.Len() != 0 {
		t.Errorf("%d rows, %q", text.Len(), text.Format(0))
	}
}
