package sets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/golden"
)

// TestRowByRowIsTheSame: choosing rows while reading a file gives the same
// result as choosing from the whole table.
func TestRowByRowIsTheSame(t *testing.T) {
	t.Parallel()
	for _, l := range layouts {
		s, _ := Find(l.set)
		if l.features > 100 {
			continue // the same case, but slow
		}
		for _, most := range []int{10, 2000} {
			path := writeFile(t, t.TempDir(), s.Files[0], []byte(l.file(1100)))
			got, rows, err := s.load(t.Context(), path, most)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := s.read(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := s.prepare(whole, most)
			if err != nil {
				t.Fatal(err)
			}
			golden.MustMatch(t, l.set, got.X, want.X, 0)
			if rows != 1100 || !slices.Equal(got.Rows, want.Rows) || !slices.Equal(got.Y, want.Y) ||
				!slices.Equal(got.Encoder.Features(), want.Encoder.Features()) {
				t.Errorf("%s, at most %d: %d rows, %v, want %v", l.set, most, rows, got.Rows, want.Rows)
			}
		}
	}
}

// TestLateWordsRestartTheChoice: a second pass over a file starts counting over.
func TestLateWordsRestartTheChoice(t *testing.T) {
	t.Parallel()
	text := lines("a,word,y\n", 3000, func(row int) string {
		return fmt.Sprintf("%d,%d,%d", row, row%2,
			2*row)
	}) + lines("", 1000, func(row int) string { return fmt.Sprintf("%d,x,6000", 3000+row) }) + ",y,1\n"
	s := Set{Name: "late", Header: source.HeaderPresent, Label: Columns{Names: []string{"y"}}}
	r, rows, err := s.load(t.Context(), writeFile(t, t.TempDir(), "late.csv", []byte(text)), 5000)
	if err != nil || rows != 4001 || r.X.Rows != 4000 || r.Rows[3000] != 3000 || r.X.Cols != 5 {
		t.Errorf("%v, %d rows, %v", err, rows, r.Encoder.Features())
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	s := Set{Name: "bad", Header: source.HeaderPresent, Label: Columns{Names: []string{"y"}}, Log: true}
	for text, want := range map[string]string{
		"x,y\n,1\n2,\n":            "none of the 2 rows is complete",
		"x,y\n1,2\n,3\n2,4\n3,0\n": `column "y", row 3 (from 0): the label 0 has no logarithm`,
		"x,y\n":                    "the table has no rows",
	} {
		if _, _, err := s.load(t.Context(), writeFile(t, t.TempDir(), "bad.csv", []byte(text)), 100); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.load(ctx, writeFile(t, t.TempDir(), "bad.csv", []byte("x,y\n1,2\n2,3\n")),
		100); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// BenchmarkPrepareLarge prepares a file with as many columns as methane.
func BenchmarkPrepareLarge(b *testing.B) {
	text := lines("", 1_000_000, func(row int) string { return numbers(36, row) })
	path, size := writeFile(b, b.TempDir(), "large.csv", []byte(text)), int64(len(text))
	s := Set{Name: "large", Header: source.HeaderAbsent, Label: Columns{Index: []int{0}}}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.load(b.Context(), path, DefaultMaxRows); err != nil {
			b.Fatal(err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func folder(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
