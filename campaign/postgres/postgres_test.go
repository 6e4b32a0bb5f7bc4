package postgres_test

import (
	"context"
	"errors"
	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/postgres"
	"github.com/nextbatch/nextbatch/campaign/storetest"
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
