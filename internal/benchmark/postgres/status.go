package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/postgresdb"
)

// Status implements benchmark.Reader.
func (s *Store) Status(ctx context.Context) ([]benchmark.RunStatus, error) {
	list, err := collect(ctx, s, scanStatus, `SELECT dataset, activation, spec, compat, batch, rounds, split,
			coalesce(owner IN `+alive+`, false), coalesce(failure, ''),
			coalesce(done, 0), coalesce(seconds, 0), coalesce(spent, 0)
		FROM benchmark_runs LEFT JOIN (
			SELECT run, count(*) AS done, sum(elapsed) AS seconds, sum(training) AS spent FROM benchmark_rounds GROUP BY run
		) totals ON run = id`)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if err := cmp.Or(r.Run.CheckSize(), benchmark.Round{Elapsed: r.Seconds, Training: r.Training}.Check()); err != nil {
			return nil, s.damaged(err)
		}
	}
	slices.SortFunc(list, func(a, b benchmark.RunStatus) int { return a.Run.Compare(b.Run) })
	return list, nil
}

func scanStatus(row pgx.CollectableRow) (s benchmark.RunStatus, err error) {
	err = row.Scan(&s.Run.DataSet, &s.Run.Activation, &s.Run.Spec, &s.Run.Compat, &s.Run.BatchSize,
		&s.Run.Rounds, &s.Run.Split,
		&s.Working, &s.Failure, &s.Done, &s.Seconds, &s.Training)
	return s, err
}

// Latest implements benchmark.Reader.
func (s *Store) Latest(ctx context.Context, n int) ([]benchmark.Timing, error) {
	list, err := collect(ctx, s, scanTiming, `SELECT dataset, activation, spec, compat, batch, rounds, split, round,
			training, elapsed
		FROM benchmark_rounds JOIN benchmark_runs ON run = id ORDER BY finished DESC, run DESC, round DESC LIMIT $1`, n)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		if err := t.Check(); err != nil {
			return nil, s.damaged(err)
		}
	}
	slices.Reverse(list)
	return list, nil
}

func scanTiming(row pgx.CollectableRow) (t benchmark.Timing, err error) {
	err = row.Scan(&t.Run.DataSet, &t.Run.Activation, &t.Run.Spec, &t.Run.Compat, &t.Run.BatchSize,
		&t.Run.Rounds, &t.Run.Split,
		&t.Round, &t.Training, &t.Elapsed)
	return t, err
}

// Workers implements benchmark.Reader.
func (s *Store) Workers(ctx context.Context) ([]benchmark.Worker, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (w benchmark.Worker, err error) {
		err = row.Scan(&w.Host, &w.PID, &w.Version, &w.Revision, &w.Platform, &w.CPU, &w.SIMD, &w.Started, &w.Runs)
		return w, err
	}, `SELECT host, pid, version, revision, platform, cpu, simd, started, (SELECT count(*) FROM benchmark_runs WHERE
			owner = p.id)
		FROM benchmark_processes p WHERE id IN `+alive+` ORDER BY id`)
}

// Settings implements benchmark.Reader.
func (s *Store) Settings(ctx context.Context) (settings benchmark.Settings, err error) {
	var text string
	err = s.db.QueryRow(ctx, "SELECT value FROM benchmark_settings").Scan(&text)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return settings, nil // no process has joined yet
	case err != nil:
		return settings, postgresdb.Ended(ctx, s.explain(err))
	}
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		return settings, s.damaged(errors.New("its settings cannot be read: " + err.Error()))
	}
	return settings, nil
}

// Sets implements benchmark.Reader.
func (s *Store) Sets(ctx context.Context) ([]benchmark.Set, error) {
	sets, err := collect(ctx, s, func(row pgx.CollectableRow) (set benchmark.Set, err error) {
		err = row.Scan(&set.Name, &set.Rows, &set.Features, &set.Fingerprint)
		return set, err
	}, "SELECT name, rows, features, fingerprint FROM benchmark_sets")
	slices.SortFunc(sets, func(a, b benchmark.Set) int { return strings.Compare(a.Name, b.Name) })
	return sets, err
}

// Size returns how many bytes the rounds take in the database, and when the last was written.
func (s *Store) Size(ctx context.Context) (bytes int64, changed time.Time, err error) {
	err = s.db.QueryRow(ctx,
		"SELECT pg_total_relation_size('benchmark_rounds'), (SELECT coalesce(max(finished), 'epoch') FROM "+
			"benchmark_rounds)").Scan(&bytes, &changed)
	return bytes, changed, postgresdb.Ended(ctx, s.explain(err))
}
