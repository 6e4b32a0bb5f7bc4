//go:build unix

package server

import "golang.org/x/sys/unix"

// freeSpace returns the bytes that are free on the disk of a folder, and whether they are
// known.
func freeSpace(folder string) (int64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
