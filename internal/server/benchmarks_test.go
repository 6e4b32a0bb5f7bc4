package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"

	"github.com/nextbatch/nextbatch/internal/benchmark/postgres"
	"github.com/nextbatch/nextbatch/internal/benchmark/sqlite"
	"github.com/nextbatch/nextbatch/internal/benchmark/storetest"
	"github.com/nextbatch/nextbatch/internal/wire"
)

func TestBenchmarks(t *testing.T) {
	t.Parallel()
	v := newService(t)
	if list := must[[]BenchmarkFile](t, v, "viewer", "GET", "/v1/benchmarks", nil); len(list) != 0 {
		t.Errorf("without results: %v", list)
	}
	folder := t.TempDir()
	v.server.options.Results = folder
	store, err := sqlite.Open(context.Background(), filepath.Join(folder, "waves.db"))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Do(context.Background(), t, store, storetest.Runs(t, 0, 1), 2)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	list := must[[]BenchmarkFile](t, v, "viewer", "GET", "/v1/benchmarks", nil)
	if len(list) != 1 || list[0].Name != "waves" {
		t.Fatalf("files %v", list)
	}
	r := must[BenchmarkResults](t, v, "viewer", "GET", "/v1/benchmarks/waves", nil)
	if len(r.Curves) == 0 || len(r.Metrics) != 5 || len(r.Tables) == 0 || len(r.Notes) == 0 {
		t.Fatalf("results %+v", r)
	}
	for _, p := range r.Curves {
		if p.Set == "" || p.Spec == "" || p.Labels <= 0 || p.Splits != 2 {
			t.Errorf("point %+v", p)
		}
	}
	for _, table := range r.Tables {
		for _, row := range table.Rows {
			if len(row) != len(table.Header) {
				t.Errorf("table %s: a row of %d cells under %d headings", table.Name, len(row), len(table.Header))
			}
		}
	}
	p := must[wire.BenchmarkProgress](t, v, "viewer", "GET", "/v1/benchmarks/waves/progress", nil)
	if p.Runs != 10 || p.Done != 10 || p.Rounds != 40 || p.RoundsDone != 40 || p.Failed != 0 || p.SecondsLeft == nil ||
		*p.SecondsLeft != 0 || len(p.Workers) != 0 {
		t.Errorf("progress %+v", p)
	}
	v.server.options.Results = filepath.Join(folder, "waves.db")
	if one := must[[]BenchmarkFile](t, v, "viewer", "GET", "/v1/benchmarks", nil); len(one) != 1 ||
		strings.Contains(one[0].Name, "/") {
		t.Errorf("a single file: %v", one)
	}
}

func TestBenchmarksInADatabase(t *testing.T) {
	t.Parallel()
	v := newService(t)
	v.server.options.Results = postgrestest.Schema(t)
	store, err := postgres.Open(t.Context(), v.server.options.Results)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	runs := storetest.Runs(t, 0, 1)
	storetest.Do(context.Background(), t, store, runs[:9], 2)
	if err := store.Plan(runs); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Claim(runs[9]); err != nil {
		t.Fatal(err)
	}
	list := must[[]BenchmarkFile](t, v, "viewer", "GET", "/v1/benchmarks", nil)
	if len(list) != 1 || list[0].Bytes <= 0 || list[0].Changed.IsZero() {
		t.Fatalf("results %+v", list)
	}
	if r := must[BenchmarkResults](t, v, "viewer", "GET", "/v1/benchmarks/"+list[0].Name,
		nil); len(r.Curves) == 0 || len(r.Tables) == 0 {
		t.Errorf("results %+v", r)
	}
	p := must[wire.BenchmarkProgress](t, v, "viewer", "GET", "/v1/benchmarks/"+list[0].Name+"/progress", nil)
	if p.Runs != 10 || p.Done != 9 || p.Working != 1 || p.RoundsDone != 36 || p.SecondsLeft == nil ||
		*p.SecondsLeft <= 0 || len(p.Workers) != 1 || p.Workers[0].Runs != 1 || p.Workers[0].Host == "" {
		t.Errorf("progress %+v", p)
	}
}
