//go:build unix

package atomicfile

import (
	"os"
	"syscall"
)

// hold marks a file as in use until the caller lets it go, or is killed, if the file system has
// locks.
func hold(path string) (release func()) {
	file, err := os.Open(path)
	if err != nil {
		return func() {}
	}
	_ = lock(file)
	return func() { _ = file.Close() }
}

// lock marks a file as in use until it is closed, which the system does for a process that is
// killed. It fails if another process has locked the file.
func lock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
