package rowfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// createWithoutName creates a file that never has a name, if the file system can do that.
func createWithoutName(folder string) (*os.File, error) {
	return os.OpenFile(folder, unix.O_TMPFILE|unix.O_RDWR, 0o600)
}
