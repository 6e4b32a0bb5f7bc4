package rowfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
)

// SpaceError reports a folder without enough space for a temporary file.
type SpaceError struct {
	Folder     string
	Need, Free int64 // bytes
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s has %s of disk space left, but a temporary file needs %s, %s more",
		e.Folder, gigabytes(e.Free), gigabytes(e.Need), gigabytes(e.Need-e.Free))
}

// Is makes it the same error as that of a disk that is full.
func (e *SpaceError) Is(target error) bool { return target == syscall.ENOSPC }

// WriteError reports a temporary file that could not be written, such as on a disk that has
// become full since its space was checked.
type WriteError struct {
	Folder string
	Cause  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("a temporary file in %s: %v", e.Folder, e.Cause)
}
func (e *WriteError) Unwrap() error { return e.Cause }

// FolderError reports a folder in which temporary files cannot be created.
type FolderError struct {
	Folder string
	Cause  error
}

func (e *FolderError) Error() string {
	return fmt.Sprintf("%s cannot hold temporary files: %v", e.Folder, e.Cause)
}
func (e *FolderError) Unwrap() error { return e.Cause }

// IsOfFolder reports whether an error is that of a folder of temporary files: another may do.
func IsOfFolder(err error) bool {
	return errors.As(err, new(*WriteError)) || errors.As(err, new(*SpaceError)) || errors.As(err, new(*FolderError))
}

func gigabytes(n int64) string {
	switch {
	case n < 5e4:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// Folder is where temporary files go unless the user names another: TMPDIR or, unless
// that lies on disk, another folder that does.
func Folder() string {
	for _, folder := range []string{os.Getenv("TMPDIR"), "/var/tmp"} {
		if folder == "" {
			continue
		}
		if _, inMemory, err := space(folder); err == nil && !inMemory {
			return folder
		}
	}
	return os.TempDir()
}

// InMemory reports whether the files of a folder are in memory.
func InMemory(folder string) bool {
	_, inMemory, err := space(folder)
	return err == nil && inMemory
}

// CheckSpace returns a *SpaceError if a folder has no space for a file of the given number of bytes.
func CheckSpace(folder string, need int64) error {
	free, _, err := space(folder)
	switch {
	case errors.Is(err, ErrUnsupported):
		return err
	case err != nil:
		return &FolderError{folder, err}
	case need > free:
		return &SpaceError{folder, need, free}
	}
	return nil
}

// Temporary is a matrix that is being written to a temporary file.
type Temporary[T matrix.Float] struct {
	folder        string
	rows, cols, n int // n rows have been written
	file          *os.File
}

// Create starts a temporary file of rows x cols numbers in a folder, which must have the
// space for it.
func Create[T matrix.Float](folder string, rows, cols int) (*Temporary[T], error) {
	if err := CheckSpace(folder, Bytes[T](rows, cols)); err != nil {
		return nil, err
	}
	file, err := createUnnamed(folder)
	if err != nil {
		return nil, &FolderError{folder, err}
	}
	return &Temporary[T]{folder: folder, rows: rows, cols: cols, file: file}, nil
}

// Compute computes a matrix into a temporary file in the folder, block by block of at most the given
// rows. The context is checked once per block. The caller closes the matrix.
func Compute[T matrix.Float](ctx context.Context, folder string, rows, cols, most int,
	compute func(dst matrix.Dense[T], from, to int) error) (*Mapping[T], error) {
	file, err := Create[T](folder, rows, cols)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	block := matrix.New[T](min(most, rows), cols) // without gaps, which would be written
	for from := 0; from < rows; from += most {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		to := min(from+most, rows)
		dst := block.Slice(0, to-from)
		if err := compute(dst, from, to); err != nil {
			return nil, err
		}
		if err := file.Write(dst); err != nil {
			return nil, err
		}
	}
	return file.Map()
}

// Write adds rows.
func (t *Temporary[T]) Write(rows matrix.Dense[T]) error {
	matrix.MustMatch("rowfile.Write", rows.Shape(), matrix.Shape{Rows: rows.Rows, Cols: t.cols})
	t.n += rows.Rows
	if rows.Stride == rows.Cols {
		return t.write(rows.Data[:rows.Rows*rows.Cols])
	}
	for i := range rows.Rows {
		if err := t.write(rows.Row(i)); err != nil {
			return err
		}
	}
	return nil
}

func (t *Temporary[T]) write(numbers []T) error {
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), Bytes[T](1, len(numbers)))
	if _, err := t.file.Write(raw); err != nil {
		return &WriteError{t.folder, err}
	}
	return nil
}

// Map returns the matrix, once all rows have been written. The file is gone when the
// mapping is closed.
func (t *Temporary[T]) Map() (*Mapping[T], error) {
	if t.n != t.rows {
		return nil, fmt.Errorf("a temporary file in %s has %d rows instead of %d", t.folder, t.n, t.rows)
	}
	return mapFile[T](t.file, "a temporary file in "+t.folder, 0, t.rows, t.cols)
}

// Close closes the file; its mapping stays.
func (t *Temporary[T]) Close() { _ = t.file.Close() }
