//go:build !unix

package rowfile

import "os"

// Supported is whether this system maps files.
const Supported = false

func mapBytes(*os.File, int) ([]byte, error) { return nil, ErrUnsupported }

func mapWritable(*os.File, int64, int) ([]byte, error) { return nil, ErrUnsupported }

func unmapBytes([]byte) error { return ErrUnsupported }

func createUnnamed(string) (*os.File, error) { return nil, ErrUnsupported }

func space(string) (free int64, inMemory bool, err error) { return 0, false, ErrUnsupported }
