//go:build unix

package nextbatch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// sameBatch compares everything of two batches but the time that they took.
func sameBatch(t *testing.T, name string, got, want *nextbatch.Batch) {
	t.Helper()
	a, b := *got, *want
	a.Kernel, a.Timing, b.Kernel, b.Timing = 0, selection.Timing{}, 0, selection.Timing{}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s: %+v\nwant %+v", name, a, b)
	}
}

// mappedRows returns rows in a file.
func mappedRows[T matrix.Float](t *testing.T, rows matrix.Dense[T]) matrix.Dense[T] {
	t.Helper()
	file, err := rowfile.Create[T](t.TempDir(), rows.Rows, rows.Cols)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Write(rows); err != nil {
		t.Fatal(err)
	}
	mapping, err := file.Map()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mapping.Close)
	return mapping.Rows
}

// TestOwnFeaturesInAFile: a pool in a file gives the batch of one in memory, to the last
// bit, whatever the method and the precision of the file.
func TestOwnFeaturesInAFile(t *testing.T) {
	folder := t.TempDir()
	train, pool := decaying(1, 40, 80), decaying(2, 2500, 80)
	mapped := mappedRows(t, pool)
	fine := matrix.Converted[float64](pool)
	for i := range fine.Data {
		fine.Data[i] += 1e-9 * float64(i%7) // digits that float32 does not hold
	}
	mappedFine := mappedRows(t, fine)
	for _, text := range []string{
		"lcmd-tp:features", "maxdist-tp:features", "kmeanspp-tp:features", "greedy-kmeanspp-tp:features", "maxdiag:features",
		"frankwolfe-tp:features",
		"maxdet-p:features", "maxdet-tp:features", "bait-f-p:features", "bait-fb-tp:features", "random",
		"lcmd-tp:features>train", "maxdet-p:features>sketch(16)>train", "bait-f-p:features>scale",
		"lcmd-tp:features>sketch(32)", "maxdet-p:features>acs-rf(8)",
		"lcmd-tp:features>sketch(16)+0.5*features", "bait-f-p:(features>sketch(16)+features)>train",
	} {
		s := spec.MustParse(text)
		memory := nextbatch.Problem{Batch: 12, Seed: 3, Pending: []int{5, 77}}
		file := memory
		if needs.ComputesInDouble(s) {
			exact := matrix.Converted[float64](train)
			memory = memory.WithFeatures(exact, matrix.Converted[float64](pool), matrix.Dense[float64]{})
			file = file.WithFeatures(exact, matrix.Dense[float64]{}, matrix.Dense[float64]{})
			file.Pool = mapped
		} else {
			memory.Train, memory.Pool, file.Train, file.Pool = train, pool, train, mapped
		}
		file.Folder = folder
		want := mustSelect(t, s, memory)
		sameBatch(t, text, mustSelect(t, s, file), want)
		if !needs.ComputesInDouble(s) {
			continue
		}
		memory = memory.WithFeatures(matrix.Converted[float64](train), fine, matrix.Dense[float64]{})
		file.Exact.Pool, file.Pool = mappedFine, matrix.Dense[float32]{Rows: fine.Rows, Cols: fine.Cols, Stride: fine.Cols}
		sameBatch(t, text+", float64", mustSelect(t, s, file), mustSelect(t, s, memory))
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// untrained returns networks with random weights.
func untrained(t *testing.T, inputs, members int) (list network.Ensemble) {
	t.Helper()
	for i := range members {
		net, err := network.NewMLP(inputs, network.Architecture{Hidden: []int{12, 12}}, 1, i)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, net)
	}
	return list
}

// TestNetworkFeaturesInAFile: features and factors of networks go to a temporary file.
func TestNetworkFeaturesInAFile(t *testing.T) {
	train, pool := decaying(1, 30, 6), decaying(2, 2300, 6)
	ensemble := untrained(t, 6, 2)
	for _, text := range []string{
		"lcmd-tp:grad>sketch(64)", "lcmd-tp:grad", "maxdet-p:grad>sketch(64)>train", "bait-f-p:ll>train",
		"kmeanspp-tp:ll", "maxdet-p:grad>train",
		"frankwolfe-p:grad>sketch(64)", "lcmd-tp:grad>ens(2)>sketch(64)", "maxdist-tp:linear", "maxdet-p:ntk",
		"lcmd-tp:matern>rff(64)", "lcmd-tp:leaf", "bait-f-p:leaf>sketch(64)>train", "lcmd-tp:predictions",
		"lcmd-tp:grad>sketch(64)+0.5*matern>rff(64)", "lcmd-tp:grad+matern",
		"bait-f-p:(grad>sketch(64)+leaf>sketch(64))>train",
	} {
		p := nextbatch.Problem{Train: train, Pool: pool, Models: nextbatch.Models(ensemble), Batch: 8, Pending: []int{9},
			Learnt: nextbatch.Learnt{
				Processes: []kernel.Process{{Stationary: kernel.Stationary{Variance: 1,
					Lengths: []float64{1, 1, 1, 1, 1, 1}}, Noise: 0.1}},
				Leaves: kerneltest.NewStumps(6, 20, 5), Members: kerneltest.NewStumps(6, 20, 5)}}
		s := spec.MustParse(text)
		want := mustSelect(t, s, p)
		p.Folder = t.TempDir()
		sameBatch(t, text, mustSelect(t, s, p), want)
		if left, err := os.ReadDir(p.Folder); err != nil || len(left) > 0 {
			t.Errorf("%s: files are left: %v, %v", text, left, err)
		}
	}
}

// TestFileFailures: what goes wrong with files is an error.
func TestFileFailures(t *testing.T) {
	pool := decaying(1, 3000, 80)
	pool.Set(7, 3, float32(1e30)) // its square is not finite
	s := spec.MustParse("lcmd-p:features")
	mapped := mappedRows(t, pool)
	p := nextbatch.Problem{Pool: mapped, Batch: 3, Folder: t.TempDir()}
	if _, err := nextbatch.Select(t.Context(), s, p); err == nil || !strings.Contains(err.Error(), "row 7") {
		t.Errorf("a row out of range: %v", err)
	}
	for i := range pool.Data {
		pool.Data[i] = 1e-12
	}
	p.Pool = mappedRows(t, pool)
	if _, err := nextbatch.Select(t.Context(), s, p); err == nil ||
		!strings.Contains(err.Error(), "multiply all features") {
		t.Errorf("rows that would have to be scaled: %v", err)
	}
	p.Folder = filepath.Join(p.Folder, "absent")
	if _, err := nextbatch.Select(t.Context(), spec.MustParse("lcmd-p:features>sketch(8)"), p); err == nil ||
		!strings.Contains(err.Error(), p.Folder) {
		t.Errorf("a folder that does not exist: %v", err)
	}
}

// TestDiskFills: a disk that becomes full while the features of the pool are written ends the
// selection with an error that says what to do, and leaves nothing behind. With space again, the
// batch is that of memory.
func TestDiskFills(t *testing.T) {
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a disk to fill: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
	rows := decaying(2, 6000, 2)
	x, z, y := dataset.NewNumeric("x"), dataset.NewNumeric("z"), dataset.NewNumeric("y")
	for i := range rows.Rows {
		x.Append(float64(rows.At(i, 0)))
		z.Append(float64(rows.At(i, 1)))
		y.Append([]float64{float64(rows.At(i, 0)), math.NaN()}[min(i/20, 1)])
	}
	table, err := dataset.NewTable(x, z, y)
	if err != nil {
		t.Fatal(err)
	}
	choose := func(memory bool, filler string) (*nextbatch.Result, error) {
		t.Helper()
		asked := 0
		plan, err := nextbatch.Request{
			Input: tables.Input{Table: table, TargetColumns: []string{"y"}}, Spec: spec.MustParse("lcmd-tp:grad>sketch(64)"),
			Ask: limits.Ask{Batch: 6}, Resources: nextbatch.Resources{Folder: disk, Admit: func(int64, ...string) error {
				if asked++; asked == 1 && !memory {
					return errors.New("too much")
				}
				return nil
			}},
			Options: fitted.Options{Choices: fitted.Choices{Network: network.Config{
				Architecture: network.Architecture{Hidden: []int{8}}, Training: network.Training{Epochs: 1}}}},
			FieldName: func(field string, value ...string) string { return "the flag of " + field },
			Progress: func(nextbatch.Progress) { // after the space was checked, and the first block embedded
				if filler != "" && os.WriteFile(filler, make([]byte, 4<<20), 0o600) == nil {
					t.Error("the disk is larger than it should be")
				}
				filler = ""
			},
		}.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return plan.Select(t.Context())
	}
	want, err := choose(true, "")
	if err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(disk, "filler")
	got, err := choose(false, filler)
	data := (*nextbatch.DataError)(nil)
	if got != nil || !errors.Is(err, syscall.ENOSPC) || errors.As(err, &data) ||
		!strings.Contains(err.Error(), "a temporary file in "+disk) ||
		!strings.Contains(err.Error(), "the flag of Folder names another folder") {
		t.Errorf("a disk that becomes full: %v, %v", got, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	if got, err = choose(false, ""); err != nil || !slices.Equal(got.IDs, want.IDs) {
		t.Errorf("with space again: %v, %v, not %v", got, err, want.IDs)
	}
}

// TestShrunkPool: a file that becomes shorter during a selection ends it with an error.
func TestShrunkPool(t *testing.T) {
	for _, text := range []string{"lcmd-p:features", "bait-f-p:features", "lcmd-p:features>sketch(8)"} {
		path := filepath.Join(t.TempDir(), "pool")
		pool := decaying(1, 3000, 80)
		if err := os.WriteFile(path, make([]byte, rowfile.Bytes[float32](pool.Rows, pool.Cols)), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := rowfile.Open[float32](path, 0, pool.Rows, pool.Cols)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if err := os.Truncate(path, 8192); err != nil {
			t.Fatal(err)
		}
		var fault *rowfile.FaultError
		if _, err := nextbatch.Select(t.Context(), spec.MustParse(text),
			nextbatch.Problem{Pool: m.Rows, Batch: 3, Folder: t.TempDir()}); !errors.As(err, &fault) || fault.File != path {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestEachFeatures compares features in blocks with all of them.
func TestEachFeatures(t *testing.T) {
	p := nextbatch.Problem{Train: decaying(1, 30, 6), Pool: decaying(2, 2300, 6),
		Models: nextbatch.Models(untrained(t, 6, 1))}
	for _, text := range []string{"lcmd-tp:grad>sketch(32)", "maxdet-p:ll>train"} {
		s := spec.MustParse(text)
		want, err := nextbatch.Features(t.Context(), s, p, p.Pool)
		if err != nil {
			t.Fatal(err)
		}
		var single []float32
		var double []float64
		err = nextbatch.EachFeatures(t.Context(), s, p, p.Pool, func(b nextbatch.Numbers) error {
			single, double = append(single, b.Single.Data...), append(double, b.Double.Data...)
			return nil
		})
		if err != nil || !slices.Equal(single, want.Single.Data) || !slices.Equal(double, want.Double.Data) {
			t.Errorf("%s: %v, or other features", text, err)
		}
	}
}

// TestPlanInAFile: a plan whose features exceed memory, but not what is kept of them, uses
// a file, and picks the same batch.
func TestPlanInAFile(t *testing.T) {
	pool := decaying(2, 60_000, 64)
	request := nextbatch.Request{Own: nextbatch.Own{OwnFeatures: true, Features: nextbatch.Sets[float32]{Pool: pool}},
		Ask: limits.Ask{Batch: 3}, Spec: spec.MustParse("maxdet-p:features")}
	sizes := forecast.Sizes{Pool: pool.Rows, Inputs: pool.Cols}
	whole := request.Memory(sizes)
	sizes.InFile = true
	if inFile := request.Memory(sizes); inFile > whole-rowfile.Bytes[float32](pool.Rows, pool.Cols) {
		t.Errorf("%d bytes with features in a file, %d in memory", inFile, whole)
	}
	if n := forecast.FileBytes(spec.MustParse("bait-f-p:features>train"),
		sizes); n != rowfile.Bytes[float64](pool.Rows, pool.Cols) {
		t.Errorf("a temporary file of %d bytes", n)
	}
	if n := forecast.FileBytes(request.Spec, sizes); n != 0 {
		t.Errorf("a temporary file of %d bytes for features as they are", n)
	}
}

// mixedTables returns labelled rows and candidates with dates, categories and missing values.
func mixedTables(t *testing.T, rows int) (train, pool *dataset.Table) {
	t.Helper()
	random := rng.New(4, "tables in files")
	for _, size := range []int{40, rows} {
		x, z, y := dataset.NewNumeric("x"), dataset.NewNumeric("z"), dataset.NewNumeric("y")
		colour, day, id := dataset.NewCategorical("colour"), dataset.NewText("day"), dataset.NewText("id")
		hours := dataset.NewNumeric("hours")
		for i := range size {
			x.Append(random.NormFloat64())
			z.Append([]float64{random.NormFloat64(), math.NaN()}[min(i%9/8, 1)])
			y.Append(x.Float(i) + float64(i%5))
			colour.Append(colour.AddLevel([]string{"red", "green", "blue"}[i%7%3]))
			day.Append(time.Date(2024, 1, 1+i%700, 0, 0, 0, 0, time.UTC).AppendFormat(nil, time.DateOnly))
			id.Append(fmt.Appendf(nil, "%d of %d", i, size))
			hours.Append(float64(1 + i%3))
		}
		columns := []dataset.Column{x, z, colour, day, id, hours}
		if size == 40 {
			columns = append(columns, y)
		}
		table, err := dataset.NewTable(columns...)
		if err != nil {
			t.Fatal(err)
		}
		train, pool = pool, table
	}
	return train, pool
}

// TestTablesInFiles: a pool whose table, inputs and features are all in files gives the batch of
// memory, to the last bit, whatever the number of threads.
func TestTablesInFiles(t *testing.T) {
	folder := t.TempDir()
	store := rowfile.NewStore(folder)
	defer store.Close()
	train, pool := mixedTables(t, 20_000)
	budget := 20.0
	answer := func(text string, threads int, inFile bool) *nextbatch.Result {
		t.Helper()
		asked := 0
		plan, err := nextbatch.Request{
			Input: tables.Input{Train: train, Pool: pool, TargetColumns: []string{"y"}, IDColumn: "id"},
			Ask: limits.Ask{Limits: limits.Limits{CostColumn: "hours", Budget: &budget}, Batch: 6,
				Must: []string{"7 of 20000"}}, Resources: nextbatch.Resources{Folder: folder, Admit: func(int64, ...string) error {
				if asked++; asked == 1 && inFile {
					return errors.New("too much")
				}
				return nil
			}},
			Spec: spec.MustParse(text),
			Options: fitted.Options{Choices: fitted.Choices{Network: network.Config{
				Architecture: network.Architecture{Hidden: []int{8}}, Training: network.Training{Epochs: 2}}}},
		}.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer plan.Close()
		if temporary := 2 * rowfile.Bytes[float32](pool.Rows(), plan.Inputs); inFile != (plan.File >= temporary) {
			t.Errorf("%s: files of %d bytes", text, plan.File)
		}
		r, err := plan.Select(nextbatch.WithThreads(t.Context(), threads))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	methods := []string{"lcmd-tp:grad>sketch(32)", "bait-f-p:ll>train", "maxdist-tp:linear"}
	var want []*nextbatch.Result
	for _, text := range methods {
		want = append(want, answer(text, 1, false))
	}
	for _, c := range pool.Columns() {
		if err := c.MoveTo(store); err != nil {
			t.Fatal(err)
		}
	}
	for i, text := range methods {
		for threads := 1; threads <= 3; threads++ {
			got := answer(text, threads, true)
			sameBatch(t, text, got.Batch, want[i].Batch)
			if !slices.Equal(got.IDs, want[i].IDs) || !slices.Equal(got.Reasons, want[i].Reasons) ||
				!slices.Equal(got.Warnings, want[i].Warnings) {
				t.Errorf("%s: %v, want %v", text, got, want[i])
			}
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// TestTablesInFilesCancelled cancels a plan at many points while its inputs are encoded into a
// file, and scaled into another one.
func TestTablesInFilesCancelled(t *testing.T) {
	folder := t.TempDir()
	train, pool := mixedTables(t, 20_000)
	plan := func(ctx context.Context) (*nextbatch.Plan, error) {
		asked := 0
		return nextbatch.Request{
			Input: tables.Input{Train: train, Pool: pool, TargetColumns: []string{"y"}}, Spec: spec.MustParse("lcmd-tp:linear"),
			Ask: limits.Ask{Batch: 1}, Resources: nextbatch.Resources{Folder: folder, Admit: func(int64, ...string) error {
				if asked++; asked == 1 {
					return errors.New("too much")
				}
				return nil
			}},
		}.Plan(ctx)
	}
	planning, scaling := &endsAfter{Context: t.Context(), limit: 1 << 30}, &endsAfter{Context: t.Context(), limit: 1 << 30}
	p, err := plan(planning)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Train(scaling); err != nil {
		t.Fatal(err)
	}
	if blocks := pool.Rows() / kernel.BlockRows; planning.checks < blocks || scaling.checks < blocks {
		t.Errorf("the context is checked %d and %d times for %d blocks", planning.checks, scaling.checks, blocks)
	}
	for limit, next := 0, 1; limit < planning.checks; limit, next = next, limit+next {
		if p, err := plan(&endsAfter{Context: t.Context(), limit: limit}); err != context.Canceled || p != nil {
			t.Errorf("a plan, cancelled after %d checks: %v", limit, err)
		}
	}
	for limit, next := 0, 1; limit < scaling.checks; limit, next = next, limit+next {
		p, err := plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Train(&endsAfter{Context: t.Context(), limit: limit}); err != context.Canceled {
			t.Errorf("scaling, cancelled after %d checks: %v", limit, err)
		}
		p.Close()
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// TestForecastOfOtherKinds: columns may have to become of the kind that a given network takes.
func TestForecastOfOtherKinds(t *testing.T) {
	var columns []dataset.Column
	for i := range 20 {
		c := dataset.NewNumeric(fmt.Sprint("c", i))
		for row := range 10_000 {
			c.Append(float64(row) + 0.1)
		}
		columns = append(columns, c)
	}
	table, err := dataset.NewTable(columns...)
	if err != nil {
		t.Fatal(err)
	}
	request := nextbatch.Request{Input: tables.Input{Pool: table}, Spec: spec.MustParse("random"),
		Ask: limits.Ask{Batch: 1}}
	sizes := forecast.Sizes{Pool: table.Rows(), Inputs: 1}
	alone := request.Memory(sizes)
	request.Foreign = &nextbatch.Foreign{}
	if with := request.Memory(sizes); with < alone+table.Bytes()/2 {
		t.Errorf("%d bytes with a network, %d without", with, alone)
	}
}

// TestTablesInFilesTakeLittleMemory: a plan whose table and inputs are in files holds little of
// them in memory.
func TestTablesInFilesTakeLittleMemory(t *testing.T) {
	folder := t.TempDir()
	store := rowfile.NewStore(folder)
	defer store.Close()
	train, pool := mixedTables(t, 200_000)
	held := func(inFile bool) int64 {
		t.Helper()
		asked, before := 0, heapBytes()
		plan, err := nextbatch.Request{
			Input: tables.Input{Train: train, Pool: pool, TargetColumns: []string{"y"}}, Spec: spec.MustParse("lcmd-tp:linear"),
			Ask: limits.Ask{Batch: 1}, Resources: nextbatch.Resources{Folder: folder, Admit: func(int64, ...string) error {
				if asked++; asked == 1 && inFile {
					return errors.New("too much")
				}
				return nil
			}},
		}.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer plan.Close()
		if err := plan.Train(t.Context()); err != nil {
			t.Fatal(err)
		}
		taken := heapBytes() - before
		runtime.KeepAlive(plan)
		return taken
	}
	tables := heapBytes()
	inMemory := held(false)
	for _, c := range pool.Columns() {
		if err := c.MoveTo(store); err != nil {
			t.Fatal(err)
		}
	}
	if left := tables - heapBytes(); left < pool.Bytes() {
		t.Errorf("moving the table freed %d bytes, and it still takes %d", left, pool.Bytes())
	}
	lists := int64(8 * pool.Rows()) // of the rows that are candidates
	if inFile := held(true); inMemory < 10<<20 || inFile > lists+1<<20 {
		t.Errorf("a plan holds %d bytes, and with files %d", inMemory, inFile)
	}
	runtime.KeepAlive(pool)
}

// heapBytes returns the memory of all that is in use.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestNoPoolInFiles: tables without candidates are an error of the data.
func TestNoPoolInFiles(t *testing.T) {
	train, pool := mixedTables(t, 50)
	asked := 0
	_, err := nextbatch.Request{
		Input: tables.Input{Train: train, Pool: pool.Select(nil), TargetColumns: []string{"y"}}, Ask: limits.Ask{Batch: 1},
		Resources: nextbatch.Resources{Folder: t.TempDir(), Admit: func(int64, ...string) error {
			if asked++; asked == 1 {
				return errors.New("too much")
			}
			return nil
		}},
	}.Plan(t.Context())
	if data := (*nextbatch.DataError)(nil); !errors.As(err, &data) || asked != 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
