package rowfile

import (
	"fmt"
	"os"
	"unsafe"
)

// Store holds pieces of what is too large for memory in a temporary file, which is mapped
// into memory and grows piece by piece. Only one goroutine at a time may add to it.
type Store struct {
	folder  string
	file    *os.File // nil before the first piece
	end     int64    // of the file
	windows [][]byte // the parts of the file that are mapped
	free    []byte   // at the end of the last window
	err     error    // of the first piece that found no space
}

// NewStore returns a store whose file will be in the folder. Nobody creates the file before
// there is a piece for it.
func NewStore(folder string) *Store { return &Store{folder: folder} }

// Plain are the numbers that a piece may consist of.
type Plain interface {
	float32 | float64 | int32 | int | byte
}

// Keep moves a piece to the store and returns it from there. The caller may change it until
// the store is closed, and not use it after that. Once a piece finds no space, none does.
func Keep[T Plain](s *Store, piece []T) ([]T, error) {
	if len(piece) == 0 {
		return piece, nil
	}
	size := int(unsafe.Sizeof(piece[0]))
	raw, err := s.keep(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(piece))), len(piece)*size))
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(raw))), len(piece)), nil
}

func (s *Store) keep(piece []byte) ([]byte, error) {
	taken := roundUp(len(piece), alignment)
	if s.err == nil && len(s.free) < taken {
		s.err = s.grow(taken)
	}
	if s.err != nil {
		return nil, s.err
	}
	// Written, and not copied to the mapping: there a full disk would be a fault.
	if _, err := s.file.WriteAt(piece, s.end-int64(len(s.free))); err != nil {
		s.err = &WriteError{s.folder, err}
		return nil, s.err
	}
	kept := s.free[:len(piece)]
	s.free = s.free[taken:]
	return kept, nil
}

const (
	alignment = 8       // of pieces, so that any number may start one
	window    = 1 << 26 // bytes that are mapped at a time; the system limits the number of mappings
)

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// grow maps another part of the file, with space for a piece.
func (s *Store) grow(piece int) (err error) {
	if s.file == nil {
		if s.file, err = createUnnamed(s.folder); err != nil {
			return &FolderError{s.folder, err}
		}
	}
	size := roundUp(piece, window)
	if err := s.file.Truncate(s.end + int64(size)); err != nil {
		return &WriteError{s.folder, err}
	}
	data, err := mapWritable(s.file, s.end, size)
	if err != nil {
		return &WriteError{s.folder, fmt.Errorf("it cannot be mapped into memory: %w", err)}
	}
	remember(data, "a temporary file in "+s.folder)
	s.windows, s.free, s.end = append(s.windows, data), data, s.end+int64(size)
	return nil
}

// Mark returns a place behind all pieces so far, for CutTo. That of nil is 0.
func (s *Store) Mark() int64 {
	if s == nil {
		return 0
	}
	return s.end - int64(len(s.free))
}

// CutTo removes the pieces that were added since the mark, which must no longer be used. Their
// space is free again. That of nil does nothing.
func (s *Store) CutTo(mark int64) error {
	if s == nil || s.file == nil {
		return nil
	}
	s.err = nil // another piece may find space now
	for n := len(s.windows) - 1; n >= 0 && s.end-int64(len(s.windows[n])) >= mark; n-- {
		forget(s.windows[n])
		s.end -= int64(len(s.windows[n]))
		s.windows, s.free = s.windows[:n], nil
	}
	if n := len(s.windows) - 1; n >= 0 {
		last := s.windows[n]
		s.free = last[int64(len(last))-(s.end-mark):]
	}
	if err := s.file.Truncate(s.end); err != nil {
		return &WriteError{s.folder, err}
	}
	return nil
}

// CheckSpace returns a *SpaceError if the folder of the store has no space for the given number of bytes.
func (s *Store) CheckSpace(need int64) error { return CheckSpace(s.folder, need) }

// Close removes the file, with all pieces.
func (s *Store) Close() {
	for _, data := range s.windows {
		forget(data)
	}
	if s.file != nil {
		_ = s.file.Close()
	}
	*s = Store{folder: s.folder}
}
