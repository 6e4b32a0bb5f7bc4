package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
)

// A file that cannot grow any more is full, and nothing was changed.
func TestFullDisk(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "c.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Create(t.Context(), "c", []campaign.Event{storetest.Created()}, nil); err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		var now int
		if err := s.(*store).file.DB.QueryRow(fmt.Sprint("PRAGMA max_page_count = ", pages)).Scan(&now); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // SQLite takes the pages that it has for it
	blob := campaign.Blob{Key: "k", Data: make([]byte, 1<<20)}
	err = s.PutBlob(t.Context(), "c", blob)
	if at := (*campaign.StoreError)(nil); !errors.As(err, &at) || !errors.Is(err, syscall.ENOSPC) || at.Away {
		t.Errorf("a full disk: %+v", err)
	}
	if keys, err := s.Blobs(t.Context(), "c"); err != nil || len(keys) != 0 {
		t.Errorf("afterwards there are %v, %v", keys, err)
	}
	limit(1 << 20)
	if err := s.PutBlob(t.Context(), "c", blob); err != nil {
		t.Errorf("with space again: %v", err)
	}
}
