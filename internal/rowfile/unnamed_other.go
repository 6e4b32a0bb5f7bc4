//go:build unix && !linux

package rowfile

import (
	"errors"
	"os"
)

func createWithoutName(string) (*os.File, error) { return nil, errors.ErrUnsupported }
