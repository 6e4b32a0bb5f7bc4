package cli

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestTablesOfDatabases: commands read tables from databases, and tell labels from them, and messages have no password.
func TestTablesOfDatabases(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "lab.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	statements := "CREATE TABLE runs (id TEXT, a REAL, solvent TEXT, y REAL);"
	for i := range 30 {
		y := "NULL"
		if i < 8 {
			y = fmt.Sprint(i * i % 5)
		}
		statements += fmt.Sprintf("INSERT INTO runs VALUES ('r%d', %d.5, '%s', %s);", i, i*7%11,
			[]string{"DMF", "THF"}[i%2], y)
	}
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	runs := "sqlite:" + path + "?table=runs"

	out, log := must(t, exitOK, "select", runs, "--target", "y", "--id", "id", "-n", "3", "--learner", "gp", "--json")
	if !strings.Contains(out, `"labelled":8,"pool":22,`) {
		t.Errorf("%s, %s", out, log)
	}
	store := filepath.Join(folder, "c.db")
	_, log = must(t, exitOK, "campaign", "new", store, runs, "--target", "y", "--id", "id", "--learner", "gp")
	if !strings.Contains(log, `campaign "runs" in `) || !strings.Contains(log, "30 rows, 8 of them labelled") {
		t.Error(log)
	}
	if _, err := db.Exec("UPDATE runs SET y = 3.5 WHERE id = 'r20'"); err != nil {
		t.Fatal(err)
	}
	_, log = must(t, exitOK, "campaign", "tell", store, "sqlite:"+path+"?query=SELECT id, y FROM runs WHERE y IS NOT NULL")
	if !strings.Contains(log, "1 label told") || !strings.Contains(log, "8 were known") {
		t.Error(log)
	}
	_, log = must(t, exitUsage, "select", "sqlite:"+path, "--target", "y", "-n", "3")
	if !strings.Contains(log, "end the address in ?table=NAME or ?query=SELECT") {
		t.Error(log)
	}
	_, log = must(t, exitUsage, "select", runs, "--target", "y", "-n", "3", "--checkpoint", filepath.Join(folder, "point"))
	if !strings.Contains(log, "as a database may") {
		t.Error(log)
	}
	_, log = must(t, exitData, "select", "postgres://ada:secret@127.0.0.1:1/lab?table=runs", "--target", "y", "-n", "3")
	if !strings.Contains(log, "cannot be reached") || strings.Contains(log, "secret") {
		t.Error(log)
	}
}
