package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/benchmark/sqlite"
	"github.com/nextbatch/nextbatch/internal/benchmark/storetest"
	"github.com/nextbatch/nextbatch/internal/postgresdb"
	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"
	"github.com/nextbatch/nextbatch/internal/sets"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(t testing.TB) storetest.Opener {
		address := postgrestest.Schema(t)
		return func(t testing.TB) benchmark.Store { return opened(t, address) }
	})
}

// opened opens a database with the times of tests.
func opened(t testing.TB, address string) *Store {
	t.Helper()
	s, err := Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.times = times{patience: 10 * time.Second, check: 100 * time.Millisecond, job: time.Minute}
	return s
}

// joined opens a database with runs to work on.
func joined(t testing.TB, address string, runs []benchmark.Run) *Store {
	t.Helper()
	s := opened(t, address)
	storetest.Join(t, s)
	if err := s.Plan(runs); err != nil {
		t.Fatal(err)
	}
	return s
}

func bench(s *Store) *benchmark.Bench {
	return &benchmark.Bench{Store: s, Settings: storetest.Settings(), Load: storetest.Waves, Jobs: 1}
}

// alone returns the outcomes of runs that one process performs with a results file.
func alone(t testing.TB, runs []benchmark.Run) []string {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir()+"/results.db")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return storetest.Do(t.Context(), t, s, runs, 1)
}

func number(t testing.TB, s *Store, query string) (n int) {
	t.Helper()
	if err := s.db.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestResultsAreThoseOfAFile(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0, 1)
	s := opened(t, postgrestest.Schema(t))
	storetest.MustBeSame(t, "in a database", storetest.Do(t.Context(), t, s, runs, 2), alone(t, runs))
	if n := number(t, s, "SELECT count(*) FROM benchmark_runs WHERE queued"); n != 0 {
		t.Errorf("%d finished runs are still queued", n)
	}
}

// A process that can no longer be reached loses its runs; others take them up, and what it
// writes afterwards is refused.
func TestLostProcess(t *testing.T) {
	t.Parallel()
	address := postgrestest.Schema(t)
	runs := storetest.Runs(t, 0)
	a := joined(t, address, runs)
	a.times.check = time.Hour // it does not come back
	claim, err := (&queue{Store: a}).take()
	if err != nil || claim == nil {
		t.Fatal(claim, err)
	}
	b := joined(t, address, runs)
	if _, err := b.Claim(claim.Run); err != benchmark.ErrTaken {
		t.Errorf("a run of a process that is alive: %v", err)
	}
	postgrestest.Execute(t, address,
		fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND objid "+
			"= %d AND classid::bigint = %s", a.process, lockSpace))
	awaitWorkers(t, b, 1)
	if more, err := (&queue{Store: a}).take(); err != nil || more != nil {
		t.Errorf("a process that does not seem alive took %v, %v", more, err)
	}
	if summary, err := bench(b).Run(t.Context(), runs); err != nil || summary.Done != len(runs) {
		t.Fatalf("%+v, %v", summary, err)
	}
	if err := a.Append(claim, benchmark.Record{}); err != benchmark.ErrTaken {
		t.Errorf("a round of a run that was lost: %v", err)
	}
	storetest.MustBeSame(t, "after a loss", storetest.Outcomes(t, b), alone(t, runs))
}

// A process may take runs without knowing, if the server's answer is lost. It gets them again.
func TestRunsTakenUnawares(t *testing.T) {
	t.Parallel()
	address := postgrestest.Schema(t)
	runs := storetest.Runs(t, 0)
	s := joined(t, address, runs)
	postgrestest.Execute(t, address, fmt.Sprintf("UPDATE benchmark_runs SET owner = %d WHERE id < 4", s.process))
	if summary, err := bench(s).Run(t.Context(), runs); err != nil || summary.Done != len(runs) {
		t.Fatalf("%+v, %v", summary, err)
	}
	storetest.MustBeSame(t, "with runs that were taken unawares", storetest.Outcomes(t, s), alone(t, runs))
}

// A process may lose its connection while it works, without losing its runs.
func TestPresenceComesBack(t *testing.T) {
	t.Parallel()
	address := postgrestest.Schema(t)
	s := joined(t, address, storetest.Runs(t, 0))
	const locks = "FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND classid::bigint = " + lockSpace
	postgrestest.Execute(t, address, "SELECT pg_terminate_backend(pid) "+locks)
	awaitWorkers(t, s, 1)
}

// awaitWorkers waits until n processes are alive: the server needs a moment to notice the end
// of a connection.
func awaitWorkers(t *testing.T, s *Store, want int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if workers, err := s.Workers(t.Context()); err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", workers, err)
		} else if len(workers) == want {
			return
		}
	}
}

// A run whose data set one process lacks is left to others, with the name of the set.
func TestMissingSetIsLeftToOthers(t *testing.T) {
	t.Parallel()
	address := postgrestest.Schema(t)
	runs := storetest.Runs(t, 0)
	for _, r := range runs[:2] {
		r.DataSet = "elsewhere"
		runs = append([]benchmark.Run{r}, runs...)
	}
	s := joined(t, address, runs)
	b := bench(s)
	var reported []string
	b.Watch = func(e benchmark.Event) {
		if e.Failed != nil {
			reported = append(reported, e.Failed.Error())
		}
	}
	b.Load = func(name string) (*sets.Regression, error) {
		if name == "elsewhere" {
			return nil, errors.New("no such file")
		}
		return storetest.Waves(name)
	}
	summary, err := b.Run(t.Context(), runs)
	if err != nil || summary != (benchmark.Summary{Done: 5, Failed: 2}) ||
		!slices.Equal(reported, []string{"data set elsewhere: no such file"}) {
		t.Fatalf("%+v, %q, %v", summary, reported, err)
	}
	status, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range status {
		if (r.Run.DataSet == "elsewhere") != strings.Contains(r.Failure,
			"data set elsewhere: no such file (on ") || r.Working {
			t.Errorf("%+v", r)
		}
	}
	other := opened(t, address)
	storetest.Join(t, other)
	if err := bench(other).Work(t.Context(), other, false); err != nil {
		t.Fatal(err)
	}
	if summary, err := bench(other).Run(t.Context(), runs); err != nil || summary.Done != len(runs) {
		t.Errorf("with a process that has it: %+v, %v", summary, err)
	}
}

// A run that fails is not tried again until it is planned again.
func TestFailedRun(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0)
	runs[1].Rounds, runs[1].BatchSize = 2, 1000 // more rows than there are
	s := joined(t, postgrestest.Schema(t), runs)
	failures := 0
	b := bench(s)
	b.Watch = func(e benchmark.Event) {
		if e.Failed != nil {
			failures++
		}
	}
	for attempt := 1; attempt <= 2; attempt++ {
		summary, err := b.Run(t.Context(), runs)
		if err != nil || summary != (benchmark.Summary{Done: 4, Failed: 1}) || failures != attempt {
			t.Errorf("attempt %d: %+v, %d failures, %v", attempt, summary, failures, err)
		}
	}
}

// A run that takes too long goes back into the queue after its last round; one without
// a round fails.
func TestTimeout(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0)[:2]
	s := joined(t, postgrestest.Schema(t), runs)
	s.times.job = 2 * time.Second // enough for a round on a slow machine
	attempts := map[benchmark.Run]int{}
	var mu sync.Mutex
	err := s.Work(t.Context(), 2, false, func(ctx context.Context, c *benchmark.Claim) error {
		mu.Lock()
		attempts[c.Run]++
		mu.Unlock()
		if c.Run == runs[0] && len(c.Done) <= c.Run.Rounds {
			if err := s.Append(c, benchmark.Record{Round: benchmark.Round{Run: c.Run, Round: len(c.Done)}}); err != nil ||
				len(c.Done) == c.Run.Rounds {
				return err
			}
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil || attempts[runs[0]] != runs[0].Rounds+1 || attempts[runs[1]] != 1 {
		t.Errorf("%v, %v", attempts, err)
	}
	status, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range status {
		if r.Finished() == (r.Failure == "no round was finished within 2s") {
			t.Errorf("%+v", r)
		}
	}
}

// TestNoRunIsTakenAfterTheEnd: a run that ends with the context is free again at once, and is not taken again.
func TestNoRunIsTakenAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := joined(t, postgrestest.Schema(t), storetest.Runs(t, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
	ctx, cancel := context.WithCancel(t.Context())
	begun := atomic.Int32{}
	const jobs = 16
	err := s.Work(ctx, jobs, false, func(ctx context.Context, _ *benchmark.Claim) error {
		cancel()
		if begun.Add(1) > jobs {
			return &benchmark.StoreError{Reason: "taken after the end"} // the run stays ours
		}
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the work ended with %v", err)
	}
	if n := number(t, s, "SELECT count(*) FROM benchmark_runs WHERE NOT queued OR owner IS NOT NULL"); n != 0 {
		t.Errorf("%d runs are not free", n)
	}
}

// A worker that waits takes runs that are planned later, and ends with the context.
func TestWait(t *testing.T) {
	t.Parallel()
	address := postgrestest.Schema(t)
	s := opened(t, address)
	storetest.Join(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	runs := storetest.Runs(t, 0)[:1]
	b := bench(s)
	b.Watch = func(e benchmark.Event) {
		if e.Record.Round.Round == e.Record.Rounds {
			cancel()
		}
	}
	go func() {
		time.Sleep(300 * time.Millisecond)
		if err := opened(t, address).Plan(runs); err != nil {
			t.Error(err)
		}
	}()
	if err := b.Work(ctx, s, true); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if n := len(storetest.Outcomes(t, s)); n != 4 {
		t.Errorf("%d rounds", n)
	}
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	address := postgrestest.Schema(t)
	runs := storetest.Runs(t, 0)
	s := joined(t, address, runs)
	other := opened(t, address)
	leave := storetest.Join(t, other)
	for _, r := range runs[:2] {
		if _, err := s.Claim(r); err != nil {
			t.Fatal(err)
		}
	}
	workers, err := s.Workers(t.Context())
	host, _ := os.Hostname()
	if err != nil || len(workers) != 2 || workers[0].Runs != 2 || workers[1].Runs != 0 || workers[0].Host != host ||
		workers[0].PID != os.Getpid() ||
		workers[0].Version != "test" || time.Since(workers[0].Started).Abs() > time.Hour {
		t.Errorf("%+v, %v", workers, err)
	}
	if err := leave(); err != nil {
		t.Fatal(err)
	}
	awaitWorkers(t, s, 1)
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	address := postgrestest.Schema(t)
	opened(t, address)
	postgrestest.Execute(t, address, "INSERT INTO benchmark_schema (version_id, is_applied) VALUES (99, true)")
	for name, open := range map[string]func(context.Context, string) (*Store, error){"Open": Open,
		"OpenReadOnly": OpenReadOnly} {
		_, err := open(t.Context(), address)
		if at := (*benchmark.StoreError)(nil); !errors.As(err, &at) || !strings.Contains(err.Error(), "version 99") ||
			!strings.Contains(err.Error(), "newer program") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A reader creates nothing.
func TestEmptyDatabase(t *testing.T) {
	t.Parallel()
	address := postgrestest.Schema(t)
	_, err := OpenReadOnly(t.Context(), address)
	if at := (*benchmark.StoreError)(nil); !errors.As(err, &at) ||
		!strings.Contains(err.Error(), "nextbatch bench run creates them") {
		t.Error(err)
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var tables int
	if err := conn.QueryRow(t.Context(),
		"SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables, %v", tables, err)
	}
}

func TestPasswordsAreNotShown(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://ada:secret@[", "postgres://ada:secret@/none?host=/nowhere", "postgres://ada:secret@localhost:99999/none",
		"postgres://ada:sec%zzret@localhost/none",
		"postgres://localhost:x/none?user=ada&password=secret",
		"postgres://localhost/none?user=ada&password=secret&sslmode=wrong",
	} {
		_, err := Open(context.Background(), address)
		if at := (*benchmark.StoreError)(nil); !errors.As(err, &at) || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), "zzret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	address, err := url.Parse(postgrestest.Schema(t))
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword(address.User.Username(), "secret") // the server trusts everybody
	s := opened(t, address.String())
	storetest.Do(t.Context(), t, s, storetest.Runs(t, 0)[:1], 1)
	other := storetest.Settings()
	other.Epochs++
	_, err = s.Join(benchmark.Process{}, other)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	for _, table := range []string{"benchmark_settings", "benchmark_sets", "benchmark_processes",
		"benchmark_runs", "benchmark_rounds"} {
		if n := number(t, s, "SELECT count(*) FROM "+table+" x WHERE x::text LIKE '%secret%'"); n != 0 {
			t.Errorf("%s holds the password", table)
		}
	}
}

func TestFullDiskOfTheServer(t *testing.T) {
	t.Parallel()
	db, err := postgresdb.Connect(t.Context(), "postgres://ada@host/results", 1) // it connects when it is used
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = (&Store{db: db}).lost(&pgconn.PgError{Code: "53100", Message: "could not extend file"})
	if !errors.As(err, new(*benchmark.StoreError)) || !errors.Is(err, syscall.ENOSPC) ||
		!strings.Contains(err.Error(), "the disk of the PostgreSQL server is full") {
		t.Error(err)
	}
}

func TestDamageIsNoticed(t *testing.T) {
	t.Parallel()
	address := postgrestest.Schema(t)
	s := opened(t, address)
	storetest.Do(t.Context(), t, s, storetest.Runs(t, 0)[:1], 1)
	for _, c := range []struct{ change, undo, want string }{
		{"UPDATE benchmark_rounds SET elapsed = 'Infinity'", "UPDATE benchmark_rounds SET elapsed = 1", "+Inf seconds"},
		{"UPDATE benchmark_rounds SET labels = -1", "UPDATE benchmark_rounds SET labels = 1", "labels"},
		{"UPDATE benchmark_rounds SET targets = ARRAY['y', 'z']", "UPDATE benchmark_rounds SET targets = '{}'",
			"0 errors of 2 targets"},
		{"UPDATE benchmark_runs SET batch = 1::bigint << 40", "UPDATE benchmark_runs SET batch = 8",
			"no run can have these numbers"},
		{"UPDATE benchmark_runs SET spec = repeat('x', 2000)", "UPDATE benchmark_runs SET spec = 'random'", "2000 bytes"},
		{"UPDATE benchmark_settings SET value = '[]'", "UPDATE benchmark_settings SET value = '{}'",
			"settings cannot be read"},
		{"ALTER TABLE benchmark_rounds RENAME TO benchmark_other",
			"ALTER TABLE benchmark_other RENAME TO benchmark_rounds", "benchmark_rounds"},
	} {
		postgrestest.Execute(t, address, c.change)
		err := readAll(t.Context(), s)
		if at := (*benchmark.StoreError)(nil); !errors.As(err, &at) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.change, err)
		}
		postgrestest.Execute(t, address, c.undo)
		if err := readAll(t.Context(), s); err != nil {
			t.Errorf("%s: %v", c.undo, err)
		}
	}
}

// readAll reads everything in a database.
func readAll(ctx context.Context, s *Store) error {
	_, err1 := s.Status(ctx)
	_, err2 := s.Records(ctx)
	_, err3 := s.Settings(ctx)
	_, err4 := s.Sets(ctx)
	_, err5 := s.Latest(ctx, 1<<20)
	return errors.Join(err1, err2, err3, err4, err5)
}

// Databases of every version that was released can be read as they are, and work goes on in them: rounds that
// are there stay as they were, and each missing one is written once. Other jobs of River stay.
func TestTablesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	dumps, err := filepath.Glob("testdata/version*.sql")
	if err != nil || len(dumps) == 0 {
		t.Fatal(dumps, err)
	}
	for _, dump := range dumps {
		text, err := os.ReadFile(dump)
		if err != nil {
			t.Fatal(err)
		}
		address := postgrestest.Schema(t)
		postgrestest.Execute(t, address, string(text))
		postgrestest.Execute(t, address, "INSERT INTO river_job (id, args, kind) VALUES (99, '{}', 'of another program')")
		reader, err := OpenReadOnly(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		before := storetest.Outcomes(t, reader)
		if err := readAll(t.Context(), reader); err != nil || len(before) != 6 {
			t.Errorf("%s: %d rounds, %v", dump, len(before), err)
		}
		s := opened(t, address)
		runs := storetest.Runs(t, 0)
		after := storetest.Do(t.Context(), t, s, runs, 2)
		lost := slices.DeleteFunc(before, func(round string) bool { return slices.Contains(after, round) })
		if len(after) != 4*len(runs) || len(lost) != 0 {
			t.Errorf("%s: %d rounds; changed are %q", dump, len(after), lost)
		}
		if n := number(t, s, "SELECT min(id) FROM river_job"); n != 99 {
			t.Errorf("%s: job %d is left", dump, n)
		}
	}
}
