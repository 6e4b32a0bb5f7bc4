package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
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
	file, err := parquet.OpenFile(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	meta := *file.Metadata()
	chunk := &meta.RowGroups[0].Columns[0].MetaData
	at := chunk.DictionaryPageOffset
	var header format.PageHeader
	from := new(thrift.CompactProtocol).NewReaderFromBytes(whole[at:])
	if err := thrift.NewDecoder(from).Decode(&header); err != nil {
		t.Fatal(err)
	}
	rest := whole[int(at)+int(from.BytesRead()) : chunk.DictionaryPageOffset+chunk.TotalCompressedSize]
	change(&header)
	changed := marshal(t, &header)
	longer := int64(len(changed)) - int64(from.BytesRead())
	chunk.DataPageOffset += longer
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
	if _, err := ReadParquet(t.Context(), bytes.NewReader(withPage(t, func(*format.PageHeader) {})), Options{}); err != nil {
		t.Fatalf("unchanged: %v", err)
	}
	footer := func(raw ...byte) []byte { return withFooter([]byte("PAR1"), raw) }
	long := []byte{0xff, 0xff, 0xff, 0xff, 0x07} // 2^31-1
	for name, file := range map[string][]byte{
		"dictionary values": withPage(t, func(h *format.PageHeader) { h.DictionaryPageHeader.V.NumValues = 1 << 30 }),
		"dictionary size":   withPage(t, func(h *format.PageHeader) { h.UncompressedPageSize = 1 << 30 }),
		"snappy length":     withPage(t, func(h *format.PageHeader) { h.UncompressedPageSize = 1 }),
		"text":              footer(append([]byte{0x68}, long...)...),                                       // created_by
		"schema":            footer(append([]byte{0x29, 0xfc}, long...)...),                                 // a list of structures
		"row groups":        footer(append([]byte{0x49, 0xfc}, long...)...),                                 //
		"children":          footer(append([]byte{0x29, 0x1c, 0x55}, append(long, 0x00, 0x00)...)...),       // of the root
		"columns":           footer(append([]byte{0x49, 0x1c, 0x19, 0xfc}, append(long, 0x00, 0x00)...)...), // of a row group
		"empty structures":  footer(append([]byte{0x59, 0xfc, 0xff, 0x7f}, make([]byte, 1<<14)...)...),      // key_value_metadata
		"nesting":           footer(bytes.Repeat([]byte{0x1c}, 1<<20)...),
		"nested groups":     footer(append([]byte{0x29, 0xfc, 0x80, 0x08}, bytes.Repeat([]byte{0x55, 0x02, 0x00}, 1<<10)...)...),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadParquet(t.Context(), bytes.NewReader(file), Options{})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrRead) {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 20<<20 {
			t.Errorf("%s: %d MiB were allocated", name, took>>20)
		}
	}
}
