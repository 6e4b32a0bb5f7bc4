package atomicfile

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// WriteIn is Write for a file in root, by its name there. No name leads out of
// the folder, whether by .., as an absolute path or through a symbolic link. If
// the name itself is a link or a pipe, it is replaced.
func WriteIn(root *os.Root, name string, write func(w io.Writer) error) error {
	mode := fs.FileMode(0o644)
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	}
	dir, base := filepath.Split(name)
	hidden := filepath.Join(dir, "."+base+"."+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
	temporary, err := root.OpenFile(hidden, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := put(temporary, mode, write, func() error { return root.Rename(hidden, name) },
		func() { _ = root.Remove(hidden) }); err != nil {
		return named(err, temporary.Name(), filepath.Join(root.Name(), name))
	}
	if folder, err := root.Open(filepath.Join(dir, ".")); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}
