package cli

import (
	"database/sql"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/nextbatch/nextbatch/internal/benchmark"
)

// FuzzGrid reads any text as a grid: the result is a grid or an error, never a
// panic, and never more runs than a machine can hold.
func FuzzGrid(f *testing.F) {
	f.Add("sets = [\"fried\"]\nactivations = [\"relu\"]\nspecs = [\"random\", \"default\"]\nsplits = [0, 1]\nschedules " +
		"= [{rounds = 2, batch = 5}]\n[settings]\nhidden = [7]\n")
	f.Add("splits = [0, x]")
	f.Add("settings = {seed = -1, hidden = [1, 2, 3], epochs = 0}\ncompat = true")
	f.Add("schedules = [{rounds = 9223372036854775807, batch = -9223372036854775808}]\nsets = [\"\"]\nspecs = " +
		"[\"NN_lcmd-tp_grad_rp-512\"]\nactivations = [\"\\u0000\"]\nsplits = [1e3]")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "grid.toml")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		e, err := readExperiment(path)
		if err != nil {
			return
		}
		runs, err := e.Runs()
		if err != nil {
			return
		}
		for _, r := range runs {
			if err := r.Check(); err != nil {
				t.Fatalf("%v: %v", r, err)
			}
		}
		_ = e.Settings.Check()
	})
}

// FuzzDamagedResults overwrites a part of a results file, or truncates it: the
// result is a report or an error, and nothing but the report is written.
func FuzzDamagedResults(f *testing.F) {
	path := filepath.Join(f.TempDir(), "results.db")
	writeRuns(f, path, smallRun("fried", "relu", "random"), smallRun("fried", "relu", "lcmd-tp:grad>sketch(512)"))
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{}, uint32(0))
	f.Add(uint32(18), []byte{1, 1}, uint32(0))
	f.Add(uint32(28), []byte{0, 0, 0, 3}, uint32(4096))
	f.Add(uint32(100), []byte{5}, uint32(0))
	f.Add(uint32(len(good)-4096), []byte{2, 0, 0, 0, 9}, uint32(0))
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, cut uint32) {
		raw := append([]byte{}, good...)
		copy(raw[int(at)%len(raw):], patch)
		raw = raw[:len(raw)-int(cut)%len(raw)]
		dir := t.TempDir()
		path := filepath.Join(dir, "results.db")
		if err := os.WriteFile(path, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		mustSurvive(t, dir, path)
	})
}

// FuzzHostileResults fills a results file with arbitrary names and numbers.
func FuzzHostileResults(f *testing.F) {
	f.Add("fried", "relu", "random", int64(256), int64(2), int64(0), 1.0, 0.5, []byte{1, 0, 0, 0}, "[]")
	f.Add("../../../set", "../../../pwn", "../x:y>z", int64(1), int64(1), int64(9), math.Inf(1),
		math.Inf(1), []byte{1}, "{")
	f.Add("<script>", "\x1b[2J", "lcmd-tp:grad>sketch(512)", int64(math.MaxInt64), int64(2), int64(-1), math.MaxFloat64,
		-1.0, []byte{}, "[\"\"]")
	f.Add("a\x00b", "", "", int64(0), int64(math.MaxInt64), int64(0), 0.0, 0.0, []byte{}, "null")
	base := filepath.Join(f.TempDir(), "base.db")
	writeRuns(f, base, smallRun("other", "relu", "random"))
	good, err := os.ReadFile(base)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, set, activation, spec string, batch, rounds, split int64, seconds, rmse float64,
		picked []byte, warnings string) {
		dir := t.TempDir()
		path := filepath.Join(dir, "results.db")
		if err := os.WriteFile(path, good, 0o666); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = db.Exec(
			"INSERT INTO runs (id, dataset, activation, spec, compat, batch, rounds, split) VALUES (9, ?, ?, ?, 1, ?, ?, ?)",
			set, activation, spec, batch, rounds, split)
		for round := range max(1, rounds%4+1) {
			_, _ = db.Exec(`INSERT INTO rounds SELECT 9, ?, labels, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, fallbacks, ?, ?,
				threads, process, finished FROM rounds WHERE run = 1 AND round = 0`, round, rmse, rmse, rmse, rmse, rmse,
				seconds, seconds, seconds, seconds, seconds, rmse, picked, warnings)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		mustSurvive(t, dir, path)
	})
}

func smallRun(set, activation, spec string) benchmark.Run {
	return benchmark.Run{DataSet: set, Activation: activation, Spec: spec, BatchSize: 8, Rounds: 9}
}

// mustSurvive reads a results file with every command. Each must end without a
// panic and write only to its own folder.
func mustSurvive(t *testing.T, dir, results string) {
	t.Helper()
	for _, args := range [][]string{
		{"status", results}, {"status", results, "--json"}, {"export", results, "--out", filepath.Join(dir, "table.csv")},
		{"report", results, "--out", filepath.Join(dir, "out"), "--format", "html,csv,latex,text"},
	} {
		if code := Run(append([]string{"bench"}, args...), io.Discard, io.Discard); code != exitOK && code != exitData {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch e.Name() {
		case "results.db", "results.db-wal", "results.db-shm", "table.csv", "out":
		default:
			t.Errorf("%q was written", e.Name())
		}
	}
	for _, folder := range []string{"out", filepath.Join("out", "tables")} {
		entries, _ := os.ReadDir(filepath.Join(dir, folder))
		for _, e := range entries {
			if e.IsDir() && e.Name() != "tables" && e.Name() != "figures" {
				t.Errorf("the folder %q was created", e.Name())
			}
		}
	}
}
