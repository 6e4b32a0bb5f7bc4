//go:build unix

package atomicfile

import (
	"os"
	"syscall"
)

// lock marks a file as in use until it is closed, which the system does for a process that is
// killed. It fails if another process has locked the file.
func lock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
