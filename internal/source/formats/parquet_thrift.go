package formats

import (
	"encoding/binary"
	"errors"
)

// compact reads Thrift's compact protocol, the encoding of a Parquet file's metadata. Unlike the library's reader it
// allocates no memory: it checks every length against the remaining bytes and limits the nesting of structures, so
// that the library can then safely read what has passed.
type compact struct {
	rest  []byte
	depth int
}

// errThrift is also returned where the bytes end too early.
var errThrift = errors.New("its metadata is damaged")

// Types of the protocol, as fields and lists name them.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

const mostNesting = 32 // far deeper than Parquet's metadata

func (c *compact) drop(n uint64) error {
	if n > uint64(len(c.rest)) {
		return errThrift
	}
	c.rest = c.rest[n:]
	return nil
}

func (c *compact) byte() (byte, error) {
	if len(c.rest) == 0 {
		return 0, errThrift
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b, nil
}

func (c *compact) varint() (uint64, error) {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		return 0, errThrift
	}
	c.rest = c.rest[n:]
	return v, nil
}

// integer reads a field of type i16, i32 or i64, which are zigzag varints.
func (c *compact) integer(kind byte) (int64, error) {
	if kind != thriftI16 && kind != thriftI32 && kind != thriftI64 {
		return 0, errThrift
	}
	v, err := c.varint()
	return int64(v>>1) ^ -int64(v&1), err
}

// structure calls the function for each field; the function reads the value.
func (c *compact) structure(field func(id int64, kind byte) error) error {
	if c.depth++; c.depth > mostNesting {
		return errThrift
	}
	defer func() { c.depth-- }()
	id := int64(0)
	for {
		head, err := c.byte()
		if err != nil || head == 0 {
			return err
		}
		if delta := int64(head >> 4); delta > 0 {
			id += delta
		} else if id, err = c.integer(thriftI16); err != nil {
			return err
		}
		if err := field(id, head&15); err != nil {
			return err
		}
	}
}

// list reads the head of a list whose elements take at least the given number
// of bytes, and calls the function for each. The function reads the element.
func (c *compact) list(kind byte, least int, element func(kind byte) error) (n int, err error) {
	if kind != thriftList && kind != thriftSet {
		return 0, errThrift
	}
	head, err := c.byte()
	if err != nil {
		return 0, err
	}
	size := uint64(head >> 4)
	if size == 15 {
		if size, err = c.varint(); err != nil {
			return 0, err
		}
	}
	if size > uint64(len(c.rest)/least) {
		return 0, errThrift
	}
	if c.depth++; c.depth > mostNesting {
		return 0, errThrift
	}
	defer func() { c.depth-- }()
	for range size {
		if err := element(head & 15); err != nil {
			return 0, err
		}
	}
	return int(size), nil
}

// skip skips the value of a field.
func (c *compact) skip(kind byte) error {
	switch kind {
	case thriftTrue, thriftFalse:
		return nil
	case thriftByte:
		return c.drop(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := c.varint()
		return err
	case thriftDouble:
		return c.drop(8)
	case thriftUUID:
		return c.drop(16)
	case thriftBinary:
		n, err := c.varint()
		if err != nil {
			return err
		}
		return c.drop(n)
	case thriftList, thriftSet:
		_, err := c.list(kind, 1, c.skipElement)
		return err
	case thriftMap:
		return c.skipMap()
	case thriftStruct:
		return c.structure(func(_ int64, kind byte) error { return c.skip(kind) })
	}
	return errThrift
}

// skipElement skips an element of a list or map, where a boolean is one byte and a structure has at least one field:
// a list of them so takes at most a small multiple of its bytes in memory.
func (c *compact) skipElement(kind byte) error {
	switch kind {
	case thriftTrue, thriftFalse:
		return c.drop(1)
	case thriftStruct:
		if len(c.rest) > 0 && c.rest[0] == 0 {
			return errThrift
		}
	}
	return c.skip(kind)
}

func (c *compact) skipMap() error {
	size, err := c.varint()
	if err != nil || size == 0 {
		return err
	}
	kinds, err := c.byte()
	if err != nil || size > uint64(len(c.rest)) {
		return errThrift
	}
	for range size {
		if err := errors.Join(c.skipElement(kinds>>4), c.skipElement(kinds&15)); err != nil {
			return err
		}
	}
	return nil
}
