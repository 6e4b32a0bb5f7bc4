package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Leak is a small table with columns that may be measured together with its label, and what has to be said about them.
type Leak struct {
	Name, Path, Target string
	Dropped            []string // columns that are not inputs
	Says               string   // a part of a warning; empty if no column is to be named
}

// Leaks returns the tables of tables/testdata/leaks. Rows have the column id.
func Leaks(t testing.TB) (list []Leak) {
	t.Helper()
	root, err := moduleRoot(".")
	check(t, err)
	folder := filepath.Join(root, "tables", "testdata", "leaks")
	raw, err := os.ReadFile(filepath.Join(folder, "expected.txt"))
	check(t, err)
	for line := range strings.Lines(string(raw)) {
		fields := strings.SplitN(strings.TrimSpace(line), " | ", 4)
		if len(fields) == 4 && line[0] != '#' {
			list = append(list, Leak{fields[0], filepath.Join(folder, fields[0]+".csv"), fields[1],
				strings.Fields(strings.TrimPrefix(fields[2], "-")), strings.TrimPrefix(fields[3], "-")})
		}
	}
	return list
}

// Check compares the columns that are not inputs, and what was said, with what has to be.
func (l *Leak) Check(t testing.TB, door string, dropped []string, said string) {
	t.Helper()
	if got, want := strings.Join(dropped, " "), strings.Join(l.Dropped, " "); got != want {
		t.Errorf("%s, %s: %q are not inputs, want %q", l.Name, door, got, want)
	}
	named := strings.Contains(said, "is not used") || strings.Contains(said, "labelled rows are unlike")
	if !strings.Contains(said, l.Says) || l.Says == "" && named {
		t.Errorf("%s, %s: %q, want %q", l.Name, door, said, l.Says)
	}
}
