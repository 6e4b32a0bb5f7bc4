//go:build !unix

package atomicfile

import (
	"errors"
	"os"
)

// lock fails: files that were left stay.
func lock(*os.File) error { return errors.ErrUnsupported }
