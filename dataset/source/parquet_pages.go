package source

import (
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// checkPages looks at the headers of all pages of a part of a column. The library
// makes room for as many bytes as a header promises, before it reads them.
func checkPages(content sized, chunk *format.ColumnMetaData) error {
	start := chunk.DataPageOffset
	if dictionary := chunk.DictionaryPageOffset; dictionary != 0 {
		start = dictionary
		if _, err := checkPage(content, dictionary); err != nil {
			return err
		}
	}
	for at := chunk.DataPageOffset; at != beyond && at-start < chunk.TotalCompressedSize; {
		next, err := checkPage(content, at)
		if err != nil {
			return err
		}
		at = next
	}
	return nil
}

// beyond is the place of the next page if the library has to say why there is
// none.
const beyond = math.MaxInt64

// checkPage returns where the page after the one at the given place starts.
func checkPage(content sized, at int64) (next int64, err error) {
	left := content.Size() - at
	if at < 0 || left <= 0 {
		return beyond, nil
	}
	header, length, ok := pageHeader(content, at)
	if !ok {
		return beyond, nil
	}
	const small, mostRatio = 64 << 20, 2048 // of what compresses best
	stored, size := int64(header.CompressedPageSize), int64(header.UncompressedPageSize)
	if stored < 0 || stored > left-length || size > max(small, mostRatio*stored) {
		return 0, damaged(fmt.Errorf("a page at byte %d claims %d bytes, %d when decompressed, of %d that are left", at, stored, size, left-length))
	}
	return at + length + stored, nil
}

// pageHeader returns the header at the given place, and its length. Headers are
// short, but for those with long texts as bounds.
func pageHeader(content sized, at int64) (header format.PageHeader, length int64, ok bool) {
	for _, size := range []int64{512, 64 << 10} {
		raw := make([]byte, min(size, content.Size()-at))
		if n, _ := content.ReadAt(raw, at); n < len(raw) {
			return header, 0, false
		}
		header = format.PageHeader{}
		from := new(thrift.CompactProtocol).NewReaderFromBytes(raw)
		if err := thrift.NewDecoder(from).Decode(&header); err == nil {
			return header, int64(from.BytesRead()), true
		}
	}
	return header, 0, false
}
