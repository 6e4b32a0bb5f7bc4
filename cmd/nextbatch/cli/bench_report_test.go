package cli

import (
	"bytes"
	"database/sql"
	"errors"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/benchmark/sqlite"
	"github.com/nextbatch/nextbatch/internal/stats"
)

// madeResults writes a results file with learning curves of random selection and
// LCMD on two data sets; the last run is incomplete.
func madeResults(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "results.db")
	var runs []benchmark.Run
	for _, set := range []string{"fried", "protein"} {
		for split := range 2 {
			for _, spec := range []string{"random", "lcmd-tp:grad>sketch(512)"} {
				runs = append(runs, benchmark.Run{DataSet: set, Activation: "relu", Spec: spec, Compat: true, BatchSize: 256,
					Rounds: 16, Split: split})
			}
		}
	}
	writeRuns(t, path, runs...)
	return path
}

// writeRuns writes a results file with the runs. If there are several, the last one
// lacks eight rounds.
func writeRuns(t testing.TB, path string, runs ...benchmark.Run) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	leave, err := store.Join(benchmark.Process{}, benchmark.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Plan(runs); err != nil {
		t.Fatal(err)
	}
	for i, run := range runs {
		rounds := run.Rounds + 1
		if i > 0 && i == len(runs)-1 {
			rounds -= 8
		}
		appendRun(t, store, run, rounds, 0.3-0.01*float64(i))
	}
	if err := errors.Join(leave(), store.Close()); err != nil {
		t.Fatal(err)
	}
}

func appendRun(t testing.TB, store benchmark.Store, run benchmark.Run, rounds int, rmse float64) {
	t.Helper()
	claim, err := store.Claim(run)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rounds {
		v := rmse / math.Sqrt(float64(i+1))
		r := benchmark.Record{Round: benchmark.Round{Run: run, Round: i, Labels: 256 * (i + 1), Elapsed: 1,
			Test: stats.Metrics{MAE: v / 2, RMSE: v, Q95: 2 * v, Q99: 3 * v, MaxE: 9 * v}}}
		if err := store.Append(claim, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Release(claim, nil); err != nil {
		t.Fatal(err)
	}
}

func TestBenchReport(t *testing.T) {
	results, dir := madeResults(t), filepath.Join(t.TempDir(), "a", "b")
	out, log := must(t, exitOK, "bench", "report", results, "--out", dir, "--against", "paper")
	if !strings.Contains(out, "RMSE compared with the paper") || !strings.Contains(out, "mean RMSE  fried") ||
		strings.Contains(out, "all methods") {
		t.Error(out)
	}
	if !strings.Contains(log, "1 run of this setting is missing or incomplete") ||
		!strings.Contains(log, "files written to "+dir) ||
		!strings.Contains(log, "See "+filepath.Join(dir, "tables", "relu-256x16-missing.txt")) {
		t.Error(log)
	}
	for _, name := range []string{"index.html", "tables/relu-256x16-all-methods.tex", "tables/relu-256x16-mean-rmse.csv",
		"tables/relu-256x16-missing.txt", "figures/relu-256x16-learning-curves.pdf", "figures/lcmd-steps.svg"} {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil || info.Size() < 100 {
			t.Errorf("%s: %v", name, err)
		}
	}
	contents, err := os.ReadFile(filepath.Join(dir, "figures", "relu-256x16-learning-curve-rmse.png"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(contents)); err != nil {
		t.Error(err)
	}
}

// Whatever names a results file contains, nothing is written outside the folder.
func TestBenchReportStaysInItsFolder(t *testing.T) {
	dir := t.TempDir()
	results, out := filepath.Join(t.TempDir(), "results.db"), filepath.Join(dir, "a", "b", "out")
	writeRuns(t, results, benchmark.Run{DataSet: "../../../set", Activation: "../../../pwn", Spec: "random",
		BatchSize: 8, Rounds: 2})
	must(t, exitOK, "bench", "report", results, "--out", out, "--format", "csv,svg")
	found, err := filepath.Glob(filepath.Join(out, "tables", "*.csv"))
	if err != nil || len(found) == 0 {
		t.Errorf("%v, %v", found, err)
	}
	mustHold(t, dir, "a")
	mustHold(t, filepath.Join(dir, "a"), "b")
	mustHold(t, filepath.Join(dir, "a", "b"), "out")
	mustHold(t, out, "figures", "tables")
}

// mustHold checks the contents of a folder.
func mustHold(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("%s has %q, want %q", dir, names, want)
	}
}

// A megabyte-long name is rejected, not printed and drawn.
func TestBenchReportRefusesEndlessNames(t *testing.T) {
	results := madeResults(t)
	db, err := sql.Open("sqlite", results)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("UPDATE runs SET dataset = hex(zeroblob(1 << 19)) WHERE dataset = 'fried'")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"report", "status"} {
		if out, log := must(t, exitData, "bench", command, results); !strings.Contains(log, "1048576 bytes") ||
			len(out)+len(log) > 2000 {
			t.Errorf("%d bytes: %.1000s", len(out)+len(log), log)
		}
	}
}

func TestBenchStatusRefusesEndlessTimes(t *testing.T) {
	results := madeResults(t)
	db, err := sql.Open("sqlite", results)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("UPDATE rounds SET elapsed = 9e999 WHERE run = 1")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"status", results, "--json"}, {"report", results, "--out", t.TempDir()}} {
		if _, log := must(t, exitData, append([]string{"bench"}, args...)...); strings.Count(log,
			"a round took +Inf seconds") != 1 {
			t.Errorf("%q: %s", args, log)
		}
	}
}

func TestBenchReportStandIn(t *testing.T) {
	results := madeResults(t)
	store, err := sqlite.Open(t.Context(), results)
	if err != nil {
		t.Fatal(err)
	}
	// The fingerprint of the known stand-in, under a name that has results.
	if err := store.CheckSet(benchmark.Set{Name: "fried", Rows: 500_000, Features: 95,
		Fingerprint: "4f924de044e1ea577c8c5e58b56a914a"}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	out, log := must(t, exitOK, "bench", "report", results, "--against", "paper")
	if !strings.Contains(log, "fried is a stand-in") || !strings.Contains(out, "fried is a stand-in") {
		t.Error(out, log)
	}
	out, log = must(t, exitOK, "bench", "report", results, "--against", "paper", "--sets", "protein")
	if strings.Contains(out+log, "stand-in") {
		t.Error(out, log)
	}
}

func TestBenchReportFormatsAndChoices(t *testing.T) {
	results, dir := madeResults(t), t.TempDir()
	must(t, exitOK, "bench", "report", results, "--out", dir, "--format", "csv,svg", "--sets", "fried", "--quiet")
	for _, pattern := range []string{"*.html", "tables/*.tex", "tables/*.txt", "figures/*.png", "figures/*.pdf"} {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) > 0 {
			t.Errorf("%v was written", found)
		}
	}
	table, err := os.ReadFile(filepath.Join(dir, "tables", "relu-256x16-mean-rmse.csv"))
	if err != nil || !strings.HasPrefix(string(table), "Data set,Random,LCMD-TP,runs\nfried,0.") ||
		strings.Contains(string(table), "protein") {
		t.Errorf("%v\n%s", err, table)
	}
	out, _ := must(t, exitOK, "bench", "report", results, "--specs", "random", "--sets", "fried,protein")
	if !strings.Contains(out, "1 method x 2 data sets x 2 splits: 4 runs.") || strings.Contains(out, "LCMD") {
		t.Error(out)
	}
}

func TestBenchReportRefuses(t *testing.T) {
	results := madeResults(t)
	for _, args := range [][]string{
		{}, {results, results}, {results, "--format", "png"}, {results, "--out", "x", "--format", "gif"},
		{results, "--against", "me"}, {results, "--specs", "lcmd-tp:nothing"},
	} {
		must(t, exitUsage, append([]string{"bench", "report"}, args...)...)
	}
	empty := filepath.Join(t.TempDir(), "empty.db")
	store, err := sqlite.Open(t.Context(), empty)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"does not exist":     {filepath.Join(t.TempDir(), "absent.db")},
		"holds no results":   {empty},
		"--sets and":         {results, "--sets", "sgemm"},
		"not a results file": {write(t, "x.db", strings.Repeat("no database", 20))},
	} {
		if _, log := must(t, exitData, append([]string{"bench", "report"}, args...)...); !strings.Contains(log, want) {
			t.Errorf("%q: %s", args, log)
		}
	}
}
