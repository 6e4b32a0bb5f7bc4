package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/benchmark/postgres"
	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// A benchmark in a database exports the table that one in a file does, but for its times.
func TestBenchExportFromADatabase(t *testing.T) {
	run := []string{"run", "--table", smallTable(t), "--target", "y", "--id", "name", "--specs",
		"random; lcmd-tp:ll; bait-f-p:ll>train", "--splits", "0-1",
		"--rounds", "2", "--batch", "4", "--start", "10", "--valid", "20", "--epochs", "3", "--hidden", "8",
		"--jobs", "2", "--results"}
	read := func(results string) *dataset.Table {
		bench(t, exitOK, append(run, results)...)
		return exported(t, results)
	}
	mustExportTheSame(t, read(filepath.Join(t.TempDir(), "results.db")), read(postgrestest.Schema(t)), 18)
}

// exported returns the table that bench export writes.
func exported(t *testing.T, results string) *dataset.Table {
	t.Helper()
	path := filepath.Join(t.TempDir(), "results.parquet")
	bench(t, exitOK, "export", results, "--out", path)
	table, err := source.ReadFile(t.Context(), path, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// mustExportTheSame requires the given number of rows in the exports of a file and of a database, with the
// same values except for times and threads.
func mustExportTheSame(t *testing.T, file, database *dataset.Table, rows int) {
	t.Helper()
	if file.Rows() != rows || database.Rows() != rows || !slices.Equal(file.Names(), database.Names()) {
		t.Fatalf("%d rows of %q, and %d of %q", file.Rows(), file.Names(), database.Rows(), database.Names())
	}
	for i, c := range file.Columns() {
		other := database.Columns()[i]
		if name := c.Name(); strings.HasPrefix(name, "seconds_") || name == "finished" || name == "threads" {
			continue
		}
		for row := range file.Rows() {
			if c.Format(row) != other.Format(row) || c.Missing(row) != other.Missing(row) {
				t.Errorf("row %d, column %s: %q in the file, %q in the database", row, c.Name(), c.Format(row), other.Format(row))
			}
		}
	}
}

// A worker performs all runs of a queue, with the results of a single process in a file. While it
// works, bench status lists it.
func TestBenchWorkerFinishesTheQueue(t *testing.T) {
	address, file := postgrestest.Schema(t), filepath.Join(t.TempDir(), "results.db")
	data := []string{"--table", smallTable(t), "--target", "y", "--id", "name", "--jobs", "1"}
	bench(t, exitOK, append([]string{"run", "--specs", "random; lcmd-tp:ll", "--splits", "0", "--rounds", "1",
		"--batch", "4", "--start", "10",
		"--valid", "20", "--epochs", "2", "--hidden", "8", "--results", file}, data...)...)
	planRunsOf(t, file, address)

	// The worker can take a run, but not write its first round until it is released.
	release := postgrestest.HoldUp(t, address, "benchmark_rounds")
	var out, log bytes.Buffer
	code := -1
	var worker sync.WaitGroup
	worker.Go(func() { code = Run(append([]string{"bench", "worker", address}, data...), &out, &log) })
	finish := func() {
		release()
		worker.Wait()
	}
	defer finish()
	mustListWorker(t, address)
	finish()

	if code != exitOK || !strings.Contains(log.String(), "this worker finished 2 runs") {
		t.Fatalf("exit code %d\n%s", code, log.String())
	}
	text, _ := bench(t, exitOK, "status", address)
	for begin := time.Now(); strings.Contains(text, "worker") &&
		time.Since(begin) < 40*time.Second; time.Sleep(20 * time.Millisecond) {
		text, _ = bench(t, exitOK, "status", address) // the server may notice later that a connection has ended
	}
	if !strings.Contains(text, "2 of 2 runs are done, 0 under way\n4 of 4 rounds are done\n") ||
		strings.Contains(text, "worker") {
		t.Errorf("after the work: %s", text)
	}
	mustExportTheSame(t, exported(t, file), exported(t, address), 4)
}

// planRunsOf queues the runs of a results file in a database.
func planRunsOf(t *testing.T, file, address string) {
	t.Helper()
	from, err := openResults(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	to, err := postgres.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	planRuns(t, from, to)
	if err := errors.Join(from.Close(), to.Close()); err != nil {
		t.Fatal(err)
	}
}

// mustListWorker waits until a worker has taken the first of two runs, and requires that bench
// status lists it.
func mustListWorker(t *testing.T, address string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var status wire.BenchmarkStatus
	for begin := time.Now(); status.Working == 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 40*time.Second {
			t.Fatal("no worker takes a run")
		}
		text, _ := bench(t, exitOK, "status", address, "--json")
		if err := json.Unmarshal([]byte(text), &status); err != nil {
			t.Fatal(err)
		}
	}
	if status.Runs != 2 || status.Working != 1 || status.Done != 0 || len(status.Workers) != 1 {
		t.Fatalf("%+v", status)
	}
	if w := status.Workers[0]; w.Host != host || w.PID != os.Getpid() || w.Runs != 1 || w.Started.IsZero() {
		t.Errorf("the worker is %+v", w)
	}
	text, _ := bench(t, exitOK, "status", address)
	line := regexp.MustCompile(fmt.Sprintf(`(?m)^1 worker:\nhost .*\n%s +%d +1 `, regexp.QuoteMeta(host), os.Getpid()))
	if !strings.Contains(text, "0 of 2 runs are done, 1 under way\n") || !line.MatchString(text) {
		t.Errorf("during the work: %s", text)
	}
}

// A card that fails in every run of a queue ends 'bench run' and 'bench worker' with its own code.
func TestBenchInADatabaseOnACardThatFails(t *testing.T) {
	install(t, &devicetest.Fake{Memory: 8 << 30, FailTraining: errors.New("the card is lost")})
	address := postgrestest.Schema(t)
	work := []string{"--table", smallTable(t), "--target", "y", "--id", "name", "--device", "fake:0"}
	bench(t, exitFailure, append([]string{"run", "--specs", "random; maxdist-tp:ll", "--splits", "0", "--rounds", "1",
		"--batch", "4", "--start", "10",
		"--valid", "20", "--epochs", "2", "--hidden", "8", "--results", address}, work...)...)
	planAgain(t, address)
	if _, log := bench(t, exitFailure, append([]string{"worker", address}, work...)...); !strings.Contains(log,
		"all runs of this worker failed: ") {
		t.Error(log)
	}
}

// planAgain plans the runs of a database, so that workers take those that failed.
func planAgain(t *testing.T, address string) {
	t.Helper()
	store, err := postgres.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	planRuns(t, store, store)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// planRuns plans all runs of some results in a database, with their settings.
func planRuns(t *testing.T, from benchmark.Reader, to *postgres.Store) {
	t.Helper()
	settings, err1 := from.Settings(t.Context())
	list, err2 := from.Status(t.Context())
	leave, err3 := to.Join(benchmark.Process{}, settings)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	var runs []benchmark.Run
	for _, of := range list {
		runs = append(runs, of.Run)
	}
	if err := errors.Join(to.Plan(runs), leave()); err != nil {
		t.Fatal(err)
	}
}

func TestAddressesAreShownWithoutPasswords(t *testing.T) {
	for address, want := range map[string]string{
		"results.db":                                             "results.db",
		"postgres://ada@host/results":                            "postgres://ada@host/results",
		"postgres://ada:secret@host/results":                     "postgres://ada:xxxxx@host/results",
		"postgres://host/results?user=ada&password=secret":       "postgres://host/results?password=xxxxx&user=ada",
		"postgres://ada@host/results?sslpassword=secret":         "postgres://ada@host/results?sslpassword=xxxxx",
		"postgres://ada:sec%zzret@host/results":                  "postgres://…",
		"postgres://ada:secret@host/results?password=%zz&user=a": "postgres://…",
	} {
		if got := addressText(address); got != want {
			t.Errorf("%s is shown as %s, want %s", address, got, want)
		}
	}
}
