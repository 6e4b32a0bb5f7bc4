// Package sets provides the 15 data sets of the paper's benchmark.
//
// All lists them. A Fetcher downloads their raw files into a folder,
// Set.Prepare prepares them there as the paper does, and Load reads them. The
// hash of a raw file is pinned when it is first seen; a file that has changed
// since then is an error.
package sets

import "errors"

// Faults of a data set's files beyond those that package source lists, as the
// Kind of a *source.Error.
var (
	ErrChanged = errors.New("the file has changed: its hash no longer matches")
	ErrFetch   = errors.New("the file cannot be fetched")
)
