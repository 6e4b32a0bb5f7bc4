package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/nextbatch/nextbatch/internal/benchmark"
)

// ofRun finds a run by its fields, which columns returns.
const ofRun = "dataset = $1 AND activation = $2 AND spec = $3 AND compat = $4 AND batch = $5 AND rounds = $6 AND " +
	"split = $7"

func columns(r benchmark.Run) []any {
	return []any{r.DataSet, r.Activation, r.Spec, r.Compat, r.BatchSize, r.Rounds, r.Split}
}

// finished is the condition that all rounds of a row of benchmark_runs, named r, are done.
const finished = "EXISTS (SELECT FROM benchmark_rounds d WHERE d.run = r.id AND d.round = r.rounds)"

// Plan implements benchmark.Store. Runs that are new, or that failed, are queued.
func (s *Store) Plan(runs []benchmark.Run) error {
	for _, r := range runs {
		if err := r.CheckSize(); err != nil {
			return err
		}
	}
	return s.write(func(ctx context.Context, tx pgx.Tx, _ bool) error {
		// Those who plan take turns: otherwise each could wait for a row of the other.
		if _,
			err := tx.Exec(ctx,
			"SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' benchmark plan', 0))"); err != nil {
			return err
		}
		planned := arrays(runs)
		_,
			err := tx.Exec(ctx,
			"INSERT INTO benchmark_runs (dataset, activation, spec, compat, batch, rounds, split) SELECT * FROM "+unnested+
				" ON CONFLICT DO NOTHING", planned...)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE benchmark_runs r SET queued = true
			WHERE (r.dataset, r.activation, r.spec, r.compat, r.batch, r.rounds, r.split) IN (SELECT * FROM `+unnested+`)
			AND NOT queued AND owner IS NULL AND NOT `+finished, planned...)
		return err
	})
}

// unnested is a table of runs from the columns that arrays returns.
const unnested = "unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::bigint[], $6::bigint[], $7::bigint[])"

// arrays returns runs column by column.
func arrays(runs []benchmark.Run) []any {
	var sets, activations, specs []string
	var compats []bool
	var batches, rounds, splits []int
	for _, r := range runs {
		sets, activations, specs, compats = append(sets, r.DataSet), append(activations, r.Activation), append(specs, r.Spec),
			append(compats, r.Compat)
		batches, rounds, splits = append(batches, r.BatchSize), append(rounds, r.Rounds), append(splits, r.Split)
	}
	return []any{sets, activations, specs, compats, batches, rounds, splits}
}

// Claim implements benchmark.Store.
func (s *Store) Claim(run benchmark.Run) (*benchmark.Claim, error) {
	c := &benchmark.Claim{Run: run}
	err := s.write(func(ctx context.Context, tx pgx.Tx, _ bool) error {
		err := tx.QueryRow(ctx, "SELECT id FROM benchmark_runs WHERE "+ofRun+" FOR UPDATE", columns(run)...).Scan(&c.Key)
		if errors.Is(err, pgx.ErrNoRows) {
			return notPlanned(run)
		}
		if err != nil {
			return err
		}
		return s.own(ctx, tx, c.Key)
	})
	if err != nil {
		return nil, err
	}
	return c, s.resume(c)
}

// own makes this process the owner of a run whose row is locked, unless it is finished or
// another process that is alive owns it. A run that failed is in no queue; if this process dies,
// others shall get it.
func (s *Store) own(ctx context.Context, tx pgx.Tx, run int64) error {
	var done, held bool
	err := tx.QueryRow(ctx, "SELECT "+finished+", coalesce(owner <> $2 AND owner IN "+alive+
		", false) FROM benchmark_runs r WHERE id = $1", run, s.process).Scan(&done, &held)
	switch {
	case err != nil:
		return err
	case done:
		return benchmark.ErrFinished
	case held:
		return benchmark.ErrTaken
	}
	_,
		err = tx.Exec(ctx, "UPDATE benchmark_runs SET owner = $2, failure = NULL, queued = true WHERE id = $1", run,
		s.process)
	return err
}

// resume reads the rounds of a claimed run.
func (s *Store) resume(c *benchmark.Claim) error {
	return s.patiently(func(bool) (err error) {
		ctx, stop := context.WithTimeout(context.Background(), attempt)
		defer stop()
		c.Done, err = s.records(ctx, "WHERE run = $1", c.Key)
		return err
	})
}

// Release implements benchmark.Store. A run that failed leaves the queue.
func (s *Store) Release(c *benchmark.Claim, failure error) error {
	text := pgtype.Text{}
	if failure != nil {
		text = pgtype.Text{String: storable(failure.Error()), Valid: true}
	}
	return s.write(func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_,
			err := tx.Exec(ctx,
			"UPDATE benchmark_runs SET owner = NULL, failure = $3::text, queued = queued AND $3::text IS NULL WHERE id = $1 "+
				"AND owner = $2", c.Key, s.process, text)
		return err
	})
}

// storable returns a text without what a text of PostgreSQL cannot hold.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func allStorable(texts []string) []string {
	kept := slices.Clone(texts)
	for i, text := range kept {
		kept[i] = storable(text)
	}
	return kept
}

// Fail implements benchmark.Store. The runs stay in the queue: others may be able to
// perform them.
func (s *Store) Fail(runs []benchmark.Run, failure error) error {
	return s.write(func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_,
			err := tx.Exec(ctx,
			"UPDATE benchmark_runs r SET failure = $8 WHERE owner IS NULL AND (r.dataset, r.activation, r.spec, r.compat, "+
				"r.batch, r.rounds, r.split) IN (SELECT * FROM "+unnested+")",
			append(arrays(runs), storable(failure.Error()))...)
		return err
	})
}
