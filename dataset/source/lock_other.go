//go:build !unix

package source

import "context"

// lockFolder does nothing where there is no flock.
func lockFolder(context.Context, string) (unlock func(), err error) { return func() {}, nil }
