package postgres_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/postgres"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"
)

func opener(t *testing.T, address string) storetest.Opener {
	return func() campaign.Store {
		t.Helper()
		s, err := postgres.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener { return opener(t, postgrestest.Schema(t)) })
}

func TestNewerSchemaIsRefused(t *testing.T) {
	address := postgrestest.Schema(t)
	opener(t, address)()
	postgrestest.Execute(t, address, "INSERT INTO campaign_schema (version_id, is_applied) VALUES (99, true)")
	_, err := postgres.Open(t.Context(), address)
	if wrong := (*campaign.StoreError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("the error is %v", err)
	}
}

func TestDamageIsNoticed(t *testing.T) {
	for _, test := range []struct{ name, statement string }{
		{"event", "UPDATE campaign_events SET body = replace(body::text, 'ada', 'eve')::json"},
		{"number of an event", "UPDATE campaign_events SET seq = 2"},
		{"event that is not one", "UPDATE campaign_events SET body = '{}', crc = 0"},
		{"blob", "UPDATE campaign_blobs SET data = 'other'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			address := postgrestest.Schema(t)
			s := opener(t, address)()
			blob := campaign.Blob{Key: "k", Data: []byte("data")}
			if err := s.Create(t.Context(), "c", []campaign.Event{storetest.Created()}, []campaign.Blob{blob}); err != nil {
				t.Fatal(err)
			}
			postgrestest.Execute(t, address, test.statement)
			_, err := s.Events(t.Context(), "c", 0)
			if test.name == "blob" {
				_, err = s.Blob(t.Context(), "c", "k")
			}
			if wrong := (*campaign.StoreError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestAddressesThatDoNotWork(t *testing.T) {
	for _, address := range []string{"postgres://ada:secret@[", "postgres://ada:secret@/none?host=/nowhere"} {
		_, err := postgres.Open(context.Background(), address)
		if wrong := (*campaign.StoreError)(nil); !errors.As(err, &wrong) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// link passes connections on to a PostgreSQL server, and can be cut.
type link struct {
	listener net.Listener
	mu       sync.Mutex
	open     []net.Conn
}

// newLink returns a link on an address of this machine to the server of another address.
func newLink(t *testing.T, at, to string) (*link, string) {
	t.Helper()
	config, err := pgx.ParseConfig(to)
	if err != nil {
		t.Fatal(err)
	}
	network, server := pgconn.NetworkAddress(config.Host, config.Port)
	l := &link{}
	if l.listener, err = net.Listen("tcp", at); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.cut)
	go func() {
		for {
			from, err := l.listener.Accept()
			if err != nil {
				return
			}
			into, err := net.Dial(network, server)
			if err != nil {
				from.Close()
				continue
			}
			l.mu.Lock()
			l.open = append(l.open, from, into)
			l.mu.Unlock()
			go io.Copy(from, into)
			go io.Copy(into, from)
		}
	}()
	address, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	query.Del("host")
	query.Set("sslmode", "disable")
	address.Host, address.RawQuery = l.listener.Addr().String(), query.Encode()
	return l, address.String()
}

func (l *link) cut() {
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		c.Close()
	}
}

// A server that cannot be reached is away, and the store goes on when it is back.
func TestServerThatIsAway(t *testing.T) {
	schema := postgrestest.Schema(t)
	l, address := newLink(t, "127.0.0.1:0", schema)
	s := opener(t, address)()
	if err := s.Create(t.Context(), "c", []campaign.Event{storetest.Created()}, nil); err != nil {
		t.Fatal(err)
	}
	l.cut()
	for range 5 { // the first attempts find connections that were lost, the others none
		_, err := s.Events(t.Context(), "c", 0)
		if at := (*campaign.StoreError)(nil); !errors.As(err, &at) || !at.Away {
			t.Errorf("the error is %v", err)
		}
	}
	newLink(t, l.listener.Addr().String(), schema)
	if list, err := s.Events(t.Context(), "c", 0); err != nil || len(list) != 1 {
		t.Errorf("afterwards: %v %v", list, err)
	}
}

// Databases of every version that was released are brought up to date.
func TestTablesOfEarlierVersions(t *testing.T) {
	dumps, err := filepath.Glob("testdata/version*.sql")
	if err != nil || len(dumps) == 0 {
		t.Fatal(dumps, err)
	}
	for _, dump := range dumps {
		text, err := os.ReadFile(dump)
		if err != nil {
			t.Fatal(err)
		}
		address := postgrestest.Schema(t)
		postgrestest.Execute(t, address, string(text))
		storetest.Earlier(t, opener(t, address)())
	}
}
