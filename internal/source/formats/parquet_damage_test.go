package formats

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// withPage returns a file with one column of 300 strings, with a changed header
// on its first page, a dictionary. Everything else fits the longer header.
func withPage(t *testing.T, change func(*format.PageHeader)) []byte {
	t.Helper()
	type row struct {
		Word string `parquet:"word,dict"`
	}
	rows := make([]row, 300)
	for i := range rows {
		rows[i].Word = strings.Repeat("w", i%7)
	}
	whole := parquetFile(t, rows, parquet.Compression(&parquet.Snappy))
	return withContents(t, whole, func(h *format.PageHeader, contents []byte) []byte {
		change(h)
		return contents
	})
}

// withContents returns the file of one column chunk with a changed header and
// changed contents of its first page. Everything else fits the new sizes.
func withContents(t *testing.T, whole []byte, change func(*format.PageHeader, []byte) []byte) []byte {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	meta := *file.Metadata()
	chunk := &meta.RowGroups[0].Columns[0].MetaData
	at := chunk.DataPageOffset
	if chunk.DictionaryPageOffset != 0 {
		at = chunk.DictionaryPageOffset
	}
	var header format.PageHeader
	from := new(thrift.CompactProtocol).NewReaderFromBytes(whole[at:])
	if err := thrift.NewDecoder(from).Decode(&header); err != nil {
		t.Fatal(err)
	}
	begin := at + int64(from.BytesRead())
	end := begin + int64(header.CompressedPageSize)
	rest := whole[end : at+chunk.TotalCompressedSize]
	contents := change(&header, whole[begin:end])
	changed := append(marshal(t, &header), contents...)
	longer := int64(len(changed)) - (end - at)
	if chunk.DataPageOffset != at {
		chunk.DataPageOffset += longer
	}
	chunk.TotalCompressedSize += longer
	return withFooter(append(append(whole[:at:at], changed...), rest...), marshal(t, &meta))
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func withFooter(start, footer []byte) []byte {
	file := append(bytes.Clone(start), footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
}

// TestParquetPromises has small files that promise much: they are refused
// before the library allocates memory.
func TestParquetPromises(t *testing.T) {
	if _, err := ReadParquet(t.Context(), bytes.NewReader(withPage(t, func(*format.PageHeader) {})),
		sheets.Options{}); err != nil {
		t.Fatalf("unchanged: %v", err)
	}
	footer := func(raw ...byte) []byte { return withFooter([]byte("PAR1"), raw) }
	long := []byte{0xff, 0xff, 0xff, 0xff, 0x07} // 2^31-1
	for name, file := range map[string][]byte{
		"dictionary values": withPage(t, func(h *format.PageHeader) { h.DictionaryPageHeader.V.NumValues = 1 << 30 }),
		"dictionary size":   withPage(t, func(h *format.PageHeader) { h.UncompressedPageSize = 1 << 30 }),
		"snappy length":     withPage(t, func(h *format.PageHeader) { h.UncompressedPageSize = 1 }),
		"text":              footer(append([]byte{0x68}, long...)...), // created_by
		// a list of structures
		"schema":     footer(append([]byte{0x29, 0xfc}, long...)...),
		"row groups": footer(append([]byte{0x49, 0xfc}, long...)...),                                 //
		"children":   footer(append([]byte{0x29, 0x1c, 0x55}, append(long, 0x00, 0x00)...)...),       // of the root
		"columns":    footer(append([]byte{0x49, 0x1c, 0x19, 0xfc}, append(long, 0x00, 0x00)...)...), // of a row group
		// key_value_metadata
		"empty structures": footer(append([]byte{0x59, 0xfc, 0xff, 0x7f}, make([]byte, 1<<14)...)...),
		"nesting":          footer(bytes.Repeat([]byte{0x1c}, 1<<20)...),
		"nested groups": footer(append([]byte{0x29, 0xfc, 0x80, 0x08},
			bytes.Repeat([]byte{0x55, 0x02, 0x00}, 1<<10)...)...),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadParquet(t.Context(), bytes.NewReader(file), sheets.Options{})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, sheets.ErrRead) {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 20<<20 {
			t.Errorf("%s: %d MiB were allocated", name, took>>20)
		}
	}
}

// zstdStream compresses to a frame that does not state its length.
func zstdStream(t *testing.T, write func(io.Writer)) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	write(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// TestParquetExpands has pages that decompress to far more than their headers
// state: they are refused before the library decompresses them.
func TestParquetExpands(t *testing.T) {
	zeros := func(w io.Writer) {
		block := make([]byte, 1<<20)
		for range 128 {
			if _, err := w.Write(block); err != nil {
				t.Fatal(err)
			}
		}
	}
	var gzipped, brotlied bytes.Buffer
	for _, w := range []io.WriteCloser{gzip.NewWriter(&gzipped), brotli.NewWriterLevel(&brotlied, 1)} {
		zeros(w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	zstdZeros := zstdStream(t, zeros)
	stated, err := parquet.Zstd.Encode(nil, make([]byte, 100))
	if err != nil {
		t.Fatal(err)
	}
	const levels = 10 // bytes that a page without levels must not skip
	for name, c := range map[string]struct {
		codec    compress.Codec
		contents []byte
		change   func(*format.PageHeader)
	}{
		"gzip":              {codec: &parquet.Gzip, contents: gzipped.Bytes()},
		"brotli":            {codec: &parquet.Brotli, contents: brotlied.Bytes()},
		"zstd":              {codec: &parquet.Zstd, contents: zstdZeros},
		"zstd second frame": {codec: &parquet.Zstd, contents: slices.Concat(stated, zstdZeros)},
		"levels of another kind of page": {codec: &parquet.Brotli, contents: brotlied.Bytes(),
			change: func(h *format.PageHeader) {
				h.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{DefinitionLevelsByteLength: levels,
					IsCompressed: thrift.New(false)})
			}},
	} {
		whole := parquetFile(t, []struct {
			Word string `parquet:"word,dict"`
		}{{"a"}, {"b"}}, parquet.Compression(c.codec))
		file := withContents(t, whole, func(h *format.PageHeader, _ []byte) []byte {
			h.CompressedPageSize, h.UncompressedPageSize = int32(len(c.contents)), 1000
			h.CRC = 0
			if c.change != nil {
				c.change(h)
			}
			return c.contents
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadParquet(t.Context(), bytes.NewReader(file), sheets.Options{})
		runtime.ReadMemStats(&after)
		if at := (*sheets.Error)(nil); !errors.As(err, &at) || at.Kind != sheets.ErrRead || at.Name != "word" ||
			!strings.Contains(err.Error(), "1000 bytes") {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 20<<20 {
			t.Errorf("%s: %d MiB were allocated", name, took>>20)
		}
	}
}

// TestParquetHonestPages reads pages that no preamble vouches for.
func TestParquetHonestPages(t *testing.T) {
	type row struct {
		X *float64 `parquet:"x,optional"`
	}
	random := rand.New(rand.NewPCG(1, 2))
	rows := make([]row, 20000)
	for i := range rows {
		if x := random.Float64(); x > 0.1 {
			rows[i].X = &x
		}
	}
	// would state 2^35-1 bytes if it started contents compressed with Snappy
	misleading := math.Float64frombits(0x3fe0007fffffffff)
	rows[0].X = &misleading
	read := func(name string, file []byte) {
		t.Helper()
		table, err := ReadParquet(t.Context(), bytes.NewReader(file), sheets.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x := table.Columns()[0].(*dataset.Numeric)
		for i, r := range rows {
			if got := x.Float(i); r.X == nil != math.IsNaN(got) || r.X != nil && *r.X != got {
				t.Fatalf("%s: row %d: %v", name, i, got)
			}
		}
	}
	for _, version := range []int{1, 2} {
		for _, codec := range []compress.Codec{&parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd} {
			name := fmt.Sprintf("%s v%d", codec, version)
			whole := parquetFile(t, rows, parquet.Compression(codec), parquet.DataPageVersion(version))
			read(name, whole)
			read(name+", second form", withContents(t, whole, func(h *format.PageHeader, contents []byte) []byte {
				levels := int32(0)
				if version == 2 {
					levels = h.DataPageHeaderV2.V.DefinitionLevelsByteLength
				}
				plain, err := codec.Decode(nil, contents[levels:])
				if err != nil {
					t.Fatal(err)
				}
				body := contents[levels:]
				switch {
				case codec == &parquet.Zstd:
					stream := func(part []byte) []byte {
						return zstdStream(t, func(w io.Writer) { _, _ = w.Write(part) })
					}
					body = slices.Concat(stream(plain[:5000]), stream(plain[5000:]))
				case version == 2:
					body = plain
					h.DataPageHeaderV2.V.IsCompressed = thrift.New(false)
				}
				h.CRC = 0
				h.CompressedPageSize = levels + int32(len(body))
				return slices.Concat(contents[:levels], body)
			}))
		}
	}
}

// TestParquetPagesFitIntoMemory has a page of zeros, honestly stated, that takes more than is
// allowed once it is decompressed: a megabyte may stand for gigabytes.
func TestParquetPagesFitIntoMemory(t *testing.T) {
	type row struct {
		Word string `parquet:"word,dict"`
	}
	const size = 256 << 20
	packed := zstdStream(t, func(w io.Writer) {
		block := make([]byte, 1<<20)
		for range size >> 20 {
			if _, err := w.Write(block); err != nil {
				t.Fatal(err)
			}
		}
	})
	file := withContents(t, parquetFile(t, []row{{"a"}, {"b"}}, parquet.Compression(&parquet.Zstd)),
		func(h *format.PageHeader, _ []byte) []byte {
			h.UncompressedPageSize, h.CompressedPageSize = size, int32(len(packed)+size/2048)
			return append(packed, make([]byte, size/2048)...) // as many bytes as the best compression leaves
		})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadParquet(t.Context(), bytes.NewReader(file), sheets.Options{MaxMemory: 100 << 20})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, sheets.ErrMemory) || !strings.Contains(err.Error(), "the page at byte 4 takes 256.") {
		t.Error(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 20<<20 {
		t.Errorf("%d MiB were allocated", took>>20)
	}
}
