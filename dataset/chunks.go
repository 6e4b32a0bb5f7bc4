package dataset

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/rowfile"
)

const (
	chunkBits = 13
	chunkLen  = 1 << chunkBits
	chunkMask = chunkLen - 1
)

// chunks is a sequence that grows at its end and never moves a full chunk:
// reading a column of a million rows makes neither copies nor garbage, so peak
// memory is the size of the data. Full chunks can move to a file.
type chunks[T rowfile.Plain] struct {
	full  [][]T // of chunkLen elements each
	moved int   // how many of the first ones are in a file
	tail  []T
}

func (c *chunks[T]) append(v T) {
	if len(c.tail) == chunkLen {
		c.full = append(c.full, c.tail)
		c.tail = make([]T, 0, chunkLen)
	}
	c.tail = append(c.tail, v)
}

// drop removes the last element.
func (c *chunks[T]) drop() {
	if len(c.tail) == 0 {
		c.tail = c.full[len(c.full)-1]
		c.full = c.full[:len(c.full)-1]
		c.moved = min(c.moved, len(c.full))
	}
	c.tail = c.tail[:len(c.tail)-1]
}

// moveTo moves the full chunks to a file.
func (c *chunks[T]) moveTo(file *rowfile.Store) (err error) {
	for ; c.moved < len(c.full); c.moved++ {
		if c.full[c.moved], err = moved(file, c.full[c.moved]); err != nil {
			return err
		}
	}
	return nil
}

// moved returns a piece from the file, or as it is if it finds no space there.
func moved[T rowfile.Plain](file *rowfile.Store, piece []T) ([]T, error) {
	kept, err := rowfile.Keep(file, piece)
	if err != nil {
		return piece, err
	}
	return kept, nil
}

// bytes returns the memory that the elements take, including spare capacity.
func (c *chunks[T]) bytes() int64 {
	var element T
	return int64((len(c.full)-c.moved)*chunkLen+cap(c.tail)) * int64(unsafe.Sizeof(element))
}

func (c *chunks[T]) len() int { return len(c.full)<<chunkBits + len(c.tail) }

func (c *chunks[T]) at(i int) T { return *c.ref(i) }

func (c *chunks[T]) ref(i int) *T {
	if part := i >> chunkBits; part < len(c.full) {
		return &c.full[part][i&chunkMask]
	}
	return &c.tail[i-len(c.full)<<chunkBits]
}
