package formats

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/lz4"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// sample has a field of each supported type.
type sample struct {
	Flag    bool
	Small   int32
	Large   int64
	Natural uint64
	Single  float32
	Double  *float64
	Name    *string `parquet:",dict"`
	Raw     []byte
	Day     int32    `parquet:",date"`
	At      int64    `parquet:",timestamp(microsecond)"`
	Clock   int64    `parquet:",time(nanosecond)"`
	Price   int64    `parquet:",decimal(2:18)"`
	Wide    [9]byte  `parquet:",decimal(3:20)"`
	Key     [16]byte `parquet:",uuid"`
}

func parquetFile[T any](t testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := parquet.Write(&file, rows, options...); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func samples() []sample {
	number, name := 0.5, "ü"
	day := time.Date(2024, 2, 29, 12, 30, 1, 500000, time.UTC)
	return []sample{
		{true, -7, 1 << 40, 9, 1.5, &number, &name, []byte("a"), int32(day.Unix() / 86400),
			day.UnixMicro(), int64(time.Hour), -5,
			[9]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, [16]byte{1, 15: 255}},
		{Raw: []byte("b")},
	}
}

const samplesShown = `Flag numeric [1] [0]
Small numeric [-7] [0]
Large numeric [1.099511627776e+12] [0]
Natural numeric [9] [0]
Single numeric [1.5] [0]
Double numeric [0.5] []
Name categorical [ü] []
Raw categorical [a] [b]
Day text [2024-02-29] [1970-01-01]
At text [2024-02-29T12:30:01.0005Z] [1970-01-01T00:00:00Z]
Clock text [01:00:00] [00:00:00]
Price numeric [-0.05] [0]
Wide numeric [-0.002] [0]
Key categorical [01000000-0000-0000-0000-0000000000ff] [00000000-0000-0000-0000-000000000000]
`

func TestReadParquet(t *testing.T) {
	for name, codec := range map[string]parquet.WriterOption{
		"plain": parquet.Compression(&parquet.Uncompressed), "snappy": parquet.Compression(&parquet.Snappy),
		"gzip": parquet.Compression(&parquet.Gzip), "zstd": parquet.Compression(&parquet.Zstd),
		"brotli": parquet.Compression(&parquet.Brotli),
	} {
		file := parquetFile(t, samples(), codec, parquet.MaxRowsPerRowGroup(1))
		read, err := ReadParquet(t.Context(), bytes.NewReader(file), sheets.Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		if got := show(read); got != samplesShown {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	all := samples()
	all[1].Large = 1<<53 + 1
	path := writeFile(t, t.TempDir(), "t.parquet.gz", compressed(t, string(parquetFile(t, all))))
	read, err := ReadFile(t.Context(), path, sheets.Options{
		Kinds: map[string]dataset.Kind{"Large": dataset.KindText, "Small": dataset.KindCategorical, "Name": dataset.KindText,
			"Flag": dataset.KindCategorical, "Single": dataset.KindText, "Double": dataset.KindText},
		Ignore: []string{"Natural", "Day", "At", "Clock", "Price", "Wide", "Key", "Raw"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(read), `Flag categorical [true] [false]
Small categorical [-7] [0]
Large text [1099511627776] [9007199254740993]
Single text [1.5] [0]
Double text [0.5] []
Name text [ü] []
`; got != want {
		t.Error(got)
	}
}

func TestReadParquetRefuses(t *testing.T) {
	whole := parquetFile(t, samples())
	large := samples()
	large[1].Large = -1 << 53
	binary := samples()
	binary[1].Raw = []byte{0xff}
	huge := bytes.Clone(whole)
	copy(huge[len(huge)-8:], "\xff\xff\xff\xff")
	var damaged [][]byte
	for at := 4; at < len(whole)-8; at += 7 {
		d := bytes.Clone(whole)
		d[at] ^= 0x55
		damaged = append(damaged, d)
	}
	for name, test := range map[string]struct {
		file []byte
		opts sheets.Options
		kind error
		says string
	}{
		"empty":  {nil, sheets.Options{}, sheets.ErrFormat, ""},
		"text":   {[]byte("a,b\n1,2\n3,4\n5,6\n"), sheets.Options{}, sheets.ErrFormat, "a,b"},
		"cut":    {whole[:len(whole)-3], sheets.Options{}, sheets.ErrRead, "footer"},
		"footer": {huge, sheets.Options{}, sheets.ErrRead, "footer"},
		"secret": {[]byte("PARE12345678PARE"), sheets.Options{}, sheets.ErrFormat, "encrypted"},
		"lists": {parquetFile(t, []struct{ X, Y []float64 }{{Y: []float64{1, 2}}}), sheets.Options{}, sheets.ErrFormat,
			"column 1 (X)"},
		"groups": {parquetFile(t, []struct{ A struct{ B int } }{{}}), sheets.Options{}, sheets.ErrFormat, "column 1 (A)"},
		"fixed":  {parquetFile(t, []struct{ A [3]byte }{{}}), sheets.Options{}, sheets.ErrFormat, "FIXED_LEN"},
		"lz4": {parquetFile(t, samples(), parquet.Compression(&lz4.Codec{})), sheets.Options{}, sheets.ErrFormat,
			"LZ4_RAW"},
		"too much": {parquetFile(t, large), sheets.Options{}, sheets.ErrRange,
			"row 1 (from 0), column 3 (Large): the number is out of range: -9007199254740992"},
		"binary": {parquetFile(t, binary, parquet.MaxRowsPerRowGroup(1)), sheets.Options{}, sheets.ErrEncoding,
			"row 1 (from 0), column 8 (Raw)"},
		"column": {whole, sheets.Options{Ignore: []string{"flag"}}, sheets.ErrColumn, "Flag"},
		"word": {whole, sheets.Options{Kinds: map[string]dataset.Kind{"Raw": dataset.KindNumeric}}, sheets.ErrNumber,
			`row 0 (from 0), column 8 (Raw): the value is not a number: "a"`},
	} {
		_, err := ReadParquet(t.Context(), bytes.NewReader(test.file), test.opts)
		if at := (*sheets.Error)(nil); !errors.As(err, &at) || !errors.Is(err, test.kind) ||
			!strings.Contains(err.Error(), test.says) || at.Advice == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, file := range damaged {
		if _, err := ReadParquet(t.Context(), bytes.NewReader(file), sheets.Options{}); err != nil {
			mustBeTyped(t, err)
		}
	}
}

// TestDamagedParquetTakesLittleMemory changes random bytes, and with them the
// lengths that headers promise.
func TestDamagedParquetTakesLittleMemory(t *testing.T) {
	whole := parquetFile(t, samples(), parquet.Compression(&parquet.Snappy))
	r := rand.New(rand.NewPCG(7, 7))
	var before, after runtime.MemStats
	for range 2000 {
		file := bytes.Clone(whole)
		for range 1 + r.IntN(3) {
			file[r.IntN(len(file))] = byte(r.IntN(256))
		}
		runtime.ReadMemStats(&before)
		_, err := ReadParquet(t.Context(), bytes.NewReader(file), sheets.Options{})
		runtime.ReadMemStats(&after)
		if err != nil {
			mustBeTyped(t, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 80<<20 {
			t.Errorf("%d MiB for a file of %d bytes: %v", took>>20, len(file), err)
		}
	}
}

func TestParquetReadsBack(t *testing.T) {
	for seed := range uint64(30) {
		written := randomTable(t, rand.New(rand.NewPCG(seed, 3)))
		var file bytes.Buffer
		if err := WriteParquet(&file, written); err != nil {
			t.Fatal(err)
		}
		read, err := ReadParquet(t.Context(), &file, sheets.Options{Kinds: kindsOf(written)})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := show(read), show(written); got != want {
			t.Fatalf("seed %d: wrote\n%s\nread\n%s", seed, want, got)
		}
	}
}

func TestWriteParquetReportsErrors(t *testing.T) {
	want := errors.New("full")
	table, err := dataset.NewTable(dataset.NewNumeric("x", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteParquet(failing{want}, table); !errors.Is(err, want) {
		t.Error(err)
	}
	none, err := dataset.NewTable()
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteParquet(&bytes.Buffer{}, none); !errors.Is(err, sheets.ErrEmpty) {
		t.Error(err)
	}
}

func FuzzReadParquet(f *testing.F) {
	f.Add(parquetFile(f, samples()))
	f.Add(parquetFile(f, samples(), parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1)))
	f.Add(parquetFile(f, []struct{ X *float64 }{{}}))
	f.Add(parquetFile(f, []singleRow{{1, 2}, {3, 4}}, parquet.MaxRowsPerRowGroup(1)))
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := ReadParquet(t.Context(), bytes.NewReader(file), sheets.Options{}); err != nil {
			mustBeTyped(t, err)
		}
		if err := readAsShards(t, file); err != nil {
			mustBeTyped(t, err)
		}
	})
}

// TestParquetKeepsUnits: the unit of a column that its cells said comes back with the file.
func TestParquetKeepsUnits(t *testing.T) {
	mass, plain := dataset.NewNumeric("mass", 5, 7), dataset.NewNumeric("time [h]", 1, 2)
	mass.OwnUnit = dataset.Unit{Name: "mg", Row: 1}
	for units, table := range map[string]*dataset.Table{"mg": tableOf(t, mass, plain), "": tableOf(t, plain)} {
		var file bytes.Buffer
		if err := WriteParquet(&file, table); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(file.String(), unitsKey) != (units != "") {
			t.Errorf("units %q in the file", units)
		}
		read, err := ReadParquet(t.Context(), &file, sheets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range read.Columns() {
			if got, want := c.(*dataset.Numeric).Unit().Name, table.Columns()[i].(*dataset.Numeric).Unit().Name; got != want {
				t.Errorf("column %s: unit %q, not %q", c.Name(), got, want)
			}
		}
	}
}
