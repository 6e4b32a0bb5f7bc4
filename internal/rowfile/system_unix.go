//go:build unix

package rowfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// Supported is whether this system maps files.
const Supported = true

func mapBytes(file *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
}

// mapWritable maps a part of a file so that it can be changed.
func mapWritable(file *os.File, offset int64, size int) ([]byte, error) {
	return unix.Mmap(int(file.Fd()), offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func unmapBytes(data []byte) error { return unix.Munmap(data) }

// createUnnamed creates a file without a name, or removes its name at once where the system
// knows no other way: the file itself lives until it is closed, which the system does for a
// process that is killed.
func createUnnamed(folder string) (*os.File, error) {
	if file, err := createWithoutName(folder); err == nil {
		return file, nil
	}
	file, err := os.CreateTemp(folder, ".nextbatch-*.tmp")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// space returns the bytes that are free on the disk of a folder, and whether that disk is
// in memory.
func space(folder string) (free int64, inMemory bool, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, false, err
	}
	return int64(s.Bavail) * int64(s.Bsize), liesInMemory(&s), nil
}
