package formats

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// The library allocates as many bytes, values, columns and levels as the metadata of a file promises, before it reads
// them. The functions below first check that metadata for consistency, and against the size of the file.

// checkFooter checks the footer, which ends 8 bytes before the end of the file.
func checkFooter(content sized, length int64, opts sheets.Options) error {
	const perByte = 40 // upper bound on the library's memory per byte of the footer
	if err := sheets.Allow(opts, perByte*length, "the footer"); err != nil {
		return err
	}
	raw := make([]byte, length)
	if n, err := content.ReadAt(raw, content.Size()-8-length); n < len(raw) {
		return damaged(err)
	}
	f := footer{compact: compact{rest: raw}}
	if err := f.structure(f.field); err != nil {
		if at := (*sheets.Error)(nil); errors.As(err, &at) {
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
	if f.elements++; f.elements > sheets.MostColumns {
		return sheets.TooManyColumns()
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
		if err == nil && n > sheets.MostColumns {
			err = sheets.TooManyColumns()
		}
		return err
	})
}

// checkPages checks the headers of all pages of a column chunk, which has one value per row, and that the options
// allow as much memory as the largest page takes beside the dictionary. It calls walk before each page.
func checkPages(content sized, chunk *format.ColumnMetaData, rows int64, opts sheets.Options, walk func() error) error {
	if chunk.NumValues > rows {
		return damaged(fmt.Errorf("a group of %d rows claims %d values", rows, chunk.NumValues))
	}
	start := chunk.DataPageOffset
	if dictionary := chunk.DictionaryPageOffset; dictionary != 0 {
		start = dictionary
	}
	data, values, dictionary := false, int64(0), int64(0)
	for at := start; at-start < chunk.TotalCompressedSize; {
		if err := walk(); err != nil {
			return err
		}
		data = data || at == chunk.DataPageOffset
		page, err := checkPage(content, at, chunk, rows)
		if err != nil {
			return err
		}
		if need := dictionary + page.memory(); need > harmlessPage {
			if err := sheets.Allow(opts, need, fmt.Sprintf("the page at byte %d", at)); err != nil {
				return err
			}
		}
		if err := page.checkLength(content, chunk.Codec); err != nil {
			return err
		}
		if page.kind == dictionaryPage {
			dictionary += page.memory()
		} else {
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

const dictionaryPage, dataPage2 = 2, 3

// page holds the fields of the header of a page.
type page struct {
	kind         int64
	size, stored int64 // bytes, decompressed and stored
	values       int64
	repetition   int64 // bytes of levels before the compressed ones
	definition   int64 // likewise
	plain        bool  // not compressed, whatever the codec
	begin, end   int64 // where the contents start in the file, and the next page
}

// memory is what the library takes for the page: its bytes as they are stored and decompressed, and its values.
func (p page) memory() int64 {
	const value = 8
	return p.stored + p.size + value*p.values
}

// harmlessPage is what a page may take whatever the options allow: writers make pages of 1 MiB.
const harmlessPage = 64 << 20

func (p page) levels() int64 { return p.repetition + p.definition }

// checkPage reads the header of the page at the given position and checks it against the size of the file.
func checkPage(content sized, at int64, chunk *format.ColumnMetaData, rows int64) (page, error) {
	left := content.Size() - at
	if at < 0 || left <= 0 {
		return page{}, damaged(fmt.Errorf("a page should start at byte %d of %d", at, content.Size()))
	}
	p, err := pageHeader(content, at)
	if err != nil {
		return page{}, damaged(fmt.Errorf("the page at byte %d: %w", at, err))
	}
	const mostRatio = 2048 // for the best compression
	if p.stored < 0 || p.stored > content.Size()-p.begin || p.size < 0 || p.size > max(harmlessPage, mostRatio*p.stored) {
		return page{}, damaged(fmt.Errorf("the page at byte %d claims %d bytes, %d when decompressed, of %d that remain", at,
			p.stored, p.size, left))
	}
	if p.values < 0 || p.values > p.most(chunk.Type, rows) {
		return page{}, damaged(fmt.Errorf("the page at byte %d claims %d values in %d bytes, for %d rows", at,
			p.values, p.size, rows))
	}
	if p.repetition < 0 || p.definition < 0 || p.levels() > p.stored {
		return page{}, damaged(fmt.Errorf("the page at byte %d claims %d and %d bytes of levels in %d", at, p.repetition,
			p.definition, p.stored))
	}
	return p, nil
}

// most returns an upper bound on the number of values of the page. A dictionary writes each out; other pages may have
// a run of one value, up to what writers put into one page.
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

// checkLength compares the length of the decompressed contents with that of the header: the library decompresses all
// there is. It decompresses only where the contents do not state their length.
func (p page) checkLength(content sized, codec format.CompressionCodec) error {
	packed := io.NewSectionReader(content, p.begin+p.levels(), p.stored-p.levels())
	if p.plain || packed.Size() == 0 {
		return nil
	}
	switch codec {
	case format.Snappy:
		return p.checkSnappy(packed)
	case format.Gzip:
		return p.checkGzip(packed)
	case format.Brotli:
		return p.checkStream(brotli.NewReader(packed))
	case format.Zstd:
		return p.checkZstd(packed)
	}
	return nil
}

func (p page) tooLong() error {
	return damaged(fmt.Errorf("the page at byte %d states %d bytes when decompressed, but its contents have more", p.begin,
		p.size))
}

func (p page) undecoded(cause error) error {
	return damaged(fmt.Errorf("the page at byte %d: %w", p.begin, cause))
}

func (p page) checkSnappy(packed *io.SectionReader) error {
	var raw [binary.MaxVarintLen64]byte
	n, _ := packed.ReadAt(raw[:], 0)
	if length, _ := binary.Uvarint(raw[:n]); length > uint64(p.size) {
		return p.tooLong()
	}
	return nil
}

// checkGzip decompresses only contents that can have a harmful length.
func (p page) checkGzip(packed *io.SectionReader) error {
	const mostRatio, harmless = 1032, 64 << 20
	if mostRatio*packed.Size() <= max(harmless, p.size) {
		return nil
	}
	r, err := gzip.NewReader(packed)
	if err != nil {
		return p.undecoded(err)
	}
	return p.checkStream(r)
}

func (p page) checkStream(r io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, p.size+1))
	if n > p.size {
		return p.tooLong()
	}
	if err != nil {
		return p.undecoded(err)
	}
	return nil
}

// checkZstd decompresses into a buffer of the stated size: a stream would take
// a buffer of the size of the window, which can be far larger.
func (p page) checkZstd(packed *io.SectionReader) error {
	var raw [zstd.HeaderMaxSize]byte
	n, _ := packed.ReadAt(raw[:], 0)
	var frame zstd.Header
	if err := frame.Decode(raw[:n]); err != nil {
		return p.undecoded(err)
	}
	if frame.HasFCS && frame.FrameContentSize > uint64(p.size) {
		return p.tooLong()
	}
	if frame.HasFCS && zstdEnd(packed, frame) == packed.Size() {
		return nil // the library holds a frame to the length that it states
	}
	return p.checkFrames(packed)
}

// zstdEnd returns where the frame ends (RFC 8878, section 3.1.1), or -1.
func zstdEnd(packed *io.SectionReader, frame zstd.Header) int64 {
	const header, runLength, checksum = 3, 1, 4 // bytes of a block's header, the kind of a run, bytes of a checksum
	at := int64(frame.HeaderSize)
	for {
		var raw [4]byte
		if n, _ := packed.ReadAt(raw[:header], at); n < header {
			return -1
		}
		block := binary.LittleEndian.Uint32(raw[:])
		last, kind, size := block&1 != 0, block>>1&3, int64(block>>3)
		if kind == runLength {
			size = 1 // the one byte that the run repeats
		}
		if at += header + size; last {
			break
		}
	}
	if frame.HasCheckSum {
		at += checksum
	}
	return at
}

func (p page) checkFrames(packed *io.SectionReader) error {
	frames := make([]byte, packed.Size())
	if n, err := packed.ReadAt(frames, 0); n < len(frames) {
		return p.undecoded(err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return err
	}
	defer d.Close()
	_, err = d.DecodeAll(frames, make([]byte, 0, p.size))
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return p.tooLong()
	}
	if err != nil {
		return p.undecoded(err)
	}
	return nil
}

// pageHeader reads the header at the given position. Headers are short, except those with long strings as bounds.
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
		kind, size, stored                           = 1, 2, 3
		data, dictionary, data2                      = 5, 7, 8    // the part of each kind of page
		values, definition, repetition, isCompressed = 1, 5, 6, 7 // in that part; all but the first in that of data2
	)
	err := c.structure(func(id int64, thrift byte) (err error) {
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
				case id == data2 && field == definition:
					p.definition, err = c.integer(thrift)
				case id == data2 && field == repetition:
					p.repetition, err = c.integer(thrift)
				case id == data2 && field == isCompressed:
					p.plain = thrift == thriftFalse
					err = c.skip(thrift)
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
	if p.kind != dataPage2 { // the library then ignores that part
		p.definition, p.repetition, p.plain = 0, 0, false
	}
	return err
}
