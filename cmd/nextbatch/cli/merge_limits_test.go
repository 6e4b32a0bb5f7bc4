package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMergeLimits: labels below a limit come into the table as such, whatever kind of file it is, and those of which
// the limit is not known are refused with the way out.
func TestMergeLimits(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("t.csv", "id,a,y\nr1,1,3\nr2,2,\nr3,3,\nr4,4,\nr5,5,\n")
	write("b.csv", "id,a,y\nr2,2,<0.5\nr3,3,n.d.\nr4,4,>9\n")
	merge := func(code int, args ...string) string {
		t.Helper()
		_, log := must(t, code, append([]string{"merge"}, append(args, "--id", "id", "--target", "y", "--accept")...)...)
		return log
	}
	if log := merge(exitData, "t.csv", "b.csv", "--out", "m.csv"); !strings.Contains(log, `"n.d." (line 3, id r3)`) ||
		!strings.Contains(log, "--lod 0.5") {
		t.Error(log)
	}
	merge(exitOK, "t.csv", "b.csv", "--out", "m.csv", "--lod", "0.2")
	if text, err := os.ReadFile("m.csv"); err != nil ||
		string(text) != "id,a,y\nr1,1,3\nr2,2,<0.5\nr3,3,<0.2\nr4,4,>9\nr5,5,\n" {
		t.Errorf("%s, %v", text, err)
	}
	if log := merge(exitData, "m.csv", "b.csv", "--out", "o.csv", "--lod", "0.3"); !strings.Contains(log,
		"the label is <0.3, but the table has <0.2 in line 4") {
		t.Error(log)
	}

	// In other kinds of files they are the same labels when they come once more, and no input.
	for _, name := range []string{"m.xlsx", "m.parquet", "m.jsonl"} {
		merge(exitOK, "t.csv", "b.csv", "--out", name, "--lod", "0.2")
		again := "again" + filepath.Ext(name)
		if log := merge(exitOK, name, "b.csv", "--out", again, "--lod", "0.2"); !strings.Contains(log,
			"0 labels are new, 3 known before") {
			t.Errorf("%s: %s", name, log)
		}
		write("exact.csv", "id,y\nr2,0.5\n")
		if log := merge(exitData, name, "exact.csv", "--out", again); !strings.Contains(log,
			"the label is 0.5, but the table has <0.5") {
			t.Errorf("%s: %s", name, log)
		}
		if out, log := must(t, exitOK, "select", again, "--target", "y", "--id", "id", "-n", "1", "--method",
			"maxdist-tp:linear", "--dry-run"); !strings.Contains(out, "inputs      1: a\n") {
			t.Errorf("%s: %s", name, out)
		} else if name != "m.xlsx" &&
			!strings.Contains(log, `column "y": 3 labels are limits, which only a Gaussian process takes as such`) {
			t.Errorf("%s: %s", name, log)
		}
	}

	// So are replicates, and several files after each other.
	write("r.csv", "id,replicate,a,y\nr5,1,5,<0.5\nr5,2,5,0.6\n")
	write("s.csv", "id,a,y\nr2,2,<0.5\n")
	merge(exitOK, "t.csv", "s.csv", "r.csv", "--out", "r.parquet")
	merge(exitOK, "r.parquet", "s.csv", "--out", "m.csv")
	if text, err := os.ReadFile("m.csv"); err != nil ||
		string(text) != "id,a,y,y censored\nr1,1,3,0\nr2,2,0.5,-1\nr3,3,,0\nr4,4,,0\nr5,5,0.5,-1\nr5,5,0.6,0\n" {
		t.Errorf("%s, %v", text, err)
	}
}
