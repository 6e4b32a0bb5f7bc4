package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/benchmark/postgres"
	"github.com/nextbatch/nextbatch/internal/benchmark/sqlite"
)

// Results of benchmarks are in a file, or in a database that many machines share.

// isDatabase reports whether an address names a PostgreSQL database.
func isDatabase(address string) bool { return campaignStores[0].takes(address) }

// checkResults rejects addresses of databases of other kinds, which are not paths either.
func checkResults(address string) error {
	if scheme, _, isURL := strings.Cut(address, "://"); isURL && !isDatabase(address) {
		return usagef("there is no kind of results %q: name a file, which is an SQLite database, or postgres://…", scheme+
			"://")
	}
	return nil
}

// openWork opens results for work; a file that does not exist is created.
func openWork(ctx context.Context, address string) (benchmark.Store, error) {
	if err := checkResults(address); err != nil {
		return nil, err
	}
	if isDatabase(address) {
		store, err := postgres.Open(ctx, address)
		if err != nil {
			return nil, dataError{err}
		}
		return store, nil
	}
	store, err := sqlite.Open(ctx, address)
	if err != nil {
		return nil, dataError{err}
	}
	return store, nil
}

// openResults opens results for reading.
func openResults(ctx context.Context, address string) (benchmark.Reader, error) {
	if err := checkResults(address); err != nil {
		return nil, err
	}
	if isDatabase(address) {
		return postgres.OpenReadOnly(ctx, address)
	}
	store, err := sqlite.OpenReadOnly(ctx, address)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist; nextbatch bench run creates it", address)
	}
	return store, err
}
