package campaign_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/fitted"
)

// busy returns a campaign with events of most kinds, a network and two blocks of rows.
func busy(t *testing.T, store campaign.Store) *campaign.Campaign {
	t.Helper()
	now := newClock()
	c, err := campaign.New(t.Context(), store, "busy", campaign.Start{
		Table: pool(0, 30), IDColumn: "name", Targets: []string{"y"},
		Settings: campaign.Settings{Choices: fitted.Choices{Network: tiny()}}, By: ada, Clock: now.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	first := ids(ask(t, c, campaign.Ask{Rows: 6}))
	tell(t, c, first[0], 0.3, first[1], -5e-324, first[2], 1e15, first[2], 1.5)
	_, failed := c.Fail(t.Context(), ada, first[3:4], "broke", false)
	_, added := c.Add(t.Context(), ada, pool(30, 5))
	_, undone := c.Undo(t.Context(), ada, state(t, c).Seq, "a mistake")
	if err := errors.Join(failed, added, undone); err != nil {
		t.Fatal(err)
	}
	ask(t, c, campaign.Ask{Rows: 4})
	return c
}

func export(t *testing.T, c *campaign.Campaign) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := c.Export(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func importInto(t *testing.T, store campaign.Store, name string, file []byte) (*campaign.Campaign, error) {
	t.Helper()
	return campaign.Import(t.Context(), store, name, bytes.NewReader(file), int64(len(file)))
}

// TestArchivesMoveCampaigns exports from each store and imports into the next: the
// archives have the same bytes, and the campaign goes on in the same way.
func TestArchivesMoveCampaigns(t *testing.T) {
	original := busy(t, &storetest.Memory{})
	want := export(t, original)
	file := want
	moved := original
	for _, kind := range []string{"sqlite", "postgres", "sqlite", "memory"} {
		t.Run(kind, func(t *testing.T) {
			store := openStore(t, kind)
			c, err := importInto(t, store, "", file)
			if err != nil {
				t.Fatal(err)
			}
			if file = export(t, c); !bytes.Equal(file, want) {
				t.Error("the archive has other bytes")
			}
			if _, err := importInto(t, store, "", file); !errors.Is(err, campaign.ErrExists) {
				t.Errorf("importing twice: %v", err)
			}
			if other, err := importInto(t, store, "another", file); err != nil || other.Name() != "another" {
				t.Errorf("under another name: %v", err)
			}
			if kind == "memory" {
				moved = c
			}
		})
	}
	next := newClock()
	original.Clock, moved.Clock = next.Now, next.Now
	if a, b := ask(t, original, campaign.Ask{Rows: 4}), ask(t, moved, campaign.Ask{Rows: 4}); !b.Kept ||
		strings.Join(ids(a), " ") != strings.Join(ids(b), " ") {
		t.Errorf("the next batch is %v, with a kept network: %v; elsewhere %v", ids(b), b.Kept, ids(a))
	}
}

// rezip returns an archive with its files changed.
func rezip(t *testing.T, file []byte, change func(name string, data []byte) (string, []byte)) []byte {
	t.Helper()
	old, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range old.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name, data := change(f.Name, data)
		if name == "" {
			continue
		}
		one, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := one.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestBadArchivesAreRefused(t *testing.T) {
	good := export(t, busy(t, &storetest.Memory{}))
	in := func(file string, do func([]byte) []byte) []byte {
		return rezip(t, good, func(name string, data []byte) (string, []byte) {
			if strings.HasPrefix(name, file) {
				data = do(data)
			}
			return name, data
		})
	}
	without := func(file string) []byte {
		return rezip(t, good, func(name string, data []byte) (string, []byte) {
			if strings.HasPrefix(name, file) {
				return "", nil
			}
			return name, data
		})
	}
	replace := func(old, with string) func([]byte) []byte {
		return func(data []byte) []byte { return bytes.Replace(data, []byte(old), []byte(with), 1) }
	}
	for name, file := range map[string][]byte{
		"nothing":           nil,
		"text":              []byte("name,y\na,1\n"),
		"cut":               good[:len(good)/2],
		"no manifest":       without("campaign.json"),
		"no log":            without("events.jsonl"),
		"no rows":           without("rows/"),
		"no results":        without("asks/"),
		"another format":    in("campaign.json", replace("nextbatch campaign", "something else")),
		"newer version":     in("campaign.json", replace(`"version": 1`, `"version": 2`)),
		"manifest not JSON": in("campaign.json", replace("{", "[")),
		"changed label":     in("events.jsonl", replace(`"values":[0.3]`, `"values":[0.4]`)),
		"shorter log": in("events.jsonl",
			func(data []byte) []byte { return data[:bytes.LastIndexByte(data[:len(data)-1], '\n')+1] }),
		"longer file":  in("blobs/", func(data []byte) []byte { return append(data, 0) }),
		"changed rows": in("rows/", replace("PAR1", "RAP1")),
		"file that nobody named": rezip(t, good, func(name string, data []byte) (string, []byte) {
			if name == "campaign.json" {
				return name, bytes.Replace(data, []byte(`"file": "blobs/model"`), []byte(`"file": "blobs/other"`), 1)
			}
			return name, data
		}),
	} {
		store := &storetest.Memory{}
		_, err := importInto(t, store, "", file)
		if wrong := (*campaign.ArchiveError)(nil); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
		if names, err := store.Campaigns(t.Context()); err != nil || len(names) > 0 {
			t.Errorf("%s: the store has %v, %v", name, names, err)
		}
	}
}

// TestArchivesWithLabelsOutOfRange are of campaigns that took a label which no network can be
// trained with. They can be read and corrected, but not imported.
func TestArchivesWithLabelsOutOfRange(t *testing.T) {
	store := &storetest.Memory{}
	c := busy(t, store)
	s := state(t, c)
	labelled := s.With(campaign.StatusLabelled)[0]
	told := campaign.Event{Seq: s.Seq + 1, Time: s.Now,
		Told: &campaign.Told{Labels: []campaign.Label{{RowRef: labelled, Values: []fitted.Float{1e300}}}}}
	if err := store.Append(t.Context(), "busy", s.Seq, []campaign.Event{told}, nil); err != nil {
		t.Fatal(err)
	}
	_, err := importInto(t, &storetest.Memory{}, "", export(t, c))
	if err == nil || !strings.Contains(err.Error(), labelled.ID) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("imported a label of 1e300: %v", err)
	}
	if _, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: entries(labelled.ID, 3.0)}); err != nil {
		t.Fatal(err)
	}
	if _, err := importInto(t, &storetest.Memory{}, "", export(t, c)); err != nil {
		t.Errorf("the label is corrected: %v", err)
	}
}

// losing is a store that has lost a blob.
type losing struct {
	campaign.Store
	lost string
}

func (f *losing) Blobs(ctx context.Context, name string) ([]string, error) {
	keys, err := f.Store.Blobs(ctx, name)
	return slices.DeleteFunc(keys, func(key string) bool { return key == f.lost }), err
}

func (f *losing) Blob(ctx context.Context, name, key string) ([]byte, error) {
	if key == f.lost {
		return nil, campaign.ErrNotFound
	}
	return f.Store.Blob(ctx, name, key)
}

// TestCheck: all that a campaign needs is there, or it says what is missing.
func TestCheck(t *testing.T) {
	store := &losing{Store: &storetest.Memory{}}
	c := busy(t, store)
	read, err := c.Check(t.Context())
	if err != nil || read.Events != int(state(t, c).Seq) || read.Blobs < 4 {
		t.Fatalf("%+v, %v", read, err)
	}
	keys, err := store.Blobs(t.Context(), "busy")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if !strings.HasPrefix(key, "rows-") && !strings.HasPrefix(key, "ask-") {
			continue // a network can be trained again
		}
		store.lost = key
		if _, err := c.Check(t.Context()); !errors.Is(err, campaign.ErrNotFound) || !strings.Contains(err.Error(), key) {
			t.Errorf("without %s: %v", key, err)
		}
	}
	if store.lost == "" {
		t.Error("no blob was lost")
	}
}
