package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/benchmark"
	"github.com/nextbatch/nextbatch/benchmark/postgres"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/device/devicetest"
	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"
)

// A benchmark in a database exports the table that one in a file does, but for its times.
func TestBenchExportFromADatabase(t *testing.T) {
	run := []string{"run", "--table", smallTable(t), "--target", "y", "--id", "name", "--specs", "random; lcmd-tp:ll; bait-f-p:ll>train", "--splits", "0-1",
		"--rounds", "2", "--batch", "4", "--start", "10", "--valid", "20", "--epochs", "3", "--hidden", "8", "--jobs", "2", "--results"}
	read := func(results string) *dataset.Table {
		bench(t, exitOK, append(run, results)...)
		path := filepath.Join(t.TempDir(), "results.parquet")
		bench(t, exitOK, "export", results, "--out", path)
		table, err := source.ReadFile(t.Context(), path, source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	file, database := read(filepath.Join(t.TempDir(), "results.db")), read(postgrestest.Schema(t))
	if file.Rows() != 18 || database.Rows() != file.Rows() || !slices.Equal(file.Names(), database.Names()) {
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

// A card that fails in every run of a queue ends 'bench run' and 'bench worker' with its own code.
func TestBenchInADatabaseOnACardThatFails(t *testing.T) {
	install(t, &devicetest.Fake{Memory: 8 << 30, FailTraining: errors.New("the card is lost")})
	address := postgrestest.Schema(t)
	work := []string{"--table", smallTable(t), "--target", "y", "--id", "name", "--device", "fake:0"}
	bench(t, exitFailure, append([]string{"run", "--specs", "random; maxdist-tp:ll", "--splits", "0", "--rounds", "1", "--batch", "4", "--start", "10",
		"--valid", "20", "--epochs", "2", "--hidden", "8", "--results", address}, work...)...)
	planAgain(t, address)
	if _, log := bench(t, exitFailure, append([]string{"worker", address}, work...)...); !strings.Contains(log, "all runs of this worker failed: ") {
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
	settings, err1 := store.Settings(t.Context())
	leave, err2 := store.Join(benchmark.Process{}, settings)
	list, err3 := store.Status(t.Context())
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	var runs []benchmark.Run
	for _, of := range list {
		runs = append(runs, of.Run)
	}
	if err := errors.Join(store.Plan(runs), leave(), store.Close()); err != nil {
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
