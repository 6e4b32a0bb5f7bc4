package postgresdb

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// Tables are the tables of one part of the program, in the first schema of the search path.
type Tables struct {
	Files    fs.FS  // migrations, in the form of goose
	Versions string // the table in which goose notes which were applied

	// Before, unless nil, runs before the migrations: it creates tables of others.
	Before func(ctx context.Context, pool *pgxpool.Pool) error
}

// Migrate creates tables or brings them up to the version of this program. Tables of
// a newer version are refused.
func (d *Database) Migrate(ctx context.Context, t Tables) error {
	db := stdlib.OpenDBFromPool(d.Pool)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, t.Files, goose.WithTableName(t.Versions), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	target := provider.ListSources()[len(provider.ListSources())-1].Version
	if current, err := d.version(ctx, t.Versions); err != nil || current == target {
		return d.Explain(err)
	}
	conn, err := d.Acquire(ctx)
	if err != nil {
		return d.Explain(err)
	}
	defer conn.Release()
	// Of several processes that start at once, one migrates.
	const lock = "SELECT pg_advisory_lock(hashtextextended(current_schema() || ' migrate', 0))"
	if _, err := conn.Exec(ctx, lock); err != nil {
		return d.Explain(err)
	}
	defer conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock_all()")
	current, err := d.version(ctx, t.Versions)
	switch {
	case err != nil:
		return d.Explain(err)
	case current > target:
		return d.Newer(current, target)
	case current == target:
		return nil
	}
	if t.Before != nil {
		if err := t.Before(ctx, d.Pool); err != nil {
			return d.Explain(err)
		}
	}
	_, err = provider.Up(ctx)
	return d.Explain(err)
}

// Current checks that the tables have the version of this program, for readers, which
// migrate nothing. The advice says how to get such tables.
func (d *Database) Current(ctx context.Context, t Tables, advice string) error {
	names, err := fs.Glob(t.Files, "*.sql")
	if err != nil {
		return err
	}
	target, err := goose.NumericComponent(names[len(names)-1])
	if err != nil {
		return err
	}
	current, err := d.version(ctx, t.Versions)
	switch {
	case err != nil:
		return Ended(ctx, d.Explain(err))
	case current > target:
		return d.Newer(current, target)
	case current == 0:
		return d.Fail("it lacks the tables", advice, nil)
	case current < target:
		return d.Fail(fmt.Sprintf("its tables have version %d, but this program needs version %d", current, target), advice, nil)
	}
	return nil
}

// Newer is the error of tables that a newer program made.
func (d *Database) Newer(current, known int64) error {
	return d.Fail(fmt.Sprintf("its tables have version %d, but this program knows versions up to %d: use a newer program", current, known), "", nil)
}

// version returns the version of the tables, 0 where there are none.
func (d *Database) version(ctx context.Context, table string) (v int64, err error) {
	var there bool
	if err := d.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", table).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = d.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+table+" WHERE is_applied").Scan(&v)
	return v, err
}
