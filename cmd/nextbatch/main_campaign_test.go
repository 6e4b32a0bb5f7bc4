package main

import (
	"bytes"
	"database/sql"
	"net/url"
	"os"
	"testing"

	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestPostgresScripts runs the commands of campaigns on a PostgreSQL server.
func TestPostgresScripts(t *testing.T) {
	run(t, "postgres", map[string]string{"STORE": postgrestest.Schema(t)})
}

// TestPostgresBackup copies a PostgreSQL database and restores it.
func TestPostgresBackup(t *testing.T) {
	store := postgrestest.Schema(t)
	address, err := url.Parse(store)
	if err != nil {
		t.Fatal(err)
	}
	run(t, "postgres_backup", map[string]string{"STORE": store, "SERVER": os.Getenv("NEXTBATCH_POSTGRES"),
		"SCHEMA": address.Query().Get("search_path")})
}

// damage changes a letter of an event in a campaign file.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 1)
	path := ts.MkAbs(args[0])
	raw, err := os.ReadFile(path)
	ts.Check(err)
	at := bytes.Index(raw, []byte(`"created":{"identity"`))
	if at < 0 {
		ts.Fatalf("no event in %s", path)
	}
	raw[at+len(`"created":{"identity":"`)] ^= 1
	ts.Check(os.WriteFile(path, raw, 0o644))
}

// scribble overwrites pages in the middle of a database, as a failing disk does.
func scribble(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 1)
	path := ts.MkAbs(args[0])
	raw, err := os.ReadFile(path)
	ts.Check(err)
	const page, pages = 4096, 2
	middle := raw[len(raw)/2/page*page:]
	copy(middle, bytes.Repeat([]byte{0xa5}, min(len(middle), pages*page)))
	ts.Check(os.WriteFile(path, raw, 0o644))
}

// newer marks a campaign file as one that a later version has written.
func newer(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 1)
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec("PRAGMA user_version = 99")
	ts.Check(err)
	ts.Check(db.Close())
}
