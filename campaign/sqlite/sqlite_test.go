package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/sqlite"
	"github.com/nextbatch/nextbatch/campaign/storetest"
)

// opener returns an opener of stores in one file.
func opener(t *testing.T, path string) storetest.Opener {
	return func() campaign.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener { return opener(t, filepath.Join(t.TempDir(), "c.db")) })
}

// filled returns a file with a campaign that has an event and a blob.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	blob := campaign.Blob{Key: "k", Data: bytes.Repeat([]byte("a blob of some length, "), 1000)}
	if err := errors.Join(s.Create(t.Context(), "c", []campaign.Event{storetest.Created()}, []campaign.Blob{blob}),
		s.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func change(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	for _, test := range []struct{ name, statement, want string }{
		{"newer schema", "PRAGMA user_version = 2", "version 2"},
		{"another program", "PRAGMA application_id = 7", "another program"},
		{"trigger", "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM blobs; END", "not part of a campaign file"},
		{"missing table", "DROP TABLE locks", "a table is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filled(t)
			change(t, path, test.statement)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = sqlite.Open(t.Context(), path)
			if wrong := (*campaign.StoreError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want one with %q", err, test.want)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file has changed, %v", err)
			}
		})
	}
	t.Run("text", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "c.db")
		if err := os.WriteFile(path, []byte("name,y\na,1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlite.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not a campaign file") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestDamageIsNoticed(t *testing.T) {
	for _, test := range []struct{ name, statement string }{
		{"event", "UPDATE events SET body = replace(body, 'ada', 'eve')"},
		{"number of an event", "UPDATE events SET seq = 2"},
		{"event that is not JSON", "UPDATE events SET body = '{', crc = 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filled(t)
			change(t, path, test.statement)
			_, err := opener(t, path)().Events(t.Context(), "c", 0)
			if wrong := (*campaign.StoreError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("the error is %v", err)
			}
		})
	}
	t.Run("blob", func(t *testing.T) {
		path := filled(t)
		change(t, path, "UPDATE blobs SET data = CAST(replace(CAST(data AS TEXT), 'some', 'sume') AS BLOB)")
		_, err := opener(t, path)().Blob(t.Context(), "c", "k")
		if wrong := (*campaign.StoreError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("bytes of the file", func(t *testing.T) {
		path := filled(t)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.LastIndex(raw, []byte("a blob of some length"))
		raw[at] ^= 1
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := opener(t, path)().Blob(t.Context(), "c", "k"); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestLockOfADeadProcess takes a lock whose holder no longer exists.
func TestLockOfADeadProcess(t *testing.T) {
	path := filled(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	change(t, path, "INSERT INTO locks SELECT id, 'ask', 'dead', '"+host+"', 4194305, 9e15 FROM campaigns")
	change(t, path, "INSERT INTO locks SELECT id, 'silent', 'elsewhere', 'another host', 1, 0 FROM campaigns")
	for _, purpose := range []string{"ask", "silent"} {
		unlock, err := opener(t, path)().Lock(t.Context(), "c", purpose)
		if err != nil {
			t.Fatal(err)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
	}
}

// Files of every version that was released can be read and worked on.
func TestFilesOfEarlierVersions(t *testing.T) {
	dumps, err := filepath.Glob("testdata/version*.sql")
	if err != nil || len(dumps) == 0 {
		t.Fatal(dumps, err)
	}
	for _, dump := range dumps {
		text, err := os.ReadFile(dump)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "c.db")
		change(t, path, string(text))
		storetest.Earlier(t, opener(t, path)())
	}
}

// TestLongLogIsDecodedInOrder reads a log that several goroutines decode, and one of its damaged events.
func TestLongLogIsDecodedInOrder(t *testing.T) {
	path := filled(t)
	store := opener(t, path)()
	first, err := store.Events(t.Context(), "c", 0)
	if err != nil {
		t.Fatal(err)
	}
	var more []campaign.Event
	for i := range 2000 {
		e := first[len(first)-1]
		e.Seq = int64(len(first) + i + 1)
		more = append(more, e)
	}
	if err := store.Append(t.Context(), "c", int64(len(first)), more, nil); err != nil {
		t.Fatal(err)
	}
	list, err := store.Events(t.Context(), "c", 0)
	if err != nil || len(list) != len(first)+len(more) {
		t.Fatal(len(list), err)
	}
	for i, e := range list {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d calls itself %d", i+1, e.Seq)
		}
	}
	change(t, path, fmt.Sprintf("UPDATE events SET seq = seq + 7 WHERE seq = %d", len(list)))
	if _, err := store.Events(t.Context(), "c", 0); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("event %d calls itself %d", len(list)+7, len(list))) {
		t.Errorf("the error is %v", err)
	}
}
