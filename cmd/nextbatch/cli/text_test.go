package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/benchmark/sqlite"
)

// hostile is what nobody wants on a terminal: red text, a window title, a line
// of its own, an overwritten line, reversed direction, C1, and a byte that is
// not UTF-8.
const hostile = "\x1b[31mred\x1b]0;title\a\nforged\rover\u202ethgir\u2066\u0085\u200b\x9b"

func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"plain":              "plain",
		"größe [m] ☃":        "größe [m] ☃",
		"a\x1b[31m\n\r\tb":   `a\x1b[31m\n\r\tb`,
		"\u202eab\u2069":     `\u202eab\u2069`,
		"\x9b1;5\xff":        `\x9b1;5\xff`,
		"\u0085\u2028\ufeff": `\u0085\u2028\ufeff`,
	} {
		if got := shown(text); got != want {
			t.Errorf("%q is shown as %q, not %q", text, got, want)
		}
	}
}

// TestShownError: joined errors are on lines of their own, whatever wraps them;
// a line break in the user's text is not one.
func TestShownError(t *testing.T) {
	a, b := errors.New("column \x1b[1m"), fmt.Errorf("open x\ny: %w", os.ErrNotExist)
	joined := dataError{fmt.Errorf("file\n.csv: %w", errors.Join(a, b))}
	want := `file\n.csv: column \x1b[1m` + "\n" + `open x\ny: file does not exist`
	if got := shownError(joined); got != want {
		t.Errorf("%q", got)
	}
}

// harmless fails on anything that a terminal would not print.
func harmless(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is no UTF-8: %q", what, text)
	}
	for _, r := range text {
		if r != '\n' && !unicode.IsGraphic(r) {
			t.Errorf("%s has %q: %q", what, r, text)
			return
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "forged") || strings.HasPrefix(line, "over") {
			t.Errorf("%s has a line of the user's: %q", what, text)
		}
	}
}

// TestHostileNames passes names through everything that prints them.
func TestHostileNames(t *testing.T) {
	name := hostile[:len(hostile)-1] // tables are UTF-8
	quoted := `"` + name + `"`
	var text strings.Builder
	fmt.Fprintf(&text, "%s,\"a%s\",\"level%s\",\"constant%s\",y\n", quoted, name, name, name)
	for i := range 60 {
		label := fmt.Sprint(i % 7)
		if i%2 == 0 {
			label = ""
		}
		fmt.Fprintf(&text, "\"%d%s\",%d,\"%d%s\",1,%s\n", i, name, i*i%17, i%3, name, label)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, strings.ReplaceAll(hostile, "/", "")+".csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	model, batch := filepath.Join(dir, hostile+".safetensors"), filepath.Join(dir, hostile+".out.csv")
	results := hostileResults(t, dir)
	for _, args := range [][]string{
		{"select", path, "--target", "y", "--id", name, "-n", "5", "--method", "maxdist-tp:linear"},
		{"select", path, "--target", "y", "--id", name, "-n", "5", "--method", "random", "--must", "nobody" + hostile},
		{"select", path, "--target", "y", "--id", name, "-n", "5", "--method", "random", "--exclude", "nobody" +
			hostile, "--out", batch},
		{"select", path, "--target", "y", "--id", name, "-n", "5", "--method", "lcmd-tp:" + hostile},
		{"select", path, "--target", "y", "--id", name, "-n", "5", "--epochs", "1", "--hidden", "4", "--dry-run"},
		{"select", path, "--target", "y", "-n", "5", "--id", "no" + hostile},
		{"select", path, "--target", "no" + hostile, "-n", "5"},
		{"select", path + hostile, "--target", "y", "-n", "5"},
		{"select", path, "--target", "y", "-n", "5", "--out", filepath.Join(dir, "no", hostile)},
		{"select", path, "--target", "y", "-n", hostile},
		{"select", path, "--target", "y", "-n", "5", "--sep", hostile},
		{"select", path, "--target", "y", "-n", "5", "--encoding", hostile},
		{"select", path, "--target", "y", "-n", "5", "--format", hostile},
		{"select", path, "--" + hostile},
		{hostile},
		{"fit", path, "--target", "y", "--id", name, "--epochs", "1", "--hidden", "4", "--out", model},
		{"evaluate", path, "--target", "y", "--id", name, "--model", model},
		{"evaluate", path, "--target", "y", "--model", model + hostile},
		{"gram", path, "--target", "y", "--id", name, "--method", "lcmd-tp:linear", "--out",
			filepath.Join(dir, hostile+".npy")},
		{"advise", path, "--target", "y", "--id", name, "--epochs", "1", "--hidden", "4"},
		{"specs", hostile},
		{"data", "info", hostile},
		{"data", "prepare", "fried", "--data", filepath.Join(dir, hostile)},
		{"bench", "run", "--table", path, "--target", "y", "--specs", hostile, "--results", filepath.Join(dir, "r.db")},
		{"bench", "run", "--sets", hostile, "--specs", "random", "--results", filepath.Join(dir, "r.db")},
		{"bench", "status", results},
		{"bench", "report", results},
		{"bench", "report", results, "--format", hostile, "--out", dir},
		{"man", filepath.Join(dir, hostile)},
	} {
		_, out, log := call(args...)
		harmless(t, fmt.Sprintf("%.20q, standard output", args), out)
		harmless(t, fmt.Sprintf("%.20q, standard error", args), log)
	}

	out, _ := must(t, exitOK, "select", path, "--target", "y", "--id", name, "-n", "2", "--method",
		"random", "-q", "--json")
	var r nextbatch.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	for _, id := range r.IDs {
		if !strings.HasSuffix(id, name) {
			t.Errorf("JSON has the id %q", id)
		}
	}
	if raw, err := os.ReadFile(batch); err != nil || !strings.Contains(string(raw), name) {
		t.Errorf("the table does not have the id as it is: %q, %v", raw, err)
	}
}

// hostileResults writes a results file with hostile names.
func hostileResults(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, hostile+".db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	leave, err := s.Join(benchmark.Process{Version: hostile}, benchmark.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	run := benchmark.Run{DataSet: hostile, Activation: hostile, Spec: "random", BatchSize: 1, Rounds: 1}
	if err := s.Plan([]benchmark.Run{run}); err != nil {
		t.Fatal(err)
	}
	if err := s.Fail([]benchmark.Run{run}, errors.New(hostile)); err != nil {
		t.Fatal(err)
	}
	if err := leave(); err != nil {
		t.Fatal(err)
	}
	return path
}
