// Package sqlite keeps campaigns in a file, an SQLite database. Several processes on one
// machine may work on the same file.
package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

// The file is an SQLite database that other programs may read:
//
//	campaigns  their names
//	events     the logs; body is the event as JSON
//	blobs      what events name: rows as Parquet, results as JSON; and the last network
//	locks      who is asking at the moment
//
// The column crc has the CRC-32C of the body or the data, as SQLite does not notice
// when bytes on the disk change. Times are milliseconds since 1970.
const schema = `
CREATE TABLE campaigns (
	id   INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE events (
	campaign INTEGER NOT NULL REFERENCES campaigns (id),
	seq      INTEGER NOT NULL,
	body     TEXT NOT NULL,
	crc      INTEGER NOT NULL,
	PRIMARY KEY (campaign, seq)
) STRICT;
CREATE TABLE blobs (
	campaign INTEGER NOT NULL REFERENCES campaigns (id),
	key      TEXT NOT NULL,
	data     BLOB NOT NULL,
	crc      INTEGER NOT NULL,
	PRIMARY KEY (campaign, key)
) STRICT;
CREATE TABLE locks (
	campaign INTEGER NOT NULL REFERENCES campaigns (id),
	purpose  TEXT NOT NULL,
	holder   TEXT NOT NULL,
	host     TEXT NOT NULL,
	pid      INTEGER NOT NULL,
	seen     INTEGER NOT NULL,
	PRIMARY KEY (campaign, purpose)
) STRICT;
`

var format = sqlitefile.Format{
	What: "campaign file", Schema: schema, ApplicationID: 0x4e42434d,
	Damaged: "restore a copy; 'nextbatch doctor FILE' shows which campaigns are whole, and 'nextbatch campaign export " +
		"FILE ARCHIVE --campaign NAME' saves those",
	Full: "what was written so far is safe; free some disk space and run the command again",
}

// store is a campaign file, which implements campaign.Store.
type store struct {
	file *sqlitefile.File
	host string
}

// Open opens a campaign file, and creates it if it does not exist. A file that is not a
// campaign file, or has another version, is an error and is left unchanged. Damage
// elsewhere in it is reported when it is read.
func Open(ctx context.Context, path string) (campaign.Store, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	file, err := format.Open(ctx, path, false)
	if err != nil {
		return nil, inTerms(err)
	}
	return &store{file, host}, nil
}

// OpenReadOnly opens a campaign file for reading: what would change it fails.
func OpenReadOnly(ctx context.Context, path string) (campaign.Store, error) {
	file, err := format.OpenReadOnly(ctx, path)
	if err != nil {
		return nil, inTerms(err)
	}
	return &store{file: file}, nil
}

// Check reads every page of a campaign file and rejects one that is damaged. Changed bytes
// within a page are noticed when an event or a blob is read, by its checksum.
func Check(ctx context.Context, path string) error { return inTerms(format.Check(ctx, path)) }

// inTerms returns an error of the file as one of a store.
func inTerms(err error) error {
	if at := (*sqlitefile.Error)(nil); errors.As(err, &at) {
		return &campaign.StoreError{Store: at.File, Reason: at.Reason, Advice: at.Advice, Away: at.Busy, Cause: err}
	}
	return err
}

// Close implements campaign.Store.
func (s *store) Close() error { return s.file.Close() }

func (s *store) write(ctx context.Context, change func(*sql.Tx) error) error {
	return inTerms(s.file.Write(ctx, change))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(data []byte) int64 { return int64(crc32.Checksum(data, castagnoli)) }

// encoded is an event as it is stored.
type encoded struct {
	seq  int64
	body []byte
}

func encode(events []campaign.Event) ([]encoded, error) {
	list := make([]encoded, len(events))
	for i, e := range events {
		body, err := campaign.EncodeEvent(e)
		if err != nil {
			return nil, err
		}
		list[i] = encoded{e.Seq, body}
	}
	return list, nil
}

// Create implements campaign.Store.
func (s *store) Create(ctx context.Context, name string, log []campaign.Event, blobs []campaign.Blob) error {
	list, err := encode(log)
	if err != nil {
		return err
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		var taken int
		if err := tx.QueryRow("SELECT count(*) FROM campaigns WHERE name = ?", name).Scan(&taken); err != nil {
			return err
		}
		if taken > 0 {
			return campaign.ErrExists
		}
		row, err := tx.Exec("INSERT INTO campaigns (name) VALUES (?)", name)
		if err != nil {
			return err
		}
		id, err := row.LastInsertId()
		if err != nil {
			return err
		}
		return insert(tx, id, list, blobs)
	})
}

// insert writes events and blobs.
func insert(tx *sql.Tx, id int64, list []encoded, blobs []campaign.Blob) error {
	for _, e := range list {
		if _, err := tx.Exec("INSERT INTO events VALUES (?, ?, ?, ?)", id, e.seq, string(e.body), sum(e.body)); err != nil {
			return err
		}
	}
	for _, b := range blobs {
		data := b.Data
		if data == nil {
			data = []byte{} // nil would be NULL
		}
		if _, err := tx.Exec("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?)", id, b.Key, data, sum(data)); err != nil {
			return err
		}
	}
	return nil
}

// idIn returns the number of a campaign.
func idIn(tx *sql.Tx, name string) (id int64, err error) {
	err = tx.QueryRow("SELECT id FROM campaigns WHERE name = ?", name).Scan(&id)
	return id, orNotFound(err)
}

func orNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return campaign.ErrNotFound
	}
	return err
}

// Campaigns implements campaign.Store.
func (s *store) Campaigns(ctx context.Context) (names []string, err error) {
	err = s.file.Each(ctx, "SELECT name FROM campaigns ORDER BY name", func(row *sql.Rows) error {
		var name string
		err := row.Scan(&name)
		names = append(names, name)
		return err
	})
	return names, inTerms(err)
}

// Append implements campaign.Store.
func (s *store) Append(ctx context.Context, name string, after int64, events []campaign.Event,
	blobs []campaign.Blob) error {
	list, err := encode(events)
	if err != nil {
		return err
	}
	for i, e := range list {
		if e.seq != after+1+int64(i) {
			return fmt.Errorf("event %d cannot follow event %d", e.seq, after+int64(i))
		}
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		id, err := idIn(tx, name)
		if err != nil {
			return err
		}
		var last int64
		if err := tx.QueryRow("SELECT ifnull(max(seq), 0) FROM events WHERE campaign = ?", id).Scan(&last); err != nil {
			return err
		}
		if last != after {
			return campaign.ErrConflict
		}
		return insert(tx, id, list, blobs)
	})
}

// Events implements campaign.Store.
func (s *store) Events(ctx context.Context, name string, after int64) ([]campaign.Event, error) {
	// One query, as a service asks before it answers anything: a campaign without such events
	// has one row of nulls.
	const query = "SELECT ifnull(seq, 0), body, ifnull(crc, 0) FROM campaigns LEFT JOIN events ON campaign = id AND seq " +
		"> ? WHERE name = ? ORDER BY seq"
	found := false
	var list []encoded
	err := s.file.Each(ctx, query, func(row *sql.Rows) error {
		var seq, crc int64
		var body sql.RawBytes
		if err := row.Scan(&seq, &body, &crc); err != nil {
			return err
		}
		if found = true; seq == 0 {
			return nil
		}
		if sum(body) != crc {
			return fmt.Errorf("the bytes of event %d have changed", seq)
		}
		list = append(list, encoded{seq, bytes.Clone(body)})
		return nil
	}, after, name)
	if err == nil && !found {
		err = campaign.ErrNotFound
	}
	if err != nil {
		return nil, inTerms(err)
	}
	events, err := decode(list)
	if err != nil {
		return nil, inTerms(s.file.Damaged(err))
	}
	return events, nil
}

// A goroutine decodes at least this many events.
const shortest = 512

// decode decodes a log, on all processors if it is long: that takes most of the time of opening a campaign.
func decode(log []encoded) ([]campaign.Event, error) {
	if len(log) == 0 {
		return nil, nil
	}
	list := make([]campaign.Event, len(log))
	failed := make([]error, min(runtime.GOMAXPROCS(0), len(log)/shortest+1))
	var wait sync.WaitGroup
	for part := range failed {
		from, to := part*len(log)/len(failed), (part+1)*len(log)/len(failed)
		wait.Go(func() { failed[part] = decodePart(list[from:to], log[from:to]) })
	}
	wait.Wait()
	for _, err := range failed { // the first one of the log
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func decodePart(list []campaign.Event, log []encoded) (err error) {
	var decoder campaign.EventDecoder
	for i, e := range log {
		if list[i], err = decoder.Decode(e.body); err != nil {
			return err
		}
		if list[i].Seq != e.seq {
			return fmt.Errorf("event %d calls itself %d", e.seq, list[i].Seq)
		}
	}
	return nil
}

func (s *store) id(ctx context.Context, name string) (id int64, err error) {
	err = s.file.Row(ctx, "SELECT id FROM campaigns WHERE name = ?", []any{&id}, name)
	return id, inTerms(orNotFound(err))
}

// Blob implements campaign.Store.
func (s *store) Blob(ctx context.Context, name, key string) (data []byte, err error) {
	var crc int64
	err = s.file.Row(ctx, "SELECT data, crc FROM blobs JOIN campaigns ON campaign = id WHERE name = ? AND key = ?",
		[]any{&data, &crc}, name, key)
	if err != nil {
		return nil, inTerms(orNotFound(err))
	}
	if sum(data) != crc {
		return nil, inTerms(s.file.Fail(fmt.Sprintf("it is damaged: the bytes of its part %q have changed", key), nil))
	}
	return data, nil
}

// Blobs implements campaign.Store.
func (s *store) Blobs(ctx context.Context, name string) (keys []string, err error) {
	id, err := s.id(ctx, name)
	if err != nil {
		return nil, err
	}
	err = s.file.Each(ctx, "SELECT key FROM blobs WHERE campaign = ? ORDER BY key", func(row *sql.Rows) error {
		var key string
		err := row.Scan(&key)
		keys = append(keys, strings.Clone(key))
		return err
	}, id)
	return keys, inTerms(err)
}

// PutBlob implements campaign.Store.
func (s *store) PutBlob(ctx context.Context, name string, blob campaign.Blob) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		id, err := idIn(tx, name)
		if err != nil {
			return err
		}
		return insert(tx, id, nil, []campaign.Blob{blob})
	})
}
