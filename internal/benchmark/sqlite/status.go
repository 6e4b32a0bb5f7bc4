package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

// Status returns the progress of each planned run, in the order of Run.Compare.
func (s *Store) Status(ctx context.Context) ([]benchmark.RunStatus, error) {
	spent := map[int64]benchmark.RunStatus{}
	err := s.each(ctx, "SELECT run, elapsed, training FROM rounds", func(row *sql.Rows) error {
		var run int64
		var elapsed, training float64
		if err := row.Scan(&run, &elapsed, &training); err != nil {
			return err
		}
		of := spent[run]
		of.Done, of.Seconds, of.Training = of.Done+1, of.Seconds+elapsed, of.Training+training
		spent[run] = of
		return benchmark.Round{Elapsed: elapsed, Training: training}.Check()
	})
	if err != nil {
		return nil, err
	}
	runs, err := s.runs(ctx)
	if err != nil {
		return nil, err
	}
	processes, err := s.processes(ctx)
	if err != nil {
		return nil, err
	}
	var list []benchmark.RunStatus
	for id, r := range runs {
		of := spent[id]
		of.Run, of.Failure, of.Working = r.Run, r.failure, r.owner.Valid && processes[r.owner.Int64].Working()
		list = append(list, of)
	}
	slices.SortFunc(list, func(a, b benchmark.RunStatus) int { return a.Run.Compare(b.Run) })
	return list, nil
}

// Latest returns how long the rounds took that ended last.
func (s *Store) Latest(ctx context.Context, n int) (list []benchmark.Timing, err error) {
	err = s.each(ctx, `SELECT dataset, activation, spec, compat, batch, rounds, split, round, training, elapsed
		FROM rounds JOIN runs ON run = id ORDER BY finished DESC, run DESC, round DESC LIMIT ?`, func(row *sql.Rows) error {
		var t benchmark.Timing
		if err := row.Scan(&t.Run.DataSet, &t.Run.Activation, &t.Run.Spec, &t.Run.Compat, &t.Run.BatchSize,
			&t.Run.Rounds, &t.Run.Split,
			&t.Round, &t.Training, &t.Elapsed); err != nil {
			return err
		}
		list = append(list, t)
		return t.Check()
	}, n)
	slices.Reverse(list)
	return list, err
}

// Workers returns the processes that hold runs.
func (s *Store) Workers(ctx context.Context) ([]benchmark.Worker, error) {
	runs, err := s.runs(ctx)
	if err != nil {
		return nil, err
	}
	held := map[int64]int{}
	for _, r := range runs {
		if r.owner.Valid {
			held[r.owner.Int64]++
		}
	}
	processes, err := s.processes(ctx)
	var list []benchmark.Worker
	for _, id := range slices.Sorted(maps.Keys(held)) {
		if p := processes[id]; p.Working() {
			list = append(list, benchmark.Worker{Process: p.Process, Host: p.Host, PID: p.PID,
				Started: time.UnixMilli(p.started), Runs: held[id]})
		}
	}
	return list, err
}

// storedRun is a row of the table runs.
type storedRun struct {
	benchmark.Run
	owner   sql.NullInt64 // process
	failure string
}

// runs returns the planned runs by key.
func (s *Store) runs(ctx context.Context) (map[int64]storedRun, error) {
	runs := map[int64]storedRun{}
	err := s.each(ctx,
		"SELECT id, dataset, activation, spec, compat, batch, rounds, split, owner, ifnull(error, '') FROM runs",
		func(row *sql.Rows) error {
			var id int64
			var r storedRun
			if err := row.Scan(&id, &r.DataSet, &r.Activation, &r.Spec, &r.Compat, &r.BatchSize, &r.Rounds, &r.Split, &r.owner,
				&r.failure); err != nil {
				return err
			}
			runs[id] = r
			return r.CheckSize()
		})
	return runs, err
}

// storedProcess is a row of the table processes.
type storedProcess struct {
	benchmark.Process
	sqlitefile.Presence
	started int64
}

// processes returns all processes that ever worked on the file, by key.
func (s *Store) processes(ctx context.Context) (map[int64]storedProcess, error) {
	processes := map[int64]storedProcess{}
	err := s.each(ctx, "SELECT id, host, pid, seen, started, version, revision, platform, cpu, simd FROM processes",
		func(row *sql.Rows) error {
			var id int64
			var p storedProcess
			err := row.Scan(&id, &p.Host, &p.PID, &p.Seen, &p.started, &p.Version, &p.Revision, &p.Platform, &p.CPU, &p.SIMD)
			processes[id] = p
			return err
		})
	return processes, err
}

// Settings returns the settings that all runs of the file share.
func (s *Store) Settings(ctx context.Context) (settings benchmark.Settings, err error) {
	var text []byte
	if err := s.db.QueryRowContext(ctx, "SELECT value FROM settings").Scan(&text); err == sql.ErrNoRows {
		return settings, nil // no process has joined yet
	} else if err != nil {
		return settings, s.explain(err)
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return settings, s.fail("it is damaged: its settings cannot be read: "+err.Error(), err)
	}
	return settings, nil
}

// Sets returns the data sets that were used.
func (s *Store) Sets(ctx context.Context) (sets []benchmark.Set, err error) {
	err = s.each(ctx, "SELECT name, rows, features, fingerprint FROM sets", func(row *sql.Rows) error {
		var set benchmark.Set
		err := row.Scan(&set.Name, &set.Rows, &set.Features, &set.Fingerprint)
		sets = append(sets, set)
		return err
	})
	slices.SortFunc(sets, func(a, b benchmark.Set) int { return strings.Compare(a.Name, b.Name) })
	return sets, err
}
