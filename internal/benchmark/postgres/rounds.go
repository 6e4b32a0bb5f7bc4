package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/postgresdb"
	"github.com/nextbatch/nextbatch/internal/stats"
)

// Append implements benchmark.Store. The lock of the run's row and the key of its rounds
// make sure that a round is written once, and by the owner.
func (s *Store) Append(c *benchmark.Claim, r benchmark.Record) error {
	if err := r.Round.Check(); err != nil {
		return fmt.Errorf("%v: %w", c.Run, err)
	}
	return s.write(func(ctx context.Context, tx pgx.Tx, again bool) error {
		ours, writer, err := s.state(ctx, tx, c, r.Round.Round)
		switch {
		case err != nil:
			return err
		case again && writer == s.process:
			return nil // the earlier attempt was committed, but its confirmation was lost
		case !ours:
			return benchmark.ErrTaken
		case writer != 0:
			return fault{fmt.Errorf("%v: the results already have round %d", c.Run, r.Round.Round)}
		}
		return s.insert(ctx, tx, c, r)
	})
}

// state locks a run, and reports whether this process owns it and which process wrote the
// round; 0 if none did.
func (s *Store) state(ctx context.Context, tx pgx.Tx, c *benchmark.Claim,
	round int) (ours bool, writer int32, err error) {
	if err := tx.QueryRow(ctx, "SELECT coalesce(owner = $2, false) FROM benchmark_runs WHERE id = $1 FOR UPDATE", c.Key,
		s.process).Scan(&ours); err != nil {
		return false, 0, err
	}
	err = tx.QueryRow(ctx, "SELECT coalesce((SELECT process FROM benchmark_rounds WHERE run = $1 AND round = $2), 0)",
		c.Key, round).Scan(&writer)
	return ours, writer, err
}

func (s *Store) insert(ctx context.Context, tx pgx.Tx, c *benchmark.Claim, r benchmark.Record) error {
	targets, errors := flatten(r.Targets)
	_, err := tx.Exec(ctx, `INSERT INTO benchmark_rounds (run, round, labels, mae, rmse, maxe, q95, q99, targets,
			target_errors, training, features, selection, testing, elapsed,
			effective_dimension, fallbacks, picked, warnings, threads, process)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
		c.Key, r.Round.Round, r.Labels, r.Test.MAE, r.Test.RMSE, r.Test.MaxE, r.Test.Q95, r.Test.Q99, targets, errors,
		r.Training, r.Features, r.Selection, r.Testing, r.Elapsed,
		r.EffectiveDimension, r.Fallbacks, append([]int{}, r.Picked...),
		append([]string{}, allStorable(r.Warnings)...), r.Threads, s.process)
	if err != nil || r.Round.Round < c.Run.Rounds {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE benchmark_runs SET queued = false WHERE id = $1", c.Key)
	return err
}

// perTarget is how many errors a target has.
const perTarget = 5

// flatten returns the names of targets, and their errors one after another.
func flatten(targets []benchmark.TargetErrors) (names []string, errors []float64) {
	names, errors = []string{}, []float64{} // nil would be NULL
	for _, t := range targets {
		names, errors = append(names, storable(t.Target)), append(errors, t.MAE, t.RMSE, t.MaxE, t.Q95, t.Q99)
	}
	return names, errors
}

// unflatten is the inverse of flatten.
func unflatten(names []string, errors []float64) (targets []benchmark.TargetErrors, err error) {
	if len(errors) != perTarget*len(names) {
		return nil, fmt.Errorf("a round has %d errors of %d targets", len(errors), len(names))
	}
	for i, name := range names {
		e := errors[perTarget*i:]
		targets = append(targets, benchmark.TargetErrors{Target: name,
			Metrics: stats.Metrics{MAE: e[0], RMSE: e[1], MaxE: e[2], Q95: e[3], Q99: e[4]}})
	}
	return targets, nil
}

// Records implements benchmark.Reader.
func (s *Store) Records(ctx context.Context) ([]benchmark.Record, error) {
	list, err := s.records(ctx, "")
	return list, postgresdb.Ended(ctx, err)
}

// records returns the rounds of one run, or of all.
func (s *Store) records(ctx context.Context, where string, args ...any) ([]benchmark.Record, error) {
	list, err := collect(ctx, s, scanRecord, `SELECT dataset, activation, spec, compat, batch, rounds, split,
			round, labels, mae, rmse, maxe, q95, q99, targets, target_errors, training, features, selection, testing, elapsed,
			effective_dimension, fallbacks, picked, warnings, threads, finished,
			version, revision, platform, cpu, simd
		FROM benchmark_rounds JOIN benchmark_runs r ON run = r.id JOIN benchmark_processes p ON process = p.id `+where,
		args...)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if err := cmp.Or(r.Run.CheckSize(), r.Round.Check()); err != nil {
			return nil, s.damaged(err)
		}
	}
	slices.SortFunc(list, func(a, b benchmark.Record) int {
		return cmp.Or(a.Run.Compare(b.Run), cmp.Compare(a.Round.Round, b.Round.Round))
	})
	return list, nil
}

func scanRecord(row pgx.CollectableRow) (r benchmark.Record, err error) {
	var targets []string
	var errors []float64
	err = row.Scan(&r.DataSet, &r.Activation, &r.Spec, &r.Compat, &r.BatchSize, &r.Rounds, &r.Split,
		&r.Round.Round, &r.Labels, &r.Test.MAE, &r.Test.RMSE, &r.Test.MaxE, &r.Test.Q95, &r.Test.Q99, &targets, &errors,
		&r.Training, &r.Features, &r.Selection, &r.Testing, &r.Elapsed,
		&r.EffectiveDimension, &r.Fallbacks, &r.Picked, &r.Warnings, &r.Threads, &r.Finished,
		&r.By.Version, &r.By.Revision, &r.By.Platform, &r.By.CPU, &r.By.SIMD)
	if err != nil {
		return r, err
	}
	r.Targets, err = unflatten(targets, errors)
	return r, err
}
