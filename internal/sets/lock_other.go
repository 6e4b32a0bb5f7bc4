//go:build !unix

package sets

import "context"

// noFollow has no effect on this system.
const noFollow = 0

// lockFolder does nothing where there is no flock.
func lockFolder(context.Context, string) (unlock func(), err error) { return func() {}, nil }
