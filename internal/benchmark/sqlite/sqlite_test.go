package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/benchmark/storetest"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(t testing.TB) storetest.Opener {
		path := newPath(t)
		return func(t testing.TB) benchmark.Store { return open(t, path) }
	})
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "results.db") }

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// do performs the runs in a file and returns the outcome of each round.
func do(t testing.TB, path string, runs []benchmark.Run, jobs int) []string {
	t.Helper()
	return storetest.Do(t.Context(), t, open(t, path), runs, jobs)
}

// outcomes returns the outcomes in a file.
func outcomes(t testing.TB, path string) []string {
	t.Helper()
	s, err := OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return storetest.Outcomes(t, s)
}

// TestLostClaims makes a process look dead, on this and on another machine.
func TestLostClaims(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0)
	path := newPath(t)
	a, b := open(t, path), open(t, path)
	storetest.Join(t, a)
	storetest.Join(t, b)
	if err := a.Plan(runs); err != nil {
		t.Fatal(err)
	}
	claim, err := a.Claim(runs[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(runs[0]); err != benchmark.ErrTaken {
		t.Errorf("a run with an owner: %v", err)
	}
	// The owner is on another machine; it was seen just now, then long ago.
	exec1(t, a, "UPDATE processes SET host = 'elsewhere', pid = 1 WHERE id = ?", a.process)
	if _, err := b.Claim(runs[0]); err != benchmark.ErrTaken {
		t.Errorf("a run with an owner elsewhere: %v", err)
	}
	exec1(t, a, "UPDATE processes SET seen = seen - ? WHERE id = ?", 2*sqlitefile.Lease.Milliseconds(), a.process)
	if _, err := b.Claim(runs[0]); err != nil {
		t.Errorf("a run whose owner was last seen long ago: %v", err)
	}
	if err := a.Append(claim, benchmark.Record{}); err != benchmark.ErrTaken {
		t.Errorf("a round of a run that was lost: %v", err)
	}
	if err := a.Release(claim, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Claim(runs[0]); err != benchmark.ErrTaken {
		t.Errorf("a process that lost its claim released the new owner's: %v", err)
	}
}

func exec1(t testing.TB, s *Store, text string, args ...any) {
	t.Helper()
	if _, err := s.db.Exec(text, args...); err != nil {
		t.Fatal(err)
	}
}

func TestChangedDataIsRejected(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	do(t, path, storetest.Runs(t, 0)[:1], 1)
	s := open(t, path)
	storetest.Join(t, s)
	b := benchmark.Bench{Store: s, Settings: storetest.Settings(), Jobs: 1,
		Load: func(string) (*sets.Regression, error) {
			d, err := storetest.Waves("")
			d.Y[17]++
			return d, err
		}}
	before := outcomes(t, path)
	var reported []string
	b.Watch = func(e benchmark.Event) { reported = append(reported, fmt.Sprint(e.Failed)) }
	summary, err := b.Run(context.Background(), storetest.Runs(t, 1))
	if err != nil || summary != (benchmark.Summary{Failed: 5}) || len(reported) != 1 ||
		!strings.Contains(reported[0], "data set waves: it has changed") {
		t.Errorf("other data: %+v, %q, error %v", summary, reported, err)
	}
	storetest.MustBeSame(t, "after a rejection", outcomes(t, path), before)
}

// A read-only folder cannot hold the extra files that SQLite creates.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root can write to every folder")
	}
	path := newPath(t)
	do(t, path, storetest.Runs(t, 0)[:1], 1)
	if err := os.Chmod(filepath.Dir(path), 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Dir(path), 0o755)
	s, err := OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if list, err := s.Status(t.Context()); err != nil || len(list) != 1 || !list[0].Finished() {
		t.Errorf("%+v, %v", list, err)
	}
}

// madeFile returns the bytes of a results file with finished runs.
func madeFile(t testing.TB, runs []benchmark.Run) []byte {
	t.Helper()
	path := newPath(t)
	do(t, path, runs, 1)
	s := open(t, path)
	exec1(t, s, "PRAGMA wal_checkpoint(truncate)")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestDamagedFilesAreLeftUnchanged(t *testing.T) {
	t.Parallel()
	raw := madeFile(t, storetest.Runs(t, 0))
	damaged := func(from, to int) []byte {
		b := bytes.Clone(raw)
		for i := from; i < to; i++ {
			b[i] ^= 0xa5
		}
		return b
	}
	for name, content := range map[string][]byte{
		"text":      []byte("data set, method, RMSE\n" + strings.Repeat("fried, random, 0.2\n", 50)),
		"short":     raw[:60],
		"truncated": raw[:len(raw)/2],
		"header":    damaged(16, 100),
		"middle":    damaged(len(raw)/2, len(raw)/2+6000),
		"tables":    damaged(100, 200),
		"foreign":   foreign(t),
	} {
		path := newPath(t)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(t.Context(), path); err == nil {
			t.Errorf("%s: opened", name)
			_ = s.Close()
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", name, err)
		}
		if err := readAll(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: reading it gives the error %v", name, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, content) {
			t.Errorf("%s: the file has changed", name)
		}
	}
	if _, err := OpenReadOnly(t.Context(), newPath(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// Opening a file for reading does not read all of it: its undamaged parts can be
// read.
func TestOpeningDoesNotReadTheWholeFile(t *testing.T) {
	t.Parallel()
	path, raw := newPath(t), madeFile(t, storetest.Runs(t, 0))
	for i := len(raw) - 4096; i < len(raw); i++ { // the last page, which holds rounds
		raw[i] ^= 0xa5
	}
	if err := os.WriteFile(path, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if settings, err := s.Settings(t.Context()); err != nil || settings.Epochs != storetest.Settings().Epochs {
		t.Errorf("%+v, %v", settings, err)
	}
	if _, err := s.Records(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("the rounds: %v", err)
	}
	if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("opened for writing: %v", err)
	}
}

// A file that was tampered with is rejected in plain words.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	raw := madeFile(t, storetest.Runs(t, 0)[:1])
	for change, want := range map[string]string{
		"UPDATE rounds SET elapsed = 9e999":              "a round took +Inf seconds",
		"UPDATE rounds SET elapsed = 1e308":              "seconds",
		"UPDATE rounds SET elapsed = -1":                 "seconds",
		"UPDATE rounds SET labels = -1":                  "labels",
		"UPDATE rounds SET picked = x'00'":               "list of rows",
		"UPDATE rounds SET warnings = '{'":               "warnings",
		"UPDATE runs SET compat = 5":                     "compat",
		"UPDATE runs SET batch = 1 << 40":                "no run can have these numbers",
		"UPDATE runs SET rounds = 9223372036854775807":   "no run can have these numbers",
		"UPDATE runs SET dataset = hex(zeroblob(1<<19))": "1048576 bytes",
		"UPDATE runs SET id = 77":                        "belongs to no run",
		"UPDATE settings SET value = '[]'":               "settings cannot be read",
		"CREATE VIEW endless AS WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x+1 FROM c) " +
			"SELECT x FROM c": "endless",
		"CREATE TRIGGER again AFTER INSERT ON rounds BEGIN DELETE FROM rounds; END": "again",
		"UPDATE rounds SET picked = zeroblob(80 << 20)":                             "a value has more than 64 MiB",
		"UPDATE settings SET value = hex(zeroblob(40 << 20))":                       "a value has more than 64 MiB",
		"UPDATE runs SET error = hex(zeroblob(40 << 20))":                           "a value has more than 64 MiB",
		"UPDATE rounds SET warnings = " +
			`'[' || replace(hex(zeroblob(1<<19)), '0', '"",') || '""]'`: "the warnings of a round have 3145732 bytes",
		"DROP TABLE sets":    "a table is missing",
		"DROP TABLE targets": "a table is missing",
		"INSERT INTO targets (run, round, target, name) VALUES (1, 0, 1, 'y')": "target 1 of a round follows target -1",
		"INSERT INTO targets (run, round, target, name) VALUES (1, 0, 0, " +
			"hex(zeroblob(1<<19)))": "1048576 bytes",
		"WITH RECURSIVE c(x) AS (VALUES (0) UNION ALL SELECT x+1 FROM c WHERE x < 4096) INSERT INTO targets (run, round, " +
			"target, name) SELECT 1, 0, x, x FROM c": "4097 targets",
	} {
		path := newPath(t)
		if err := os.WriteFile(path, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		tamper(t, path, change)
		err := readAll(t.Context(), path)
		if at := (*benchmark.StoreError)(nil); !errors.As(err, &at) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "sql:") {
			t.Errorf("%s: %v", change, err)
		}
	}
}

// TestEarlierVersion: a file from before there were errors of targets is read as it is, and
// upgraded when runs resume. Its rounds stay the same.
func TestEarlierVersion(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0)
	path := newPath(t)
	first := format
	first.Later = nil
	old, err := newStore(first.Open(t.Context(), path, true))
	if err != nil {
		t.Fatal(err)
	}
	want := storetest.Do(t.Context(), t, old, runs[:1], 1)
	exec1(t, old, "PRAGMA wal_checkpoint(truncate)")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	storetest.MustBeSame(t, "read as it is", outcomes(t, path), want)
	if after, _ := os.ReadFile(path); !bytes.Equal(after, before) {
		t.Error("reading has changed the file")
	}
	s := open(t, path)
	storetest.MustBeSame(t, "upgraded", storetest.Outcomes(t, s), want)
	storetest.Join(t, s)
	if err := s.Plan(runs); err != nil {
		t.Fatal(err)
	}
	claim, err := s.Claim(runs[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(claim,
		benchmark.Record{Round: benchmark.Round{Targets: []benchmark.TargetErrors{{Target: "y"},
			{Target: "z"}}}}); err != nil {
		t.Fatal(err)
	}
	records, err := open(t, path).Records(t.Context())
	if err != nil || len(records) != len(want)+1 {
		t.Fatalf("%d rounds, %v", len(records), err)
	}
	for _, r := range records {
		if r.Run == runs[1] && (len(r.Targets) != 2 || r.Targets[1].Target != "z") || r.Run != runs[1] && r.Targets != nil {
			t.Errorf("%v: targets %+v", r.Run, r.Targets)
		}
	}
	if _, err := newStore(first.Open(t.Context(), path, true)); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("the earlier program opens the upgraded file: %v", err)
	}
}

// readAll reads everything in a results file.
func readAll(ctx context.Context, path string) error {
	s, err := OpenReadOnly(ctx, path)
	if err != nil {
		return err
	}
	_, err1 := s.Status(ctx)
	_, err2 := s.Records(ctx)
	_, err3 := s.Settings(ctx)
	_, err4 := s.Sets(ctx)
	_, err5 := s.Latest(ctx, 1<<20)
	return errors.Join(err1, err2, err3, err4, err5, s.Close())
}

// tamper changes a results file as another program could.
func tamper(t testing.TB, path, change string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(change); err != nil {
		t.Fatalf("%s: %v", change, err)
	}
}

// Reading ends even if the pages form a cycle.
func TestReadingEnds(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	err := s.each(t.Context(), "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x+1 FROM c) SELECT x FROM c",
		func(*sql.Rows) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "cycle") {
		t.Error(err)
	}
}

// Cancelling ends a query that is still looking for its first row, and one whose
// rows are being read: neither is reported as damage.
func TestReadingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	const numbers = "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := s.each(ctx, numbers+" WHERE x < 0", func(*sql.Rows) error { return nil }); err != context.Canceled {
		t.Errorf("without rows: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	err := s.each(ctx, numbers, func(row *sql.Rows) error {
		cancel()
		var x int
		for {
			if err := row.Scan(&x); err != nil { // once the rows are closed
				return err
			}
		}
	})
	if err != context.Canceled {
		t.Errorf("with rows: %v", err)
	}
}

// foreign returns a database of another program.
func foreign(t *testing.T) []byte {
	t.Helper()
	path := newPath(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE bookmarks (x)"); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A file that may not grow behaves like one on a full disk.
func TestNoSpaceLeft(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0, 1)
	want := do(t, newPath(t), runs, 1)
	path := newPath(t)
	s := open(t, path)
	storetest.Join(t, s)
	if err := s.Plan(runs); err != nil {
		t.Fatal(err)
	}
	var pages int
	if err := s.db.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	b := benchmark.Bench{Store: s, Settings: storetest.Settings(), Load: storetest.Waves, Jobs: 2}
	limit := func(pages int) {
		var now int
		if err := s.db.QueryRow(fmt.Sprint("PRAGMA max_page_count = ", pages)).Scan(&now); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages)
	_, err := b.Run(context.Background(), runs)
	mustBeFull(t, err)
	written := outcomes(t, path)
	if len(written) == 0 || len(written) == len(want) {
		t.Fatalf("%d rounds were written", len(written))
	}
	limit(1 << 20)
	if _, err := b.Run(context.Background(), runs); err != nil {
		t.Fatal(err)
	}
	storetest.MustBeSame(t, "with space again", outcomes(t, path), want)
}

func mustBeFull(t *testing.T, err error) {
	t.Helper()
	if !errors.As(err, new(*benchmark.StoreError)) || !errors.Is(err, syscall.ENOSPC) ||
		!strings.Contains(err.Error(), "no space") {
		t.Fatalf("a full disk: %v", err)
	}
}

// If the disk has no space to move the last rounds from the log into the file,
// leaving says so; once there is space, leaving empties the log.
func TestLeavingEmptiesTheLog(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	path := filepath.Join(disk, "results.db")
	s := open(t, path)
	leave, err := s.Join(benchmark.Process{}, storetest.Settings())
	if err != nil {
		t.Fatal(err)
	}
	b := benchmark.Bench{Store: s, Settings: storetest.Settings(), Load: storetest.Waves, Jobs: 1}
	if _, err := b.Run(context.Background(), storetest.Runs(t, 0)[:1]); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o666); err == nil {
		t.Fatal("the disk is larger than it should be")
	}
	if err := leave(); err == nil || !strings.Contains(err.Error(), path+"-wal") {
		t.Errorf("without space: %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if leave, err = s.Join(benchmark.Process{}, storetest.Settings()); err != nil {
		t.Fatal(err)
	}
	if err := leave(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		t.Errorf("the log still has %d bytes", info.Size())
	}
}

// A full disk is reported even if there is no file yet.
func TestNoSpaceForAFile(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	if err := os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 1<<20), 0o666); err == nil {
		t.Fatal("the disk is larger than it should be")
	}
	s, err := Open(t.Context(), filepath.Join(disk, "results.db"))
	if err == nil {
		_ = s.Close()
		t.Fatal("it was created")
	}
	if at := (*benchmark.StoreError)(nil); !errors.As(err, &at) || !strings.Contains(err.Error(), "space") &&
		!strings.Contains(err.Error(), "full") {
		t.Error(err)
	}
}

// smallDisk mounts a small disk, where the machine allows it.
func smallDisk(t *testing.T) string {
	t.Helper()
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a disk to fill: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
	return disk
}

// TestFullDisk fills a small disk, where the machine allows mounting one.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	runs := storetest.Runs(t, 0)
	path := filepath.Join(disk, "results.db")
	s := open(t, path)
	storetest.Join(t, s)
	b := benchmark.Bench{Store: s, Settings: storetest.Settings(), Load: storetest.Waves, Jobs: 1}
	if _, err := b.Run(context.Background(), runs[:1]); err != nil {
		t.Fatal(err)
	}
	before := outcomes(t, path)
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o666); err == nil {
		t.Fatal("the disk is larger than it should be")
	}
	_, err := b.Run(context.Background(), runs)
	mustBeFull(t, err)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	storetest.MustBeSame(t, "after", outcomes(t, path)[:len(before)], before)
	if _, err := b.Run(context.Background(), runs); err != nil {
		t.Fatal(err)
	}
	storetest.MustBeSame(t, "with space again", outcomes(t, path), do(t, newPath(t), runs, 1))
}
