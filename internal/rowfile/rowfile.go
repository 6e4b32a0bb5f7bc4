// Package rowfile holds matrices that live in files instead of in memory. A file is mapped
// read-only, so that its numbers look like any other matrix, and the system reads them
// when they are used and drops them when memory is short.
//
// A temporary file is written row by row and then mapped; that of a Store, which holds pieces
// of any kind of numbers, grows while it is in use. It has no name from the moment it exists, so
// it is gone when the process ends, however that happens.
//
// A mapped file that becomes shorter, or whose disk fails, raises a fault where it is
// read. Guard turns that into an error.
package rowfile

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
)

// ErrUnsupported is the error on systems where this package maps no files.
var ErrUnsupported = errors.New("rows in files need Linux, macOS or a BSD")

// Mapping is a matrix in a file. Nobody may write to Rows, nor use them after Close.
type Mapping[T matrix.Float] struct {
	Rows matrix.Dense[T]
	data []byte
}

// Open maps rows x cols numbers of a file, in the byte order of this machine, from an
// offset on. The offset must be a multiple of the size of a number.
func Open[T matrix.Float](path string, offset int64, rows, cols int) (*Mapping[T], error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the mapping stays
	return mapFile[T](file, path, offset, rows, cols)
}

func mapFile[T matrix.Float](file *os.File, name string, offset int64, rows, cols int) (*Mapping[T], error) {
	end := offset + Bytes[T](rows, cols)
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < end {
		return nil, fmt.Errorf("%s has %d bytes, but %d x %d numbers end at byte %d; check that the file is complete", name,
			info.Size(), rows, cols, end)
	}
	data, err := mapBytes(file, int(end))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be mapped into memory: %w", name, err)
	}
	start := (*T)(unsafe.Pointer(&data[offset]))
	remember(data, name)
	return &Mapping[T]{Rows: matrix.View(rows, cols, unsafe.Slice(start, rows*cols)), data: data}, nil
}

// Close takes the matrix out of memory. That of nil does nothing.
func (m *Mapping[T]) Close() {
	if m == nil || m.data == nil {
		return
	}
	forget(m.data)
	m.data, m.Rows = nil, matrix.Dense[T]{}
}

// Bytes is the size of a matrix.
func Bytes[T matrix.Float](rows, cols int) int64 {
	var number T
	return int64(rows) * int64(cols) * int64(unsafe.Sizeof(number))
}

// mapped are the files that are mapped now, by their addresses, for Guard.
var mapped = struct {
	sync.Mutex
	files map[*byte]mappedFile
}{files: map[*byte]mappedFile{}}

type mappedFile struct {
	name string
	size int
}

// remember records which file is mapped somewhere.
func remember(data []byte, name string) {
	mapped.Lock()
	defer mapped.Unlock()
	mapped.files[unsafe.SliceData(data)] = mappedFile{name, len(data)}
}

// forget unmaps a mapping.
func forget(data []byte) {
	mapped.Lock()
	delete(mapped.files, unsafe.SliceData(data))
	mapped.Unlock()
	_ = unmapBytes(data) // fails only for addresses that are not a mapping
}

// mappedAt returns the file that is mapped at an address.
func mappedAt(address uintptr) (name string, found bool) {
	mapped.Lock()
	defer mapped.Unlock()
	for start, file := range mapped.files {
		if at := uintptr(unsafe.Pointer(start)); address >= at && address-at < uintptr(file.size) {
			return file.name, true
		}
	}
	return "", false
}
