package formats

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// wideRow has columns of all kinds.
type wideRow struct {
	ID    string   `parquet:"id"`
	Count int64    `parquet:"count"`
	X     float64  `parquet:"x"`
	Z     *float64 `parquet:"z,optional"`
	Kind  string   `parquet:"kind"`
	Day   int32    `parquet:"day,date"`
}

const (
	overflowFiles = 9
	overflowRows  = 7000 // of each file
)

// writeParts writes a table as a folder of Parquet files.
func writeParts(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	random := rand.New(rand.NewPCG(3, 4))
	for part := range overflowFiles {
		rows := make([]wideRow, overflowRows)
		for i := range rows {
			n, z := part*overflowRows+i, random.NormFloat64()
			rows[i] = wideRow{ID: fmt.Sprintf("row %d", n), Count: int64(n % 1000), X: random.NormFloat64(),
				Kind: fmt.Sprint("kind ", n%11), Day: int32(n % 500)}
			if n%13 > 0 {
				rows[i].Z = &z
			}
		}
		writeParquetShard(t, filepath.Join(dir, fmt.Sprintf("part-%d.parquet", part)), rows, parquet.MaxRowsPerRowGroup(3000),
			parquet.PageBufferSize(4000))
	}
	return dir
}

// overflowing returns options under which tables of a megabyte overflow.
func overflowing(t *testing.T) sheets.Options {
	t.Helper()
	if !rowfile.Supported {
		t.Skip(rowfile.ErrUnsupported)
	}
	store := rowfile.NewStore(t.TempDir())
	t.Cleanup(store.Close)
	return sheets.Options{MaxMemory: 4 << 20, Overflow: store}
}

func sameTables(t *testing.T, got, want *dataset.Table) {
	t.Helper()
	if got.Rows() != want.Rows() || fmt.Sprint(got.Names()) != fmt.Sprint(want.Names()) {
		t.Fatalf("%d rows of %v, want %d of %v", got.Rows(), got.Names(), want.Rows(), want.Names())
	}
	for j, c := range want.Columns() {
		other := got.Columns()[j]
		if other.Kind() != c.Kind() {
			t.Fatalf("column %s is %v, want %v", c.Name(), other.Kind(), c.Kind())
		}
		for i := range want.Rows() {
			if other.Format(i) != c.Format(i) {
				t.Fatalf("row %d, column %s: %q, want %q", i, c.Name(), other.Format(i), c.Format(i))
			}
		}
	}
}

// TestTablesOverflow: a table that exceeds memory is that of memory, from many Parquet files
// or from text, and takes little memory.
func TestTablesOverflow(t *testing.T) {
	dir := writeParts(t)
	all, err := ReadFile(t.Context(), dir, sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one := filepath.Join(t.TempDir(), "one.csv")
	if err := WriteFile(one, all); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "part-*.parquet"), one} {
		opts := overflowing(t)
		want, err := ReadFile(t.Context(), path, sheets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(t.Context(), path, sheets.Options{MaxMemory: opts.MaxMemory / 4}); !errors.Is(err,
			sheets.ErrMemory) {
			t.Errorf("%s fits into %d bytes of memory: %v", path, opts.MaxMemory/4, err)
		}
		got, err := ReadFile(t.Context(), path, opts)
		if err != nil {
			t.Fatal(err)
		}
		sameTables(t, got, want)
		if in, all := got.Bytes(), want.Bytes(); in > all/2 || in > opts.MaxMemory/2 {
			t.Errorf("%s: %d bytes in memory of %d", path, in, all)
		}
	}
}

// TestReadTwice: a text whose columns turn out not to be numeric takes the space of one table.
func TestReadTwice(t *testing.T) {
	var csv, json strings.Builder
	csv.WriteString("a,b,c\n")
	for i := range 100_000 {
		b := strconv.Itoa(i % 7)
		if i >= 70_000 {
			b = "many"
		}
		fmt.Fprintf(&csv, "%d,%s,%d.5\n", i, b, i)
		fmt.Fprintf(&json, "{\"a\":%d,\"b\":%s,\"c\":%d.5}\n", i, strings.ReplaceAll(b, "many", `"many"`), i)
	}
	for name, text := range map[string]string{"t.csv": csv.String(), "t.jsonl": json.String()} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := ReadFile(t.Context(), path, sheets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		once, twice := overflowing(t), overflowing(t)
		once.MaxMemory, twice.MaxMemory = 1<<20, 1<<20
		once.Kinds = map[string]dataset.Kind{"b": dataset.KindCategorical}
		for _, opts := range []sheets.Options{once, twice} {
			got, err := ReadFile(t.Context(), path, opts)
			if err != nil {
				t.Fatal(err)
			}
			sameTables(t, got, want)
		}
		if at := twice.Overflow.Mark(); at == 0 || at > once.Overflow.Mark() {
			t.Errorf("%s: %d bytes in the file, and %d where it is read once", name, at, once.Overflow.Mark())
		}
	}
}

// TestFaultIsNoDamage: a temporary file that fails while a Parquet file is read is not taken for
// damage of the latter.
func TestFaultIsNoDamage(t *testing.T) {
	if !rowfile.Supported {
		t.Skip(rowfile.ErrUnsupported)
	}
	path := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(path, make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := rowfile.Open[float32](path, 0, 1<<14, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	sum := float32(0)
	err = rowfile.Guard(func() (err error) {
		defer panicAsDamage(&err)
		sum += rows.Rows.At(1<<13, 0)
		return nil
	})
	if fault := (*rowfile.FaultError)(nil); !errors.As(err, &fault) || fault.File != path {
		t.Errorf("%v, %v", err, sum)
	}
	err = rowfile.Guard(func() (err error) {
		defer panicAsDamage(&err)
		panic("a page ends too early")
	})
	if !errors.Is(err, sheets.ErrRead) {
		t.Error(err)
	}
}

// TestOverflowErrors: what is wrong with a file in the middle is said in the same words,
// whether the files before it are in memory or not.
func TestOverflowErrors(t *testing.T) {
	for name, spoil := range map[string]func(path string){
		"other columns": func(path string) { writeParquetShard(t, path, []singleRow{{1, 2}}) },
		"cut off": func(path string) {
			whole, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, whole[:len(whole)/2], 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"a number out of range": func(path string) {
			writeParquetShard(t, path, []wideRow{{ID: "a", Count: 1 << 60}})
		},
	} {
		dir := writeParts(t)
		path := filepath.Join(dir, "part-7.parquet")
		spoil(path)
		_, want := ReadFile(t.Context(), dir, sheets.Options{})
		_, got := ReadFile(t.Context(), dir, overflowing(t))
		if got == nil || got.Error() != want.Error() || !strings.Contains(got.Error(), path) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// endsAfter is a context that ends after n questions.
type endsAfter struct {
	context.Context
	left *int
}

func (c endsAfter) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestOverflowEndsWithTheContext(t *testing.T) {
	dir := writeParts(t)
	for _, left := range []int{0, 10, 500} {
		if table, err := ReadFile(endsAfter{t.Context(), &left}, dir, overflowing(t)); err != context.Canceled {
			t.Errorf("%v, %v", table, err)
		}
	}
}

// TestOverflowWithoutSpace: rows that find no space in the file stay in memory, as far as it
// allows them, and otherwise the error says why.
func TestOverflowWithoutSpace(t *testing.T) {
	if !rowfile.Supported {
		t.Skip(rowfile.ErrUnsupported)
	}
	dir := writeParts(t)
	want, err := ReadFile(t.Context(), dir, sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(t.TempDir(), "absent")
	got, err := ReadFile(t.Context(), dir, sheets.Options{MaxMemory: 2 * want.Bytes(), Overflow: rowfile.NewStore(absent)})
	if err != nil {
		t.Fatal(err)
	}
	sameTables(t, got, want)
	_, err = ReadFile(t.Context(), dir, sheets.Options{MaxMemory: want.Bytes() / 2, Overflow: rowfile.NewStore(absent)})
	if !errors.Is(err, sheets.ErrMemory) || !strings.Contains(err.Error(), absent+" cannot hold temporary files") {
		t.Error(err)
	}
	huge := sheets.Options{MaxMemory: 1, Overflow: rowfile.NewStore(t.TempDir())}
	if err := huge.CheckSpace("it", math.MaxInt64); !errors.Is(err, sheets.ErrMemory) ||
		!errors.As(err, new(*rowfile.SpaceError)) {
		t.Error(err)
	}
}
