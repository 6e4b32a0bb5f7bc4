package cli

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/postgres"
	"github.com/nextbatch/nextbatch/campaign/sqlite"
)

// campaignStore is a kind of store.
type campaignStore struct {
	schemes []string // that its addresses begin with; none for paths
	open    func(ctx context.Context, address string) (campaign.Store, error)
}

// campaignStores lists the kinds of stores. Paths come last, as any text is one.
var campaignStores = []campaignStore{
	{[]string{"postgres://", "postgresql://"}, func(ctx context.Context, address string) (campaign.Store, error) {
		return postgres.Open(ctx, address)
	}},
	{nil, func(ctx context.Context, path string) (campaign.Store, error) { return sqlite.Open(ctx, path) }},
}

func (k campaignStore) takes(address string) bool {
	for _, scheme := range k.schemes {
		if strings.HasPrefix(address, scheme) {
			return true
		}
	}
	return k.schemes == nil
}

// openStore opens the store at an address: a path, or the URL of a database. With
// create, a file that does not exist is created.
func openStore(ctx context.Context, address string, create bool) (campaign.Store, error) {
	for _, kind := range campaignStores {
		if !kind.takes(address) {
			continue
		}
		if err := checkStorePath(kind, address, create); err != nil {
			return nil, err
		}
		store, err := kind.open(ctx, address)
		if err != nil {
			return nil, campaignError(err)
		}
		return store, nil
	}
	return nil, usagef("%s is not the address of a store", addressText(address))
}

// storeFile returns the path of a store in a file, and nothing for one in a database.
func storeFile(address string) string {
	for _, kind := range campaignStores {
		if kind.takes(address) && kind.schemes != nil {
			return ""
		}
	}
	return address
}

// checkStorePath rejects files that do not exist or cannot be stores.
func checkStorePath(kind campaignStore, path string, create bool) error {
	if kind.schemes != nil {
		return nil
	}
	if scheme, _, isURL := strings.Cut(path, "://"); isURL {
		return usagef("there is no kind of store %q: name a file, which is an SQLite database, or postgres://…", scheme+"://")
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !create:
		return dataError{errorf("%s does not exist; 'nextbatch campaign new %s TABLE --target y' creates it", path, path)}
	case err == nil && info.IsDir():
		return usagef("%s is a folder; name a file", path)
	}
	return nil
}

// newStore is a store that is opened when a campaign is created in it, so that a
// refused table leaves no empty file behind.
type newStore struct {
	campaign.Store
	address string
}

func (s *newStore) Create(ctx context.Context, name string, log []campaign.Event, blobs []campaign.Blob) (err error) {
	if s.Store, err = openStore(ctx, s.address, true); err != nil {
		return err
	}
	return s.Store.Create(ctx, name, log, blobs)
}

func (s *newStore) Close() error {
	if s.Store == nil {
		return nil
	}
	return s.Store.Close()
}

// addressText is an address without its password, which may be a parameter, too.
func addressText(address string) string {
	scheme, _, isURL := strings.Cut(address, "://")
	if !isURL {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return scheme + "://…"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return scheme + "://…"
	}
	for _, name := range []string{"password", "sslpassword"} {
		if query.Has(name) {
			query.Set(name, "xxxxx") // as Redacted writes
			u.RawQuery = query.Encode()
		}
	}
	return u.Redacted()
}
