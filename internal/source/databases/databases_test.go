package databases

import (
	"database/sql"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/postgresdb"
	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

// file makes an SQLite file with a table.
func file(t *testing.T, statements string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lab.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

const runs = `CREATE TABLE runs (id INTEGER PRIMARY KEY, name TEXT, code TEXT, temp REAL, ok BOOLEAN, day DATE,
	big BIGINT, empty REAL, y NUMERIC);
INSERT INTO runs VALUES (1, 'a', '007', 21.5, true, '2026-03-01', 9007199254740993, NULL, 4.5),
	(2, 'ö', '12', NULL, false, '2026-03-02', 2, NULL, NULL), (3, NULL, 'x', -1e-3, NULL, NULL, NULL, NULL, 7);`

// check compares the rows of runs.
func check(t *testing.T, address string) {
	t.Helper()
	table, err := Read(t.Context(), address, sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"id": "1 2 3", "name": "a ö ", "code": "007 12 x", "temp": "21.5  -0.001", "ok": "1 0 ",
		"day": "2026-03-01 2026-03-02 ", "big": "9007199254740993 2 ", "empty": "  ", "y": "4.5  7"}
	if table.Rows() != 3 || len(table.Columns()) != len(want) {
		t.Fatalf("%d rows of %q", table.Rows(), table.Names())
	}
	for _, c := range table.Columns() {
		var cells []string
		for row := range 3 {
			text := c.Format(row)
			if c.Missing(row) {
				text = ""
			}
			cells = append(cells, text)
		}
		if got := strings.Join(cells, " "); got != want[c.Name()] {
			t.Errorf("%s is %q, not %q", c.Name(), got, want[c.Name()])
		}
		isNumeric := slices.Contains([]string{"id", "temp", "ok", "empty", "y"}, c.Name())
		if isNumeric != (c.Kind() == dataset.KindNumeric) {
			t.Errorf("%s is %v", c.Name(), c.Kind())
		}
	}
}

// TestSQLite: the types are those of the values, options hold as for other tables, and the file is not written to.
func TestSQLite(t *testing.T) {
	t.Parallel()
	path := file(t, runs+"CREATE TABLE raw (a REAL, b BLOB); INSERT INTO raw VALUES (1, x'0102'), (2, NULL);")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "sqlite:"+path+"?table=runs")
	check(t, "sqlite:"+path+"?query=SELECT * FROM runs WHERE id < 10 -- 5 % of them")
	kinds := sheets.Options{Ignore: []string{"day", "big"}, Kinds: map[string]dataset.Kind{"id": dataset.KindText}}
	table, err := Read(t.Context(), "sqlite:"+path+"?table=runs", kinds)
	if err != nil || table.Has("day") || table.Columns()[0].Kind() != dataset.KindText {
		t.Errorf("%v, %v", table.Names(), err)
	}
	if table, err = Read(t.Context(), "sqlite:"+path+"?table=raw", sheets.Options{Ignore: []string{"b"}}); err != nil ||
		table.Rows() != 2 {
		t.Error(err)
	}
	if _, err = Read(t.Context(), "sqlite:"+path+"?table=raw", sheets.Options{}); err == nil ||
		!strings.Contains(err.Error(), `column "b" holds bytes`) {
		t.Error(err)
	}
	for _, statement := range []string{"DELETE FROM runs", "CREATE TABLE other (a)", "DROP TABLE runs"} {
		var wrong *sqlitefile.Error
		if _, err := Read(t.Context(), "sqlite:"+path+"?query="+statement, sheets.Options{}); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !slices.Equal(before, after) {
		t.Errorf("the file has changed: %v", err)
	}
}

// TestWrongAddresses: what is wrong is said, and what is not a database is no error of SQLite.
func TestWrongAddresses(t *testing.T) {
	t.Parallel()
	path := file(t, runs)
	other := filepath.Join(t.TempDir(), "other.db")
	if err := os.WriteFile(other, []byte("id,y\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"sqlite:" + path:                   "end the address in ?table=NAME",
		"sqlite:" + path + "?table=":       "nothing stands after the =",
		"sqlite:" + path + "?table=trials": "no such table: trials",
		"sqlite:" + path + "?query=SELEC":  "syntax error",
		"sqlite:" + other + "?table=runs":  "it is not a database of SQLite",
	} {
		if _, err := Read(t.Context(), address, sheets.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := Read(t.Context(), "sqlite:"+path+".none?table=a", sheets.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(path + ".none"); err == nil {
		t.Error("a file was created")
	}
}

// TestNamesHaveNoPassword: what messages call an address.
func TestNamesHaveNoPassword(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"postgres://ada:secret@host/lab?table=runs":        "postgres://ada:xxxxx@host/lab?table=runs",
		"postgres://host/lab?password=secret&query=SELECT": "postgres://host/lab?password=xxxxx&query=SELECT",
		"postgres://ada:sec ret%@ho st/lab?table=runs":     "the PostgreSQL database",
		"sqlite:lab.db?table=runs":                         "sqlite:lab.db?table=runs",
	} {
		if got := Name(address); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	_, err := Read(t.Context(), "postgres://ada:secret@127.0.0.1:1/lab?table=runs", sheets.Options{})
	var wrong *postgresdb.Error
	if !errors.As(err, &wrong) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// TestPostgreSQL: as TestSQLite, with the types of a server.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	server := postgrestest.Schema(t)
	postgrestest.Execute(t, server, runs)
	postgrestest.Execute(t, server, `CREATE TABLE kinds AS SELECT 'x  '::char(5) AS padded, 'NaN'::float8 AS none,
		1.25::numeric AS price, '2026-03-01 10:00:00'::timestamp AS at, ARRAY[1, 2] AS list, '\x01'::bytea AS raw,
		3::smallint AS few`)
	check(t, server+"&table=runs")
	check(t, server+"&query=SELECT * FROM runs ORDER BY id")
	table, err := Read(t.Context(), server+"&table=kinds", sheets.Options{Ignore: []string{"raw"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"padded": "x", "price": "1.25", "at": "2026-03-01 10:00:00", "list": "{1,2}",
		"few": "3"} {
		if c, err := table.Column(name); err != nil || c.Format(0) != want {
			t.Errorf("%s: %v, %q", name, err, c.Format(0))
		}
	}
	if none, err := table.Numeric("none"); err != nil || !math.IsNaN(none.Float(0)) {
		t.Error(err)
	}
	for statement, want := range map[string]string{"DELETE FROM runs": "read-only",
		"SELECT 1; DROP TABLE runs": "multiple", "SELECT * FROM none": `"none" does not exist`} {
		var wrong *postgresdb.Error
		if _, err := Read(t.Context(), server+"&query="+statement, sheets.Options{}); !errors.As(err, &wrong) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", statement, err)
		}
	}
	check(t, server+"&table=runs")
}
