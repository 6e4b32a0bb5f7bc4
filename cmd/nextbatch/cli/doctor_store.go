package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nextbatch/nextbatch/campaign"
	campaigns "github.com/nextbatch/nextbatch/campaign/sqlite"
	results "github.com/nextbatch/nextbatch/internal/benchmark/sqlite"
	"github.com/nextbatch/nextbatch/internal/server"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
	"github.com/nextbatch/nextbatch/internal/words"
)

// storeHealth is what doctor finds in a store.
type storeHealth struct {
	Store     string           `json:"store"`
	Kind      string           `json:"kind"`
	OK        bool             `json:"ok"`
	Problem   string           `json:"problem,omitempty"`
	Campaigns []campaignHealth `json:"campaigns,omitempty"`
}

type campaignHealth struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Events  int    `json:"events,omitempty"`
	Blobs   int    `json:"blobs,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// fileKind is a kind of file that the program keeps, an SQLite database.
type fileKind struct {
	name  string
	check func(ctx context.Context, path string) error // reads every page
}

const campaignFile = "campaign file"

var fileKinds = []fileKind{
	{campaignFile, campaigns.Check},
	{"results file", results.Check},
	{"file of tokens", server.CheckTokens},
}

// examineStore reads all of a store. The error is about one that cannot be read at all;
// damage is part of what is found.
func examineStore(ctx context.Context, address string) (storeHealth, error) {
	path := storeFile(address)
	if path == "" {
		h := storeHealth{Store: addressText(address), Kind: "campaign database", OK: true}
		store, err := openStore(ctx, address, false)
		if err != nil {
			return h, err
		}
		defer store.Close()
		return h, h.readCampaigns(ctx, store)
	}
	if info, err := os.Stat(path); err != nil {
		return storeHealth{}, dataError{err}
	} else if info.IsDir() {
		return storeHealth{}, usagef("%s is a folder; name a file", path)
	}
	for _, kind := range fileKinds {
		err := kind.check(ctx, path)
		if errors.Is(err, sqlitefile.ErrOther) {
			continue
		}
		if ctx.Err() != nil {
			return storeHealth{}, ctx.Err()
		}
		h := storeHealth{Store: path, Kind: kind.name, OK: err == nil}
		if err != nil {
			h.Problem = reasonOf(err)
		}
		if kind.name == campaignFile {
			return h, h.readFile(ctx, path)
		}
		return h, nil
	}
	return storeHealth{},
		dataError{errorf("%s is neither a campaign file, nor a results file, nor a file of tokens", path)}
}

// readFile reads the campaigns of a file, as far as its damage allows.
func (h *storeHealth) readFile(ctx context.Context, path string) error {
	store, err := campaigns.OpenReadOnly(ctx, path)
	if err != nil {
		if h.OK { // such as an empty file, which has yet to become one
			return campaignError(err)
		}
		return nil
	}
	defer store.Close()
	return h.readCampaigns(ctx, store)
}

// readCampaigns reads the logs and files of all campaigns.
func (h *storeHealth) readCampaigns(ctx context.Context, store campaign.Store) error {
	names, err := store.Campaigns(ctx)
	if err != nil {
		h.OK = false
		h.Problem = cmp.Or(h.Problem, reasonOf(err))
		return ctx.Err()
	}
	for _, name := range names {
		found := campaignHealth{Name: name}
		c, err := campaign.Open(ctx, store, name)
		if err == nil {
			var read campaign.Checked
			read, err = c.Check(ctx)
			found.Events, found.Blobs = read.Events, read.Blobs
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if found.OK = err == nil; err != nil {
			h.OK, found.Problem = false, reasonOf(err)
		}
		h.Campaigns = append(h.Campaigns, found)
	}
	return nil
}

// reasonOf returns what is wrong, without the advice that comes at the end.
func reasonOf(err error) string {
	var file *sqlitefile.Error
	var store *campaign.StoreError
	switch {
	case errors.As(err, &file):
		return file.Reason
	case errors.As(err, &store):
		return store.Reason
	}
	return err.Error()
}

// failure explains what to do about damage. The problems have been printed.
func (h storeHealth) failure() error {
	if h.OK {
		return nil
	}
	whole := 0
	for _, c := range h.Campaigns {
		if c.OK {
			whole++
		}
	}
	advice := "restore a copy (docs/deployment.md tells how)"
	if whole > 0 {
		advice += fmt.Sprintf("; before that, 'nextbatch campaign export %s ARCHIVE --campaign NAME' saves %s as it is now",
			h.Store, words.Count(whole, "campaign that is whole", "campaigns that are whole"))
	}
	return dataError{errorf("%s %s is damaged: %s", h.Kind, h.Store, advice)}
}

func printStoreHealth(out io.Writer, h storeHealth) {
	verdict := func(ok bool) string {
		if ok {
			return "ok"
		}
		return "DAMAGED"
	}
	fmt.Fprintf(out, "%-11s %s %s\n", verdict(h.OK), h.Kind, shown(h.Store))
	if h.Problem != "" {
		fmt.Fprintf(out, "%-11s %s\n", "", shown(h.Problem))
	}
	for _, c := range h.Campaigns {
		if c.OK {
			fmt.Fprintf(out, "%-11s campaign %s: %s, %s\n", verdict(true), shown(c.Name),
				words.Count(c.Events, "event", "events"), words.Count(c.Blobs, "file of rows or models",
					"files of rows and models"))
		} else {
			fmt.Fprintf(out, "%-11s campaign %s: %s\n", verdict(false), shown(c.Name), shown(c.Problem))
		}
	}
}

// longCheck is the size from which checking a file takes seconds.
const longCheck = 1 << 30

// checkServed refuses to serve a file that is damaged: requests would meet the damage one by
// one, or not at all. One that is not there yet is fine.
func checkServed(ctx context.Context, path string, check func(ctx context.Context,
	path string) error, log io.Writer) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // it is created, or opening it says what is wrong
	}
	if info.Size() >= longCheck {
		fmt.Fprintf(log, "nextbatch: checking the %s of %s\n", words.Memory(info.Size()), shown(path))
	}
	if err := check(ctx, path); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return dataError{err}
	}
	return nil
}
