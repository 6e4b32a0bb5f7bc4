package formats

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

var rewrite = flag.Bool("rewrite", false, "rewrite what the messy tables must become")

// TestMessyTables reads the tables of testdata/messy, as laboratories have them, and compares what they become with the
// file beside each: how it is written, its columns with their values, what the reader says, and the lines of its rows.
func TestMessyTables(t *testing.T) {
	paths, err := filepath.Glob("testdata/messy/*.?sv")
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d tables, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			got := become(t, path)
			want := strings.TrimSuffix(path, filepath.Ext(path)) + ".want"
			if *rewrite {
				if err := os.WriteFile(want, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			expected, err := os.ReadFile(want)
			if err != nil || got != string(expected) {
				t.Errorf("%v; got\n%s\nwant\n%s", err, got, expected)
			}
		})
	}
}

// become describes what a file becomes.
func become(t *testing.T, path string) string {
	t.Helper()
	read, err := ReadFile(t.Context(), path, sheets.Options{})
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), filepath.ToSlash(path), filepath.Base(path)) + "\n"
	}
	o := read.Origin()
	var b strings.Builder
	fmt.Fprintf(&b, "style: fields %q, decimal %q, thousands %q, encoding %q, CRLF %v, mark %v, unnamed %v, units %q\n",
		o.Delimiter, o.Decimal, o.Thousands, o.Encoding, o.CRLF, o.Mark, o.Unnamed, o.Units)
	fmt.Fprintf(&b, "header: %v; rows: %d, on lines %d to %d\n", !o.Headless, read.Rows(), o.Lines.Of(0),
		o.Lines.Of(read.Rows()-1))
	for _, w := range o.Warnings {
		b.WriteString("warning: " + w + "\n")
	}
	for _, n := range o.Notes {
		b.WriteString("note: " + n + "\n")
	}
	b.WriteString(show(read))
	return b.String()
}

// TestMessyTablesAgain: what was read from a messy table reads back after it was written in the style of the table.
func TestMessyTablesAgain(t *testing.T) {
	paths, err := filepath.Glob("testdata/messy/*.?sv")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		read, err := ReadFile(t.Context(), path, sheets.Options{})
		if err != nil {
			continue // TestMessyTables says so
		}
		var file bytes.Buffer
		if err := WriteCSV(&file, read); err != nil {
			t.Fatal(err)
		}
		again, err := ReadCSV(t.Context(), &file, sheets.Options{Kinds: kindsOf(read), Header: sheets.HeaderPresent})
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if show(again) != show(read) {
			t.Errorf("%s: read back\n%s\nfirst\n%s", path, show(again), show(read))
		}
	}
}

// FuzzGuess: whatever a file has, the guess gives a table or an *Error, says how the file is written, and declaring
// what it guessed gives the same table.
func FuzzGuess(f *testing.F) {
	paths, err := filepath.Glob("testdata/messy/*.?sv")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := ReadCSV(t.Context(), bytes.NewReader(text), sheets.Options{})
		if err != nil {
			return // FuzzReadCSV checks its kind
		}
		o := read.Origin()
		if !slices.Contains([]byte{0, '.', ','}, o.Decimal) || o.Delimiter == o.Decimal && o.Decimal == '.' {
			t.Fatalf("%+v", o.Style)
		}
		declared := sheets.Options{Delimiter: o.Delimiter, Encoding: o.Encoding, Header: sheets.HeaderPresent}
		if o.Headless {
			declared.Header = sheets.HeaderAbsent
		}
		again, err := ReadCSV(t.Context(), bytes.NewReader(text), declared)
		if err != nil || show(again) != show(read) {
			t.Fatalf("%v\n%s\n%s", err, show(read), shown(again))
		}
	})
}

func shown(t *dataset.Table) string {
	if t == nil {
		return ""
	}
	return show(t)
}
