// Package postgres keeps campaigns in a PostgreSQL database, for teams: many processes
// on many machines may work on the same campaigns.
package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/postgresdb"
)

//go:embed schema.sql
var schema string

var tables = postgresdb.Tables{Versions: "campaign_schema", Schema: schema}

// store is a database of campaigns, which implements campaign.Store.
type store struct{ pool *postgresdb.Database }

// Open connects to the database with an address such as
// postgres://user:password@host/database, and creates or migrates its tables, in the
// first schema of the search path. Tables of a newer version are an error.
func Open(ctx context.Context, address string) (campaign.Store, error) {
	pool, err := postgresdb.Connect(ctx, address, 4)
	if err != nil {
		return nil, inTerms(err)
	}
	if err := pool.Migrate(ctx, tables); err != nil {
		pool.Close()
		return nil, inTerms(err)
	}
	return &store{pool}, nil
}

// Close implements campaign.Store.
func (s *store) Close() error {
	s.pool.Close()
	return nil
}

// explain turns an error of the database into one of a store.
func (s *store) explain(err error) error {
	if errors.Is(err, campaign.ErrConflict) || errors.Is(err, campaign.ErrExists) || errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	return inTerms(s.pool.Explain(err))
}

// inTerms returns an error of the database as one of a store.
func inTerms(err error) error {
	if at := (*postgresdb.Error)(nil); errors.As(err, &at) {
		return &campaign.StoreError{Store: at.Store, Reason: at.Reason, Advice: at.Advice, Away: at.Away, Cause: err}
	}
	return err
}

// damaged reports bytes that are not those that were written.
func (s *store) damaged(format string, args ...any) error {
	return inTerms(s.pool.Fail("it is damaged: "+fmt.Sprintf(format, args...), "restore a copy", nil))
}

// write applies a change atomically.
func (s *store) write(ctx context.Context, change func(pgx.Tx) error) error {
	return s.explain(pgx.BeginFunc(ctx, s.pool, change))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(data []byte) int64 { return int64(crc32.Checksum(data, castagnoli)) }

// insertion is what a change writes.
type insertion struct {
	bodies [][]byte
	after  int64
	blobs  []campaign.Blob
}

func newInsertion(after int64, events []campaign.Event, blobs []campaign.Blob) (*insertion, error) {
	in := &insertion{after: after, blobs: blobs}
	for i, e := range events {
		if e.Seq != after+1+int64(i) {
			return nil, fmt.Errorf("event %d cannot follow event %d", e.Seq, after+int64(i))
		}
		body, err := campaign.EncodeEvent(e)
		if err != nil {
			return nil, err
		}
		in.bodies = append(in.bodies, body)
	}
	return in, nil
}

func (in *insertion) into(ctx context.Context, tx pgx.Tx, id int64) error {
	for i, body := range in.bodies {
		_, err := tx.Exec(ctx, "INSERT INTO campaign_events VALUES ($1, $2, $3, $4)", id, in.after+1+int64(i),
			string(body), sum(body))
		if err != nil {
			return err
		}
	}
	for _, b := range in.blobs {
		data := b.Data
		if data == nil {
			data = []byte{} // nil would be NULL
		}
		_, err := tx.Exec(ctx, `INSERT INTO campaign_blobs VALUES ($1, $2, $3, $4)
			ON CONFLICT (campaign, key) DO UPDATE SET data = excluded.data, crc = excluded.crc`, id, b.Key, data, sum(data))
		if err != nil {
			return err
		}
	}
	return nil
}

// Create implements campaign.Store.
func (s *store) Create(ctx context.Context, name string, log []campaign.Event, blobs []campaign.Blob) error {
	in, err := newInsertion(0, log, blobs)
	if err != nil {
		return err
	}
	return s.write(ctx, func(tx pgx.Tx) error {
		var id int64
		err := tx.QueryRow(ctx, "INSERT INTO campaigns (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id",
			name).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return campaign.ErrExists
		}
		if err != nil {
			return err
		}
		return in.into(ctx, tx, id)
	})
}

// Campaigns implements campaign.Store.
func (s *store) Campaigns(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, "SELECT name FROM campaigns")
	if err != nil {
		return nil, s.explain(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	slices.Sort(names) // the order of the database depends on its locale
	return names, s.explain(err)
}

// find returns the number of a campaign.
func (s *store) find(ctx context.Context, name string) (id int64, err error) {
	err = s.pool.QueryRow(ctx, "SELECT id FROM campaigns WHERE name = $1", name).Scan(&id)
	return id, s.explain(orNotFound(err))
}

func orNotFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return campaign.ErrNotFound
	}
	return err
}

// Append implements campaign.Store. Those who append to one campaign take turns, by the
// lock of its row.
func (s *store) Append(ctx context.Context, name string, after int64, events []campaign.Event,
	blobs []campaign.Blob) error {
	in, err := newInsertion(after, events, blobs)
	if err != nil {
		return err
	}
	return s.write(ctx, func(tx pgx.Tx) error {
		var id, last int64
		if err := tx.QueryRow(ctx, "SELECT id FROM campaigns WHERE name = $1 FOR UPDATE", name).Scan(&id); err != nil {
			return orNotFound(err)
		}
		if err := tx.QueryRow(ctx, "SELECT coalesce(max(seq), 0) FROM campaign_events WHERE campaign = $1",
			id).Scan(&last); err != nil {
			return err
		}
		if last != after {
			return campaign.ErrConflict
		}
		return in.into(ctx, tx, id)
	})
}

// Events implements campaign.Store.
func (s *store) Events(ctx context.Context, name string, after int64) ([]campaign.Event, error) {
	id, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	rows,
		err := s.pool.Query(ctx,
		"SELECT seq, body::text, crc FROM campaign_events WHERE campaign = $1 AND seq > $2 ORDER BY seq", id, after)
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	var list []campaign.Event
	var decoder campaign.EventDecoder
	for rows.Next() {
		var seq, crc int64
		var body string
		if err := rows.Scan(&seq, &body, &crc); err != nil {
			return nil, s.explain(err)
		}
		if sum([]byte(body)) != crc {
			return nil, s.damaged("the bytes of event %d have changed", seq)
		}
		e, err := decoder.Decode([]byte(body))
		if err == nil && e.Seq != seq {
			err = fmt.Errorf("event %d calls itself %d", seq, e.Seq)
		}
		if err != nil {
			return nil, s.damaged("%v", err)
		}
		list = append(list, e)
	}
	return list, s.explain(rows.Err())
}

// Blob implements campaign.Store.
func (s *store) Blob(ctx context.Context, name, key string) (data []byte, err error) {
	var crc int64
	err = s.pool.QueryRow(ctx,
		"SELECT data, crc FROM campaign_blobs JOIN campaigns ON campaign = id WHERE name = $1 AND key = $2",
		name, key).Scan(&data, &crc)
	if err != nil {
		return nil, s.explain(orNotFound(err))
	}
	if sum(data) != crc {
		return nil, s.damaged("the bytes of its part %q have changed", key)
	}
	return data, nil
}

// Blobs implements campaign.Store.
func (s *store) Blobs(ctx context.Context, name string) ([]string, error) {
	id, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, "SELECT key FROM campaign_blobs WHERE campaign = $1", id)
	if err != nil {
		return nil, s.explain(err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	slices.Sort(keys)
	return keys, s.explain(err)
}

// PutBlob implements campaign.Store.
func (s *store) PutBlob(ctx context.Context, name string, blob campaign.Blob) error {
	in, err := newInsertion(0, nil, []campaign.Blob{blob})
	if err != nil {
		return err
	}
	return s.write(ctx, func(tx pgx.Tx) error {
		var id int64
		if err := tx.QueryRow(ctx, "SELECT id FROM campaigns WHERE name = $1", name).Scan(&id); err != nil {
			return orNotFound(err)
		}
		return in.into(ctx, tx, id)
	})
}

// Lock implements campaign.Store, by an advisory lock, which ends with its connection.
// Each has a connection of its own: if those who wait used up the pool, the holder could
// not go on.
func (s *store) Lock(ctx context.Context, name, purpose string) (unlock func() error, err error) {
	id, err := s.find(ctx, name)
	if err != nil {
		return nil, postgresdb.Ended(ctx, err)
	}
	conn,
		err := s.pool.Hold(ctx,
		"SELECT pg_advisory_lock(hashtextextended(current_schema() || ' ' || $1::bigint || ' ' || $2, 0))", id, purpose)
	if err != nil {
		return nil, inTerms(err)
	}
	return func() error { return postgresdb.CloseSoon(conn) }, nil
}
