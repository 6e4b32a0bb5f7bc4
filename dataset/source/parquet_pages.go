package source

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

// The library allocates as many bytes, values, columns and levels as the
// metadata of a file promises, before it reads them. The functions below first
// check that metadata for consistency, and against the size of the file.

// checkFooter checks the footer, which ends 8 bytes before the end of the file.
func checkFooter(content sized, length int64, opts Options) error {
	const perByte = 40 // upper bound on the library's memory per byte of the footer
	if err := opts.allow(perByte*length, "the footer"); err != nil {
		return err
	}
	raw := make([]byte, length)
	if n, err := content.ReadAt(raw, content.Size()-8-length); n < len(raw) {
		return damaged(err)
	}
	f := footer{compact: compact{rest: raw}}
	if err := f.structure(f.field); err != nil {
		if at := (*Error)(nil); errors.As(err, &at) {
			return at
		}
		return damaged(err)
	}
	return nil
}

// footer is the structure FileMetaData.
type footer struct {
	compact
	elements int   // of the schema
	open     []int // children that open groups of the schema still lack, from the root down
}

func (f *footer) field(id int64, kind byte) (err error) {
	const schema, groups = 2, 4
	const leastElement, leastGroup = 3, 7 // bytes
	switch id {
	case schema:
		f.elements, err = f.list(kind, leastElement, f.element)
	case groups:
		_, err = f.list(kind, leastGroup, f.group)
	default:
		err = f.skip(kind)
	}
	return err
}

// element reads a SchemaElement, a column or a group of columns.
func (f *footer) element(kind byte) error {
	const children, mostDepth = 5, 255
	if kind != thriftStruct {
		return errThrift
	}
	if f.elements++; f.elements > mostColumns {
		return tooManyColumns()
	}
	below := int64(0)
	err := f.structure(func(id int64, kind byte) (err error) {
		if id != children {
			return f.skip(kind)
		}
		below, err = f.integer(kind)
		return err
	})
	if err != nil {
		return err
	}
	if below < 0 || below > int64(len(f.rest)) {
		return fmt.Errorf("%w: a group of %d columns", errThrift, below)
	}
	for len(f.open) > 0 && f.open[len(f.open)-1] == 0 {
		f.open = f.open[:len(f.open)-1]
	}
	if n := len(f.open); n > 0 {
		f.open[n-1]--
	}
	if f.open = append(f.open, int(below)); len(f.open) > mostDepth {
		return fmt.Errorf("%w: groups in groups, %d deep", errThrift, len(f.open))
	}
	return nil
}

// group reads a RowGroup.
func (f *footer) group(kind byte) error {
	const columns, leastChunk = 1, 16
	if kind != thriftStruct {
		return errThrift
	}
	return f.structure(func(id int64, kind byte) error {
		if id != columns {
			return f.skip(kind)
		}
		n, err := f.list(kind, leastChunk, f.skipElement)
		if err == nil && n > mostColumns {
			err = tooManyColumns()
		}
		return err
	})
}

// checkPages checks the headers of all pages of a column chunk, which has one
// value per row. It calls walk before each page.
func checkPages(content sized, chunk *format.ColumnMetaData, rows int64, walk func() error) error {
	if chunk.NumValues > rows {
		return damaged(fmt.Errorf("a group of %d rows claims %d values", rows, chunk.NumValues))
	}
	start := chunk.DataPageOffset
	if dictionary := chunk.DictionaryPageOffset; dictionary != 0 {
		start = dictionary
	}
	data, values := false, int64(0)
	for at := start; at-start < chunk.TotalCompressedSize; {
		if err := walk(); err != nil {
			return err
		}
		data = data || at == chunk.DataPageOffset
		page, err := checkPage(content, at, chunk, rows)
		if err != nil {
			return err
		}
		if page.kind != dictionaryPage {
			values += page.values
		}
		if values > rows {
			return damaged(fmt.Errorf("a group of %d rows has pages with %d values", rows, values))
		}
		at = page.end
	}
	if !data && rows > 0 {
		return damaged(fmt.Errorf("no page starts at byte %d, where the first data page should", chunk.DataPageOffset))
	}
	return nil
}

const dictionaryPage = 2

// page holds what the header of a page says.
type page struct {
	kind         int64
	size, stored int64 // bytes, decompressed and stored
	values       int64
	levels       int64 // bytes of levels before the compressed ones
	begin, end   int64 // where the contents start in the file, and the next page
}

// checkPage reads the header of the page at the given position and checks it
// against the contents.
func checkPage(content sized, at int64, chunk *format.ColumnMetaData, rows int64) (page, error) {
	left := content.Size() - at
	if at < 0 || left <= 0 {
		return page{}, damaged(fmt.Errorf("a page should start at byte %d of %d", at, content.Size()))
	}
	p, err := pageHeader(content, at)
	if err != nil {
		return page{}, damaged(fmt.Errorf("the page at byte %d: %w", at, err))
	}
	const small, mostRatio = 64 << 20, 2048 // for the best compression
	if p.stored < 0 || p.stored > content.Size()-p.begin || p.size < 0 || p.size > max(small, mostRatio*p.stored) {
		return page{}, damaged(fmt.Errorf("the page at byte %d claims %d bytes, %d when decompressed, of %d that remain", at, p.stored, p.size, left))
	}
	if p.values < 0 || p.values > p.most(chunk.Type, rows) {
		return page{}, damaged(fmt.Errorf("the page at byte %d claims %d values in %d bytes, for %d rows", at, p.values, p.size, rows))
	}
	if p.levels < 0 || p.levels > p.stored {
		return page{}, damaged(fmt.Errorf("the page at byte %d claims %d bytes of levels in %d", at, p.levels, p.stored))
	}
	return p, p.checkLength(content, chunk.Codec)
}

// most returns an upper bound on the number of values of the page. A dictionary
// writes each out; other pages may have a run of one value, up to what writers
// put into one page.
func (p page) most(kind format.Type, rows int64) int64 {
	const longestRun = 1 << 24
	if p.kind != dictionaryPage {
		return min(rows, max(longestRun, 8*p.size))
	}
	switch kind {
	case format.Int64, format.Double:
		return p.size / 8
	case format.Int96:
		return p.size / 12
	case format.Boolean:
		return 8 * p.size
	case format.FixedLenByteArray:
		return p.size
	}
	return p.size / 4 // a string follows its length
}

// checkLength compares the length that compressed contents state with that of
// the header: the library trusts the former.
func (p page) checkLength(content sized, codec format.CompressionCodec) error {
	var raw [18]byte // the longest preamble
	n, _ := content.ReadAt(raw[:min(int64(len(raw)), p.stored-p.levels)], p.begin+p.levels)
	length := uint64(0)
	switch codec {
	case format.Snappy:
		length, _ = binary.Uvarint(raw[:n])
	case format.Zstd:
		length = zstdLength(raw[:n])
	}
	if length > uint64(p.size) {
		return damaged(fmt.Errorf("the page at byte %d states %d bytes when decompressed, but its contents state %d", p.begin, p.size, length))
	}
	return nil
}

// zstdLength returns the length that the header of a frame states (RFC 8878,
// section 3.1.1.1), or 0.
func zstdLength(frame []byte) uint64 {
	const magic, single = "\x28\xb5\x2f\xfd", 0x20
	var padded [24]byte
	copy(padded[:], frame)
	if string(padded[:4]) != magic {
		return 0
	}
	descriptor := padded[4]
	at := 5 + [...]int{0, 1, 2, 4}[descriptor&3] // past the id of a dictionary
	if descriptor&single == 0 {
		at++ // and the window size
	}
	field := padded[at:]
	switch descriptor >> 6 {
	case 1:
		return uint64(binary.LittleEndian.Uint16(field)) + 256
	case 2:
		return uint64(binary.LittleEndian.Uint32(field))
	case 3:
		return binary.LittleEndian.Uint64(field)
	}
	if descriptor&single != 0 {
		return uint64(field[0])
	}
	return 0
}

// pageHeader reads the header at the given position. Headers are short, except
// those with long strings as bounds.
func pageHeader(content sized, at int64) (p page, err error) {
	for _, size := range []int64{512, 64 << 10, 16 << 20} {
		raw := make([]byte, min(size, content.Size()-at))
		if n, err := content.ReadAt(raw, at); n < len(raw) {
			return page{}, err
		}
		c := compact{rest: raw}
		p = page{}
		if err = p.read(&c); err == nil {
			p.begin = at + int64(len(raw)-len(c.rest))
			p.end = p.begin + p.stored
			return p, nil
		}
	}
	return page{}, err
}

// read reads a PageHeader.
func (p *page) read(c *compact) error {
	const (
		kind, size, stored       = 1, 2, 3
		data, dictionary, data2  = 5, 7, 8 // the part of each kind of page
		values, levels1, levels2 = 1, 5, 6 // in that part; levels in that of data2
	)
	return c.structure(func(id int64, thrift byte) (err error) {
		switch id {
		case kind:
			p.kind, err = c.integer(thrift)
		case size:
			p.size, err = c.integer(thrift)
		case stored:
			p.stored, err = c.integer(thrift)
		case data, dictionary, data2:
			if thrift != thriftStruct {
				return errThrift
			}
			err = c.structure(func(field int64, thrift byte) (err error) {
				n := int64(0)
				switch {
				case field == values:
					n, err = c.integer(thrift)
					p.values = max(p.values, n)
				case id == data2 && (field == levels1 || field == levels2):
					n, err = c.integer(thrift)
					p.levels += n
				default:
					err = c.skip(thrift)
				}
				return err
			})
		default:
			err = c.skip(thrift)
		}
		return err
	})
}
