// Package postgrestest gives tests a schema of their own in a PostgreSQL server.
package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Schema returns the address of an empty schema in the PostgreSQL server that
// NEXTBATCH_POSTGRES names, which is dropped after the test. Without a server it skips the
// test, or fails it if NEXTBATCH_REQUIRE_POSTGRES is 1.
func Schema(t testing.TB) string {
	t.Helper()
	server := os.Getenv("NEXTBATCH_POSTGRES")
	if server == "" {
		if os.Getenv("NEXTBATCH_REQUIRE_POSTGRES") == "1" {
			t.Fatal("NEXTBATCH_POSTGRES names no server")
		}
		t.Skip("NEXTBATCH_POSTGRES names no PostgreSQL server; .ci/postgres starts one")
	}
	schema := "test_" + strings.ToLower(rand.Text())
	Execute(t, server, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { Execute(t, server, "DROP SCHEMA "+schema+" CASCADE") })
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	query.Set("search_path", schema)
	address.RawQuery = query.Encode()
	return address.String()
}

// Execute runs a statement.
func Execute(t testing.TB, address, statement string) {
	t.Helper()
	ctx := context.Background() // that of the test has ended when it cleans up
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(ctx, statement)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		t.Fatal(err)
	}
}

// HoldUp lets nobody write to a table until release is called, or the test ends. The table
// can be read.
func HoldUp(t testing.TB, address, table string) (release func()) {
	t.Helper()
	ctx := context.Background() // that of the test has ended when it cleans up
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(release)
	if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "LOCK TABLE "+table+" IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	return release
}
