package dataset

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rowfile"
)

// grown is a column that has grown in memory, and the same one that moved to a file from
// time to time meanwhile.
type grown struct{ memory, file Column }

// growColumns returns columns of all kinds with n random rows.
func growColumns(t *testing.T, store *rowfile.Store, rows int) []grown {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var made [2][]Column
	counts := [2]*Numeric{NewNumeric("counts"), NewNumeric("counts")}
	reals := [2]*Numeric{NewNumeric("reals"), NewNumeric("reals")}
	levels := [2]*Categorical{NewCategorical("levels"), NewCategorical("levels")}
	texts := [2]*Text{NewText("texts"), NewText("texts")}
	for k := range made {
		made[k] = []Column{counts[k], reals[k], levels[k], texts[k]}
	}
	for row := range rows {
		count, real, level, text := float64(random.IntN(100)), random.NormFloat64(), random.IntN(40),
			strconv.Itoa(random.IntN(1<<random.IntN(30)))
		if row == rows-100 {
			count = 1<<30 + 1 // which float32 does not hold
		}
		for k := range made {
			counts[k].Append(count)
			reals[k].Append(real)
			levels[k].Append(levels[k].AddLevel(fmt.Sprint("level ", level)))
			texts[k].Append([]byte(text))
		}
		if random.IntN(3000) == 0 {
			for _, c := range made[1] {
				if err := c.MoveTo(store); err != nil {
					t.Fatal(err)
				}
			}
		}
		if random.IntN(50) == 0 {
			for k := range made {
				for _, c := range made[k] {
					c.DropLast()
				}
			}
		}
	}
	var columns []grown
	for i, c := range made[0] {
		columns = append(columns, grown{c, made[1][i]})
	}
	return columns
}

func sameColumn(t *testing.T, got, want Column) {
	t.Helper()
	if got.Len() != want.Len() || got.Kind() != want.Kind() || got.Name() != want.Name() {
		t.Fatalf("%s: %d rows, want %d", want.Name(), got.Len(), want.Len())
	}
	for row := range want.Len() {
		if got.Format(row) != want.Format(row) {
			t.Fatalf("%s: row %d is %q, want %q", want.Name(), row, got.Format(row), want.Format(row))
		}
	}
}

// TestColumnsInAFile: a column whose rows move to a file is the same column, also after it was
// sorted and concatenated, and takes little memory.
func TestColumnsInAFile(t *testing.T) {
	if !rowfile.Supported {
		t.Skip(rowfile.ErrUnsupported)
	}
	store := rowfile.NewStore(t.TempDir())
	defer store.Close()
	var memory, file []Column
	for _, g := range growColumns(t, store, 20*chunkLen) {
		sameColumn(t, g.file, g.memory)
		if err := g.file.MoveTo(store); err != nil {
			t.Fatal(err)
		}
		sameColumn(t, g.file, g.memory)
		if in, all := g.file.Bytes(), g.memory.Bytes(); in > all/4 {
			t.Errorf("%s: %d bytes in memory of %d", g.file.Name(), in, all)
		}
		for _, c := range []Column{g.file, g.memory} {
			if levels, ok := c.(*Categorical); ok {
				levels.SortLevels()
			}
		}
		sameColumn(t, g.file, g.memory)
		memory, file = append(memory, g.memory), append(file, g.file)
	}
	inMemory, inFile := concatenated(t, memory), concatenated(t, file)
	for i, c := range inMemory.Columns() {
		sameColumn(t, inFile.Columns()[i], c)
	}
	if in, all := inFile.Bytes(), inMemory.Bytes(); in > all/4 {
		t.Errorf("%d bytes in memory of %d, concatenated", in, all)
	}
}

// concatenated returns a table of the columns below the first rows of the same columns.
func concatenated(t *testing.T, columns []Column) *Table {
	t.Helper()
	table, err := NewTable(columns...)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Concat(table.Names(), table.Select([]int{5, 1, 3}), table)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestConvertedColumnsInAFile: what is made of a column in a file is in that file, too.
func TestConvertedColumnsInAFile(t *testing.T) {
	if !rowfile.Supported {
		t.Skip(rowfile.ErrUnsupported)
	}
	store := rowfile.NewStore(t.TempDir())
	defer store.Close()
	made := growColumns(t, store, 20*chunkLen)
	numbers, levels := made[0], made[2]
	empty, whole := grown{NewText("empty"), NewText("empty")}, grown{NewNumeric("whole"), NewNumeric("whole")}
	for row := range 20 * chunkLen {
		for _, c := range []Column{empty.memory, empty.file} {
			c.(*Text).Append(nil)
		}
		for _, c := range []Column{whole.memory, whole.file} {
			c.(*Numeric).Append(float64(row))
		}
	}
	for _, g := range append(made, empty, whole) {
		if err := g.file.MoveTo(store); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		of   grown
		make func(Column) (Column, error)
	}{
		"levels of numbers": {numbers, func(c Column) (Column, error) { return AsCategorical(c) }},
		"known levels": {levels, func(c Column) (Column, error) {
			return c.(*Categorical).Lacking(func(code int32) bool { return code != 3 && code != 5 })
		}},
		"text of levels": {levels, func(c Column) (Column, error) { return c.(*Categorical).Text(), nil }},
		"levels of text": {empty, func(c Column) (Column, error) { return AsCategorical(c) }},
		"numbers":        {empty, AsNumeric},
		"wider numbers": {whole, func(c Column) (Column, error) {
			c.(*Numeric).Append(0.1)
			return c, nil
		}},
	} {
		want, err := test.make(test.of.memory)
		if err != nil {
			t.Fatal(err)
		}
		got, err := test.make(test.of.file)
		if err != nil {
			t.Fatal(err)
		}
		if sameColumn(t, got, want); got.Bytes() > want.Bytes()/4 {
			t.Errorf("%s: %d bytes in memory of %d", name, got.Bytes(), want.Bytes())
		}
	}
}

// TestDropRowsInAFile drops rows that have moved, and adds others.
func TestDropRowsInAFile(t *testing.T) {
	if !rowfile.Supported {
		t.Skip(rowfile.ErrUnsupported)
	}
	store := rowfile.NewStore(t.TempDir())
	defer store.Close()
	numbers, texts := NewNumeric("numbers"), NewText("texts")
	grow := func(to int) {
		for i := numbers.Len(); i < to; i++ {
			numbers.Append(float64(i + to))
			texts.Append([]byte(strconv.Itoa(i + to)))
		}
	}
	for _, c := range []Column{numbers, texts} {
		grow(2*chunkLen + 1)
		if err := c.MoveTo(store); err != nil {
			t.Fatal(err)
		}
		for numbers.Len() > 3 {
			numbers.DropLast()
			texts.DropLast()
		}
		if c.Bytes() < columnBytes {
			t.Errorf("%s: %d bytes", c.Name(), c.Bytes())
		}
		grow(3 * chunkLen)
		for row := range c.Len() {
			want := row + 3*chunkLen
			if row < 3 {
				want = row + 2*chunkLen + 1
			}
			if c.Format(row) != strconv.Itoa(want) {
				t.Fatalf("%s: row %d is %s, want %d", c.Name(), row, c.Format(row), want)
			}
		}
		for numbers.Len() > 0 {
			numbers.DropLast()
			texts.DropLast()
		}
	}
}

// TestConcatWithoutAFile appends tables whose rows found no file to move to: they stay in memory.
func TestConcatWithoutAFile(t *testing.T) {
	store := rowfile.NewStore("absent")
	var parts []*Table
	for range 2 {
		c := NewNumeric("x")
		for i := range 2*chunkLen + 5 {
			c.Append(float64(i))
		}
		if err := c.MoveTo(store); !rowfile.IsOfFolder(err) {
			t.Fatalf("the error is %v", err)
		}
		table, err := NewTable(c)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, table)
	}
	all, err := Concat([]string{"x"}, parts...)
	if err != nil || all.Rows() != parts[0].Rows()+parts[1].Rows() {
		t.Errorf("%v", err)
	}
}
