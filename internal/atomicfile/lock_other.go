//go:build !unix

package atomicfile

import (
	"errors"
	"os"
)

// hold does nothing: an open file could not be renamed.
func hold(string) (release func()) { return func() {} }

// lock fails: files that were left stay.
func lock(*os.File) error { return errors.ErrUnsupported }
