package formats

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

func writeFile(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func compressed(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadFileByExtension(t *testing.T) {
	dir := t.TempDir()
	const comma, tab, arff = "a,b\n1,x\n", "a\tb\n1\tx\n", "@relation r\n@attribute a real\n@attribute b {x}\n@data\n1,x\n"
	for name, text := range map[string]string{"t.csv": comma, "t.CSV": comma, "t.data": comma,
		"mit Leerzeichen ü.txt": comma,
		"t.tsv":                 tab, "t.tab": tab, "t.arff": arff} {
		for suffix, content := range map[string][]byte{"": []byte(text), ".gz": compressed(t, text), ".GZ": []byte(text)} {
			read, err := ReadFile(t.Context(), writeFile(t, dir, name+suffix, content), sheets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := show(read); got != "a numeric [1]\nb categorical [x]\n" {
				t.Errorf("%s%s:\n%s", name, suffix, got)
			}
		}
	}
}

// TestLateWordsAreReadAgain: values keep their spelling, including those first
// taken for numbers.
func TestLateWordsAreReadAgain(t *testing.T) {
	text := "code,x,zip\n" + strings.Repeat("007,1.50,01\n", 3000) + "A7,2,\n" + strings.Repeat("08,3,B\n", 1000)
	path := writeFile(t, t.TempDir(), "late.csv", []byte(text))
	read, err := ReadFile(t.Context(), path, sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for j, want := range []string{"007 A7 08", "1.5 2 3", "01  B"} {
		c := read.Columns()[j]
		if got := c.Format(0) + " " + c.Format(3000) + " " + c.Format(3001); got != want {
			t.Errorf("%s: %q, want %q", c.Name(), got, want)
		}
	}
	_, err = ReadFile(t.Context(), path, sheets.Options{Kinds: map[string]dataset.Kind{"code": dataset.KindNumeric}})
	at := (*sheets.Error)(nil)
	if !errors.As(err, &at) || at.File != path || at.Line != 3002 || at.Column != 1 || !errors.Is(err, sheets.ErrNumber) {
		t.Errorf("declared numeric: %v", err)
	}
}

// TestLateWordsTakeOneMorePass has 400 columns that turn out not to be numeric,
// each in a different row.
func TestLateWordsTakeOneMorePass(t *testing.T) {
	const columns = 400
	var text strings.Builder
	row := func(word int) {
		for j := range columns {
			if j > 0 {
				text.WriteByte(',')
			}
			if j == word || word == columns {
				text.WriteByte('w')
			} else {
				text.WriteByte('1')
			}
		}
		text.WriteByte('\n')
	}
	for range 1200 {
		row(-1)
	}
	for j := range columns {
		row(j)
	}
	for range 400 {
		row(columns)
	}
	passes := 0
	readers[".counted"] = func(ctx context.Context, r io.Reader, opts sheets.Options, notNumeric []int) (*dataset.Table,
		error) {
		passes++
		return readCSV(ctx, r, opts, notNumeric)
	}
	defer delete(readers, ".counted")
	read, err := ReadFile(t.Context(), writeFile(t, t.TempDir(), "late.counted", []byte(text.String())),
		sheets.Options{Header: sheets.HeaderAbsent})
	if err != nil {
		t.Fatal(err)
	}
	if passes != 2 {
		t.Errorf("%d passes", passes)
	}
	for j, c := range read.Columns() {
		if c.Kind() != dataset.KindCategorical || c.Format(1200+j) != "w" || c.Len() != 2000 {
			t.Fatalf("column %d is %v, %q", j, c.Kind(), c.Format(1200+j))
		}
	}
}

// TestTooManyColumns: a compressed header of a few kilobytes can name millions.
func TestTooManyColumns(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"t.csv.gz":  strings.Repeat("a,", 4<<20) + "\n1,2\n",
		"q.csv.gz":  strings.Repeat(`"a",`, 4<<20) + "\n1,2\n",
		"t.arff.gz": "@relation r\n" + numbered("@attribute a%d real\n", sheets.MostColumns+1) + "@data\n1\n",
	} {
		path := writeFile(t, dir, name, compressed(t, text))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadFile(t.Context(), path, sheets.Options{})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, sheets.ErrColumns) || !strings.Contains(err.Error(), "more than 131072") {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 128<<20 {
			t.Errorf("%s: %d MiB were allocated", name, took>>20)
		}
	}
}

func numbered(line string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line, i)
	}
	return b.String()
}

func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadFile(t.Context(), filepath.Join(dir, "absent.csv"), sheets.Options{}); !errors.Is(err,
		fs.ErrNotExist) {
		t.Error(err)
	}
	whole := compressed(t, "a,b\n"+strings.Repeat("1,2\n", 5000))
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-5] ^= 1 // in the checksum
	for name, test := range map[string]struct {
		content []byte
		kind    error
	}{
		"table.xlsx":       {nil, sheets.ErrFormat},
		"table.ods":        {nil, sheets.ErrFormat},
		"table":            {nil, sheets.ErrFormat},
		"truncated.csv.gz": {whole[:len(whole)-10], sheets.ErrRead},
		"damaged.csv.gz":   {damaged, sheets.ErrRead},
		"header.csv.gz":    {whole[:5], sheets.ErrRead},
		"empty.csv":        {nil, sheets.ErrEmpty},
	} {
		path := writeFile(t, dir, name, test.content)
		_, err := ReadFile(t.Context(), path, sheets.Options{})
		if at := (*sheets.Error)(nil); !errors.As(err, &at) || !errors.Is(err, test.kind) || at.File != path {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadFile(t.Context(), t.TempDir()+"/", sheets.Options{}); err == nil {
		t.Error("a folder was read")
	}
}
