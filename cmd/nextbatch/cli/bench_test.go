package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// bench runs a command and returns its output and log.
func bench(t *testing.T, want int, args ...string) (string, string) {
	t.Helper()
	var out, log bytes.Buffer
	if code := Run(append([]string{"bench"}, args...), &out, &log); code != want {
		t.Fatalf("%v: exit code %d, want %d\n%s", args, code, want, log.String())
	}
	return out.String(), log.String()
}

// smallTable writes a table with a column for ids and one of categories.
func smallTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("name,size,kind,y\n")
	for i := range 300 {
		fmt.Fprintf(&b, "row %d,%d,%s,%d\n", i, i*37%100, []string{"a", "b", "c"}[i%3], i*37%100+10*(i%3))
	}
	path := filepath.Join(t.TempDir(), "small.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBenchOnATable(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results.db")
	run := []string{"run", "--table", smallTable(t), "--target", "y", "--id", "name", "--specs",
		"random; lcmd-tp:ll", "--splits", "0,2-3",
		"--rounds", "2", "--batch", "4", "--start", "10", "--valid", "20", "--epochs", "3", "--hidden",
		"8", "--results", results}
	_, log := bench(t, exitOK, run...)
	if !strings.Contains(log, "6 of 6 runs are done") || !strings.Contains(log,
		"small, lcmd-tp:ll, relu, 2 x 4, split 3: RMSE") {
		t.Errorf("says %q", log)
	}
	if _, log = bench(t, exitOK, run...); strings.Contains(log, "RMSE") {
		t.Errorf("finished runs were repeated: %q", log)
	}
	if _, log = bench(t, exitData, append(run, "--epochs", "4")...); !strings.Contains(log, `"epochs":3`) {
		t.Errorf("other settings: %q", log)
	}
	out, _ := bench(t, exitOK, "status", results, "--json")
	var status wire.BenchmarkStatus
	if err := json.Unmarshal([]byte(out), &status); err != nil || status.Runs != 6 || status.Done != 6 ||
		len(status.Methods) != 2 || status.Methods[0].Done != 3 {
		t.Errorf("status %s, %v", out, err)
	}
	if out, _ := bench(t, exitOK, "status", results); !strings.Contains(out, "3 of 3") {
		t.Errorf("status %s", out)
	}
	for _, name := range []string{"r.csv", "r.parquet"} {
		path := filepath.Join(t.TempDir(), name)
		bench(t, exitOK, "export", results, "--out", path)
		table, err := source.ReadFile(t.Context(), path, source.Options{})
		if err != nil || table.Rows() != 18 {
			t.Fatalf("%s: %v", name, err)
		}
		labels, err := table.Numeric("labels")
		if err != nil || labels.Float(2) != 18 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBenchLearners compares learners on a folder of tables, one of which has rows for fewer rounds, and one
// for none.
func TestBenchLearners(t *testing.T) {
	table := smallTable(t)
	raw, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	folder := filepath.Dir(table)
	for name, rows := range map[string]int{"less.csv": 100, "least.csv": 45, "notes.md": 3} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.Join(lines[:rows+1], "")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	results := filepath.Join(t.TempDir(), "results.db")
	run := []string{"run", "--table", folder, "--target", "y", "--id", "name", "--learners", "trees,network", "--specs",
		"random; lcmd-tp:leaf",
		"--splits", "0-1", "--rounds", "2", "--batch", "30", "--start", "20", "--epochs", "3", "--hidden",
		"8", "--results", results}
	_, log := bench(t, exitOK, run...)
	for _, want := range []string{
		"network, lcmd-tp:leaf is left out: the kernel leaf needs trees", "least has 45 rows, too few for a batch of 30",
		"12 of 12 runs are done", "small, trees, lcmd-tp:leaf, relu, 2 x 30, split 1: RMSE",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("%q does not say %q", log, want)
		}
	}
	if strings.Contains(log, "learner: ") {
		t.Errorf("the choices of all rounds are printed: %q", log)
	}
	if _, log = bench(t, exitOK, run...); strings.Contains(log, "RMSE") {
		t.Errorf("finished runs were repeated: %q", log)
	}
	if _, log := bench(t, exitOK, append(run, "--rounds", "9")...); !strings.Contains(log,
		"less has 100 rows, enough for 2 batches of 30, not 9") {
		t.Errorf("says %q", log)
	}
	out, _ := bench(t, exitOK, "status", results)
	if !strings.Contains(out, "trees, lcmd-tp:leaf") || !strings.Contains(out, "2 of 2") {
		t.Errorf("status %s", out)
	}
	out, _ = bench(t, exitOK, "report", results)
	if !strings.Contains(out, "trees, LCMD-TP") || !strings.Contains(out, "network, Random") ||
		!strings.Contains(out, "compared with a network and the same method") {
		t.Errorf("report %s", out)
	}
	if out, _ = bench(t, exitOK, "report", results, "--specs", "network, random"); strings.Contains(out, "trees") ||
		!strings.Contains(out, "Random") {
		t.Errorf("report on one %s", out)
	}
	exported := filepath.Join(t.TempDir(), "results.csv")
	bench(t, exitOK, "export", results, "--out", exported)
	if raw, err := os.ReadFile(exported); err != nil || !strings.Contains(string(raw), `"trees, lcmd-tp:leaf"`) ||
		!strings.Contains(string(raw), "learner: ") {
		t.Errorf("exported %v\n%s", err, raw)
	}
	again, _ := bench(t, exitOK, "report", exported)
	if !strings.Contains(again, "trees, LCMD-TP") {
		t.Errorf("report on the export %s", again)
	}
}

func TestBenchUsage(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results.db")
	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, []byte("hello"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "no specs", []string{"run", "--sets", "fried", "--results", results}},
		{exitUsage, "paper-relu", []string{"run", "--preset", "paper", "--results", results}},
		{exitUsage, "--results", []string{"run", "--preset", "quick"}},
		{exitUsage, "--target", []string{"run", "--table", "x.csv", "--specs", "random", "--results", results}},
		{exitUsage, `not "forest"`, []string{"run", "--preset", "quick", "--learners", "forest", "--results", results}},
		{exitUsage, "same name in the results", []string{"run", "--table", "a/x.csv", "--table", "b/x.csv", "--target", "y",
			"--specs", "random", "--results", results}},
		{exitData, "holds no tables", []string{"run", "--table", t.TempDir(), "--target", "y", "--specs", "random",
			"--results", results}},
		{exitUsage, "needs trees", []string{"run", "--preset", "quick", "--specs", "lcmd-tp:leaf", "--results", results}},
		{exitUsage, "rename", []string{"run", "--table", "fried.csv", "--target", "y", "--specs", "random",
			"--results", results}},
		{exitUsage, "5-2", []string{"run", "--preset", "quick", "--splits", "5-2", "--results", results}},
		{exitUsage, "nonsense", []string{"run", "--preset", "quick", "--specs", "nonsense", "--results", results}},
		{exitUsage, "choose from sgemm", []string{"run", "--sets", "freid", "--specs", "random", "--results", results}},
		{exitUsage, "the columns are", []string{"run", "--table", smallTable(t), "--target", "z", "--specs", "random",
			"--results", results}},
		{exitUsage, "at least 1", []string{"run", "--preset", "quick", "--rounds", "0", "--results", results}},
		{exitData, "bench run creates it", []string{"status", results}},
		{exitData, "bench run creates it", []string{"export", results, "--out", filepath.Join(t.TempDir(), "x.csv")}},
		{exitUsage, "--jobs", []string{"run", "--preset", "quick", "--jobs", "0", "--results", results}},
		{exitData, "not a results file", []string{"run", "--preset", "quick", "--results", text}},
		{exitData, "not a results file", []string{"status", text}},
		{exitUsage, "--out", []string{"export", text, "--out", "x.doc"}},
		{exitData, "; run nextbatch data fetch fried first; its runs are skipped",
			[]string{"run", "--sets", "fried", "--data", t.TempDir(), "--specs", "random", "--results", results}},
	} {
		if _, log := bench(t, c.code, c.args...); !strings.Contains(log, c.want) {
			t.Errorf("%v: says %q, not %q", c.args, log, c.want)
		}
	}
	if out, _ := bench(t, exitOK, "status", results); !strings.Contains(out,
		"20 runs failed:\nfried, random, relu, 16 x 256, split 0 and 19 others: data set fried: file does not exist") {
		t.Errorf("status %s", out)
	}
	if raw, _ := os.ReadFile(text); string(raw) != "hello" {
		t.Error("the file has changed")
	}
}

func TestBenchMissingValues(t *testing.T) {
	table := smallTable(t)
	raw, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(raw), "row 2,74,", "row 2,,", 1)
	text = strings.Replace(text, "row 5,85,c,105", "row 5,85,c,", 1)
	if err := os.WriteFile(table, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(t.TempDir(), "results.db")
	run := []string{"run", "--table", table, "--target", "y", "--id", "name", "--specs", "random", "--splits", "0",
		"--rounds", "1", "--batch", "4", "--start", "10", "--valid", "20", "--epochs", "2", "--hidden",
		"8", "--results", results}
	if _, log := bench(t, exitData, append(run, "--missing", "refuse")...); !strings.Contains(log,
		`2 rows lack a value of "size" (first in line 4), "y"`) {
		t.Errorf("says %q", log)
	}
	if _, err := os.Stat(results); err == nil {
		t.Error("a results file was created")
	}
	if _, log := bench(t, exitOK, run...); !strings.Contains(log, "warning: "+table+": 2 rows lack") {
		t.Errorf("says %q", log)
	}
}

// Runs on a data set that has changed are abandoned; the others go on.
func TestBenchChangedSet(t *testing.T) {
	table, results := smallTable(t), filepath.Join(t.TempDir(), "results.db")
	run := []string{"run", "--table", table, "--target", "y", "--id", "name", "--specs", "random",
		"--rounds", "1", "--batch", "4",
		"--start", "10", "--valid", "20", "--epochs", "2", "--hidden", "8", "--results", results, "--splits"}
	bench(t, exitOK, append(run, "0")...)
	raw, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(table, []byte(strings.Replace(string(raw), "row 2,74,", "row 2,75,", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, log := bench(t, exitData, append(run, "1")...); !strings.Contains(log, "data set small: it has changed") {
		t.Errorf("says %q", log)
	}
	if _, log := bench(t, exitPartial, append(run, "1", "--sets", "friedman")...); !strings.Contains(log,
		"1 of 2 runs are done") {
		t.Errorf("says %q", log)
	}
}

func TestBenchStandIn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "poker_GENERATED_not_uci.data"), []byte("1,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, log := bench(t, exitData, "run", "--sets", "poker", "--data", dir, "--specs", "random", "--results",
		filepath.Join(t.TempDir(), "results.db"))
	if !strings.Contains(log, "warning: poker: ") || !strings.Contains(log, "stand-in") {
		t.Errorf("says %q", log)
	}
}

func TestTableName(t *testing.T) {
	for path, want := range map[string]string{"a/b.csv": "b", "b.csv.gz": "b", "b.c.parquet": "b.c", "b": "b"} {
		if got := tableName(path); got != want {
			t.Errorf("the table %s is named %s, want %s", path, got, want)
		}
	}
}
