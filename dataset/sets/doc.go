// Package sets has the 15 data sets of the paper's benchmark.
//
// All lists them. A Fetcher brings their raw files into a folder, Set.Prepare
// prepares them there as the paper does, and Load reads them. The hash of a raw
// file is pinned when it is first seen; a file that has changed since is an error.
package sets

import "errors"

// What can be wrong with the files of a data set beyond what package source lists,
// as the Kind of a *source.Error.
var (
	ErrChanged = errors.New("the file has changed: its hash no longer fits")
	ErrFetch   = errors.New("the file cannot be fetched")
)
