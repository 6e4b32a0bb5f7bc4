// Package atomicfile writes files that exist either completely or not at all.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Write lets the function write the contents of a file, and moves them to the
// path only when they are complete and on disk: until then, and if anything
// fails, the path keeps its old contents. The new contents wait in a temporary
// file in the same folder, called .NAME.*.tmp, which is removed on failure; after a
// kill -9, the next Write to the path removes it. A new file takes over the permissions of
// the file that it replaces. Symbolic links are followed, even to a file that does not exist
// yet.
//
// Anything but a regular file, such as a pipe or /dev/stdout, cannot be replaced
// and is written directly.
func Write(path string, write func(w io.Writer) error) error { return WriteAs(path, 0o644, write) }

// WriteBytes is Write for contents that are in memory.
func WriteBytes(path string, contents []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(contents)
		return err
	})
}

// WriteAs is Write for a file that gets these permissions if it is new.
func WriteAs(path string, mode fs.FileMode, write func(w io.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a folder")}
	case err == nil && !info.Mode().IsRegular():
		return through(path, write)
	case err == nil:
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrNotExist):
		if path, err = behindLinks(path); err != nil {
			return err
		}
	}
	return replace(path, mode, write)
}

// behindLinks follows links that do not lead to a file, and returns the path at
// their end: the file is created there, and the links stay.
func behindLinks(path string) (string, error) {
	const limit = 40 // links in a chain, as on Linux
	for range limit {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		if _, err := os.Stat(filepath.Dir(to)); err != nil {
			return "",
				&fs.PathError{Op: "write", Path: path,
					Err: fmt.Errorf("it is a link to %s, whose folder does not exist: %w", to, err)}
		}
		path = to
	}
	return "", &fs.PathError{Op: "write", Path: path, Err: errors.New("too many links: they may form a loop")}
}

// through writes directly to what exists at the path.
func through(path string, write func(w io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = buffered(file, write)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

func replace(path string, mode fs.FileMode, write func(w io.Writer) error) error {
	dir := filepath.Dir(path)
	removeLeft(dir, "."+filepath.Base(path)+".")
	temporary, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		if at := new(fs.PathError); errors.As(err, &at) {
			at.Path = path
		}
		return err
	}
	hidden := temporary.Name()
	defer hold(hidden)()
	if err := put(temporary, mode, write, func() error { return os.Rename(hidden, path) },
		func() { _ = os.Remove(hidden) }); err != nil {
		return named(err, hidden, path)
	}
	syncDir(dir)
	return nil
}

// leftAfter is the age from which an empty file that nobody has locked was left by a process
// that is gone: a younger one may be about to be locked. What is in a file was written when it
// had been locked.
const leftAfter = time.Minute

// removeLeft removes temporary files whose names start with a prefix and that processes left
// when they were killed.
func removeLeft(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		number, found := strings.CutPrefix(entry.Name(), prefix)
		number, ours := strings.CutSuffix(number, ".tmp")
		if _, err := strconv.ParseUint(number, 10, 64); !found || !ours || err != nil {
			continue
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() &&
			(info.Size() > 0 || time.Since(info.ModTime()) > leftAfter) {
			removeUnlocked(filepath.Join(dir, entry.Name()))
		}
	}
}

func removeUnlocked(path string) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	if lock(file) == nil {
		_ = os.Remove(path)
	}
}

// put writes the temporary file and renames it, or removes it if anything fails.
func put(temporary *os.File, mode fs.FileMode, write func(w io.Writer) error,
	rename func() error, remove func()) error {
	done := false
	defer func() { // cleans up even if write panics
		if !done {
			_ = temporary.Close()
			remove()
		}
	}()
	if err := buffered(temporary, write); err != nil {
		return err
	}
	if err := temporary.Chmod(mode); err != nil {
		return err
	}
	if err := temporary.Sync(); err != nil {
		return err
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	if err := rename(); err != nil {
		return err
	}
	done = true
	return nil
}

// named makes an error of the temporary file one of the file that people know.
func named(err error, hidden, path string) error {
	if at := new(fs.PathError); errors.As(err, &at) && at.Path == hidden {
		at.Path = path
	}
	return err
}

func buffered(file io.Writer, write func(w io.Writer) error) error {
	w := bufio.NewWriterSize(file, 64<<10)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// syncDir writes the new name to disk. The contents are already there, and not
// every system can sync a folder, so its errors are ignored.
func syncDir(dir string) {
	if folder, err := os.Open(dir); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
}
