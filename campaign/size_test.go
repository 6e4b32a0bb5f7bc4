package campaign_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/sqlite"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// TestSoakMillionRows measures a campaign of 1,000,000 rows with 20 inputs against reading
// the file and selecting from it. It asserts no times, which depend on the machine.
func TestSoakMillionRows(t *testing.T) {
	if os.Getenv("NEXTBATCH_SOAK") != "1" {
		t.Skip("it takes minutes: NEXTBATCH_SOAK=1 runs it")
	}
	rows := 1000 * 1000
	if text := os.Getenv("NEXTBATCH_ROWS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		rows = n
	}
	folder := t.TempDir()
	file := bigFile(t, folder, rows)
	settings := campaign.Settings{Spec: "lcmd-tp:ll", Audit: new(0.0), Choices: fitted.Choices{Network: network.Config{
		Architecture: network.Architecture{Hidden: []int{64, 64}}, Training: network.Training{Epochs: 16},
	}}}
	var began time.Time
	lap := func(what string) time.Duration {
		took := time.Since(began)
		t.Logf("%-40s %8.3f s", what, took.Seconds())
		began = time.Now()
		return took
	}
	began = time.Now()
	table, err := source.ReadFile(t.Context(), file, source.Options{ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	read := lap("reading the file")
	path := filepath.Join(folder, "c.db")
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := campaign.New(t.Context(), store, "c", campaign.Start{Table: table, IDColumn: "id", Targets: []string{"y"},
		Settings: settings}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	created := lap("New, after reading")
	if store, err = sqlite.Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, err := campaign.Open(t.Context(), store, "")
	if err != nil {
		t.Fatal(err)
	}
	counts := state(t, c).Counts()
	lap(fmt.Sprintf("Open and State: %d open", counts.Open))
	batch := ask(t, c, campaign.Ask{Rows: 32})
	asked := lap("Ask, which reads the rows of the store")
	if table, err = source.ReadFile(t.Context(), file, source.Options{ID: "id"}); err != nil {
		t.Fatal(err)
	}
	plan, err := nextbatch.Request{Input: tables.Input{Table: table, IDColumn: "id", TargetColumns: []string{"y"}},
		Ask: limits.Ask{Batch: 32}, Options: fitted.Options{Choices: fitted.Choices{Seed: batch.Seed,
			Network: settings.Network}}, KernelSeed: &settings.Seed, Spec: spec.MustParse(settings.Spec)}.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	result, err := plan.Select(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	selected := lap("select, which reads the file")
	if fmt.Sprint(result.IDs) != fmt.Sprint(ids(batch)) {
		t.Errorf("asked for %v, selected %v", ids(batch), result.IDs)
	}
	tell(t, c, ids(batch)[0], 1.0)
	lap("Tell")
	ask(t, c, campaign.Ask{Rows: 32})
	lap("the next Ask of the same process")
	t.Logf("new / read = %.2f, ask / select = %.2f", (read+created).Seconds()/read.Seconds(),
		asked.Seconds()/selected.Seconds())
}

// TestSoakGrowingPool measures asks of a campaign of 100,000 rows with 20 inputs that gains 1,000
// rows, with the default method and network, with and without features that are kept:
//
//	NEXTBATCH_SOAK=1 go test ./campaign -run TestSoakGrowingPool -v
func TestSoakGrowingPool(t *testing.T) {
	if os.Getenv("NEXTBATCH_SOAK") != "1" {
		t.Skip("it takes a minute: NEXTBATCH_SOAK=1 runs it")
	}
	const rows, more = 100_000, 1000
	table, err := source.ReadFile(t.Context(), bigFile(t, t.TempDir(), rows+more), source.Options{ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	part := func(from, to int) *dataset.Table {
		var list []int
		for row := from; row < to; row++ {
			list = append(list, row)
		}
		return table.Select(list)
	}
	var batches []string
	for _, kept := range []*kept.Features{nil, {}} {
		c, err := campaign.New(t.Context(), &storetest.Memory{}, "c",
			campaign.Start{Table: part(0, rows), IDColumn: "id", Targets: []string{"y"}})
		if err != nil {
			t.Fatal(err)
		}
		timed := func(what string) {
			began := time.Now()
			batch := ask(t, c, campaign.Ask{Rows: 64, Kept: kept})
			t.Logf("features are kept: %-5v %-24s %6.2f s, of which kernel %.2f, selection %.2f, training %.2f", kept != nil,
				what,
				time.Since(began).Seconds(), float64(batch.Result.Timings.Kernel), float64(batch.Result.Timings.Select),
				float64(batch.Result.Timings.Train))
			batches = append(batches, fmt.Sprint(ids(batch)))
		}
		timed("the first ask")
		timed("the second ask")
		add(t, c, part(rows, rows+more))
		timed("1,000 rows later")
	}
	if fmt.Sprint(batches[:3]) != fmt.Sprint(batches[3:]) {
		t.Errorf("the batches are %v", batches)
	}
}

// bigFile writes a CSV file with an id, 20 inputs and labels of the first 256 rows.
func bigFile(t *testing.T, folder string, rows int) string {
	t.Helper()
	path := filepath.Join(folder, "big.csv")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, draw := bufio.NewWriterSize(file, 1<<20), rng.New(1, "big")
	fmt.Fprint(w, "id")
	for j := range 20 {
		fmt.Fprint(w, ",x", j)
	}
	fmt.Fprintln(w, ",y")
	var line []byte
	for row := range rows {
		line = fmt.Appendf(line[:0], "row%07d", row)
		sum := 0.0
		for range 20 {
			x := draw.NormFloat64()
			sum += math.Sin(x)
			line = strconv.AppendFloat(append(line, ','), x, 'g', 7, 64)
		}
		if line = append(line, ','); row < 256 {
			line = strconv.AppendFloat(line, sum, 'g', 7, 64)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
