package rowfile

import "golang.org/x/sys/unix"

// liesInMemory reports whether files of a file system take memory.
func liesInMemory(s *unix.Statfs_t) bool {
	switch int64(s.Type) {
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		return true
	}
	return false
}
