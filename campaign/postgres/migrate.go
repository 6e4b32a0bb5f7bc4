package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versionTable is where goose notes which migrations were applied.
const versionTable = "campaign_schema"

// migrate creates the tables or brings them up to the version of this program. Tables of
// a newer version are refused.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	target := provider.ListSources()[len(provider.ListSources())-1].Version
	if current, err := version(ctx, pool); err != nil || current == target {
		return err
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	// Of several processes that start at once, one migrates.
	const lock = "SELECT pg_advisory_lock(hashtextextended(current_schema() || ' migrate', 0))"
	if _, err := conn.Exec(ctx, lock); err != nil {
		return err
	}
	defer conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock_all()")
	current, err := version(ctx, pool)
	switch {
	case err != nil:
		return err
	case current > target:
		return fmt.Errorf("its tables have version %d, but this program knows versions up to %d: use a newer program", current, target)
	case current == target:
		return nil
	}
	_, err = provider.Up(ctx)
	return err
}

// version returns the version of the tables, 0 where there are none.
func version(ctx context.Context, pool *pgxpool.Pool) (v int64, err error) {
	var there bool
	if err := pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", versionTable).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = pool.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+versionTable+" WHERE is_applied").Scan(&v)
	return v, err
}
