package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestWrittenFilesReadBack covers every format that has a reader too.
func TestWrittenFilesReadBack(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(20) {
		written := randomTable(t, rand.New(rand.NewPCG(seed, 4)))
		for _, name := range []string{"a b.csv", "ü.tsv", "x.tab.gz", "x.csv.gz", "x.parquet", "x.PARQUET.GZ"} {
			path := filepath.Join(dir, name)
			if err := WriteFile(path, written); err != nil {
				t.Fatal(err)
			}
			read, err := ReadFile(t.Context(), path, sheets.Options{Header: sheets.HeaderPresent, Kinds: kindsOf(written),
				Missing:   []string{},
				Delimiter: delimiterOf(name)})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := show(read), show(written); got != want {
				t.Fatalf("%s: wrote\n%s\nread\n%s", name, want, got)
			}
		}
	}
}

func delimiterOf(name string) byte {
	if strings.Contains(name, ".t") {
		return '\t'
	}
	return ','
}

func TestWriteJSONLines(t *testing.T) {
	for seed := range uint64(50) {
		written := randomTable(t, rand.New(rand.NewPCG(seed, 5)))
		var file bytes.Buffer
		if err := WriteJSONLines(&file, written); err != nil {
			t.Fatal(err)
		}
		from := json.NewDecoder(&file)
		for row := range written.Rows() {
			var object map[string]any
			if err := from.Decode(&object); err != nil {
				t.Fatal(err)
			}
			if len(object) != len(written.Columns()) {
				t.Fatalf("%v", object)
			}
			for _, c := range written.Columns() {
				checkJSON(t, c, row, object[c.Name()])
			}
		}
	}
}

func checkJSON(t *testing.T, c dataset.Column, row int, got any) {
	t.Helper()
	switch c := c.(type) {
	case *dataset.Numeric:
		if got != c.Float(row) {
			t.Errorf("%v, want %v", got, c.Float(row))
		}
	default:
		if c.Missing(row) != (got == nil) || got != nil && got != c.Format(row) {
			t.Errorf("%v, want %q", got, c.Format(row))
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	mixed, err := dataset.NewTable(dataset.NewNumeric("x", 1, math.Inf(1)), dataset.NewText("id", "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		kind error
		says string
	}{
		"x.jsonl": {sheets.ErrRange, "row 1 (from 0), column 1 (x)"},
		"x.npy":   {sheets.ErrNumber, "column 2 (id)"},
		"x.xls":   {sheets.ErrFormat, ".parquet"},
	} {
		path := writeFile(t, dir, name, []byte("old"))
		err := WriteFile(path, mixed)
		if at := (*sheets.Error)(nil); !errors.As(err, &at) || at.File != path || !errors.Is(err, test.kind) ||
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != "old" {
			t.Errorf("%s is %q, %v", name, left, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("%v %v", entries, err)
	}
	if err := WriteMatrix(filepath.Join(dir, "x.csv"), matrix.New[float32](1, 1)); !errors.Is(err, sheets.ErrFormat) {
		t.Error(err)
	}
	full := errors.New("full")
	if err := WriteJSONLines(failing{full}, mixed.Select([]int{0})); !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestWriteMatrix(t *testing.T) {
	m := matrix.FromRows([][]float32{{1, 2}, {3, 4.5}})
	for _, name := range []string{"m.npy", "m.npy.gz"} {
		path := filepath.Join(t.TempDir(), name)
		if err := WriteMatrix(path, m); err != nil {
			t.Fatal(err)
		}
		back, err := ReadMatrix[float64](t.Context(), path, sheets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkMatrix(t, name, back, [][]float64{{1, 2}, {3, 4.5}})
	}
	numbers, err := dataset.NewTable(dataset.NewNumeric("x", 1, math.NaN()), dataset.NewNumeric("y", 3, 4))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.npy")
	if err := WriteFile(path, numbers); err != nil {
		t.Fatal(err)
	}
	read, err := ReadFile(t.Context(), path, sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := show(read); got != "c0 numeric [1] []\nc1 numeric [3] [4]\n" {
		t.Error(got)
	}
}

// TestStyle: a text file tells how it is written, and is written so again.
func TestStyle(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		opts sheets.Options
		want dataset.Style
	}{
		"plain":      {"id,x\na,1.5\nb,2\n", sheets.Options{}, dataset.Style{Delimiter: ',', Decimal: '.'}},
		"excel":      {"id;x;y\na;1,5;\nb;2;3,25\n", sheets.Options{}, dataset.Style{Delimiter: ';', Decimal: ','}},
		"points":     {"id;x\na;1.5\nb;2,5\n", sheets.Options{}, dataset.Style{Delimiter: ';', Decimal: '.'}},
		"quoted":     {"id;x\n\"a;b\";1,5\nb;2\n", sheets.Options{}, dataset.Style{Delimiter: ';', Decimal: ','}},
		"tabs":       {"id\tx\na\t1\n", sheets.Options{}, dataset.Style{Delimiter: '\t'}},
		"one column": {"x\n1\n2\n", sheets.Options{}, dataset.Style{}},
		"windows": {"\xef\xbb\xbf,x\r\n0,1\r\n", sheets.Options{}, dataset.Style{Delimiter: ',', CRLF: true,
			Mark: true, Unnamed: []int{0}}},
		"windows-1252": {"gr\xf6\xdfe;x\n1;" + strings.Repeat("2", 8) + "\n", sheets.Options{},
			dataset.Style{Delimiter: ';', Encoding: "windows-1252"}},
		"declared": {"a;b\n1,5;2\n", sheets.Options{Delimiter: ';', Decimal: '.'}, dataset.Style{Delimiter: ';',
			Decimal: '.'}},
	} {
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := ReadFile(t.Context(), path, c.opts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := table.Origin().Style; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v, %v", name, got, c.want, err)
		}
	}
	again := filepath.Join(t.TempDir(), "again.csv")
	table, err := dataset.NewTable(dataset.NewNumeric("column0", 0, 1), dataset.NewText("x", "a;b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteStyled(again, table, dataset.Style{Delimiter: ';', CRLF: true, Mark: true,
		Unnamed: []int{0, 1, 7}}); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(again); err != nil || string(raw) != "\xef\xbb\xbf;x\r\n0;\"a;b\"\r\n1;c\r\n" {
		t.Errorf("%q, %v", raw, err)
	}
}
