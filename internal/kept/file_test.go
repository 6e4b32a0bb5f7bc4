package kept

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/spec"
)

// keptRows returns features of rows whose numbers are any bits, NaN and -0 included.
func keptRows(inputs, width, rows int, draw *rand.Rand) *Features {
	k := &Features{Program: "program"}
	k.reset("key", inputs, width)
	row := make([]float32, width)
	for k.rows < rows {
		for i := range row {
			row[i] = math.Float32frombits(draw.Uint32())
		}
		if dst := k.add(row[:inputs]); dst != nil { // other inputs than before
			copy(dst, row[inputs:])
		}
	}
	return k
}

func written(t testing.TB, k *Features) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := k.Write(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// inFile returns empty features with a file.
func inFile(t *testing.T, file []byte) *Features {
	t.Helper()
	k := &Features{Program: "program", File: filepath.Join(t.TempDir(), "c.db.features")}
	if err := os.WriteFile(k.File, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// wantRows requires the features of all rows of another one.
func wantRows(t *testing.T, got, want *Features) {
	t.Helper()
	for at := range want.rows {
		row := want.row(int32(at))
		if found := got.find(row[:want.inputs]); found == nil || !bytes.Equal(bits(found), bits(row[want.inputs:])) {
			t.Fatalf("row %d of %d is %v, not %v", at, want.rows, found, row[want.inputs:])
		}
	}
}

// TestKeptFileRoundTrip: what was written is found, to the last bit, and nothing is fresh
// until a row is added.
func TestKeptFileRoundTrip(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	for _, rows := range []int{0, 1, 2, partRows - 1, partRows, partRows + 1, 2*partRows + 7} {
		inputs, outputs := 2+draw.IntN(5), draw.IntN(9)
		want := keptRows(inputs, inputs+outputs, rows, draw)
		if want.Fresh() != (rows > 0) {
			t.Errorf("%d rows are fresh: %v", rows, want.Fresh())
		}
		file := written(t, want)
		if int64(len(file)) != want.fileBytes(int64(rows)) || want.Fresh() {
			t.Errorf("%d rows are %d bytes, not %d; fresh: %v", rows, len(file), want.fileBytes(int64(rows)), want.Fresh())
		}
		got := inFile(t, file)
		got.take("key", inputs, inputs+outputs)
		got.inUse.Unlock()
		if wantRows(t, got, want); got.rows != rows || got.Fresh() {
			t.Errorf("%d rows of %d, fresh: %v", got.rows, rows, got.Fresh())
		}
		if !bytes.Equal(written(t, got), file) {
			t.Errorf("%d rows: the file has changed", rows)
		}
		got.add(make([]float32, inputs))
		if wantRows(t, got, want); !got.Fresh() || got.rows != rows+1 {
			t.Errorf("one row after %d: %d rows, fresh: %v", rows, got.rows, got.Fresh())
		}
	}
}

// TestKeptFileThatIsUseless: no row comes from a file that is damaged, truncated or
// of others, wherever it is.
func TestKeptFileThatIsUseless(t *testing.T) {
	t.Parallel()
	good := written(t, keptRows(2, 5, 3, rand.New(rand.NewPCG(3, 4))))
	rows := func(file []byte, change func(k *Features)) int {
		k := &Features{Program: "program"}
		k.reset("key", 2, 5)
		change(k)
		if err := k.read(bytes.NewReader(file), int64(len(file))); err != nil {
			k.reset("key", 2, 5)
		}
		return k.rows
	}
	same := func(*Features) {}
	if rows(good, same) != 3 {
		t.Fatal("the file itself is not read")
	}
	for at := range good {
		if n := rows(good[:at], same); n != 0 {
			t.Errorf("%d rows of the first %d bytes", n, at)
		}
		for bit := range 8 {
			damaged := slices.Clone(good)
			damaged[at] ^= 1 << bit
			if n := rows(damaged, same); n != 0 {
				t.Errorf("%d rows with byte %d changed", n, at)
			}
		}
	}
	if n := rows(append(slices.Clone(good), 0), same); n != 0 {
		t.Errorf("%d rows with another byte at the end", n)
	}
	for what, change := range map[string]func(k *Features){
		"key": func(k *Features) { k.key = "kez" }, "program": func(k *Features) { k.Program = "programs" },
		"inputs": func(k *Features) { k.inputs = 3 }, "width": func(k *Features) { k.width = 4 },
	} {
		if n := rows(good, change); n != 0 {
			t.Errorf("%d rows of another %s", n, what)
		}
	}
	long := written(t, keptRows(2, 5, partRows+1, rand.New(rand.NewPCG(3, 4))))
	long[len(long)-1]++
	if k := inFile(t, long); !k.take("key", 2, 5) || k.rows != 0 {
		t.Errorf("%d rows of a file whose last block is damaged", k.rows)
	}
}

// TestKeptFileElsewhere: what is not a file of features is neither read nor to be replaced.
func TestKeptFileElsewhere(t *testing.T) {
	t.Parallel()
	k := keptRows(2, 5, 3, rand.New(rand.NewPCG(3, 4)))
	good := written(t, k)
	for what, c := range map[string]struct {
		file []byte
		ours bool
	}{
		"whole": {good, true}, "truncated": {good[:40], true}, "of a later format": {[]byte(magic + "2\n"), true},
		"cut in its first word": {good[:5], true},
		"empty":                 {nil, true}, "a table": {[]byte("id,x,y\n1,2,3\n"), false},
		"damaged at its start": {append([]byte("N"), good[1:]...), false},
	} {
		k := inFile(t, c.file)
		if err := k.CheckFile(); (err == nil) != c.ours {
			t.Errorf("%s: %v", what, err)
		}
		if k.take("key", 2, 5); (k.rows > 0) != (what == "whole") {
			t.Errorf("%s: %d rows", what, k.rows)
		}
	}
	k.File = t.TempDir()
	if err := k.CheckFile(); !errors.Is(err, errNotFeatures) {
		t.Errorf("a folder: %v", err)
	}
	k.File = filepath.Join(k.File, "absent")
	if err := k.CheckFile(); err != nil {
		t.Errorf("no file: %v", err)
	}
}

// TestKeptFileLimit: a file is read as far as the limit allows, and part of the features is
// nothing to write. The forecast counts the rows of the file.
func TestKeptFileLimit(t *testing.T) {
	t.Parallel()
	want := keptRows(2, 40, 3*partRows, rand.New(rand.NewPCG(5, 6)))
	k := inFile(t, written(t, want))
	k.Limit = bytesOf(2*partRows, 40)
	if k.take("key", 2, 40); k.rows != 2*partRows || len(k.parts) != 2 {
		t.Errorf("%d rows, %d parts", k.rows, len(k.parts))
	}
	k.inUse.Unlock()
	if k.add([]float32{1, 2}) != nil || k.Fresh() {
		t.Errorf("%d rows, fresh: %v", k.rows, k.Fresh())
	}
	sketch := spec.MustParse("lcmd-tp:grad>sketch(38)")
	z := forecast.Sizes{Train: 10, Pool: 90, Inputs: 2, Hidden: []int{4}}
	if got := k.Memory(sketch, z); got != k.Limit {
		t.Errorf("the forecast is %d bytes, the limit %d", got, k.Limit)
	}
	k.Limit = 0
	if got, want := k.Memory(sketch, z), bytesOf(3*partRows, 40); got < want {
		t.Errorf("the forecast is %d bytes, the file takes %d", got, want)
	}
	other := spec.MustParse("lcmd-tp:grad>sketch(8)")
	if got, want := k.Memory(other, z), bytesOf(100+partRows, 10); got != want {
		t.Errorf("with a file of wider rows, the forecast is %d bytes, not %d", got, want)
	}
	few := &Features{Limit: bytesOf(partRows, 40)}
	few.reset("key", 2, 40)
	for row := range partRows {
		few.add([]float32{float32(row), 0})
	}
	if !few.Fresh() {
		t.Error("all rows are kept, but nothing is fresh")
	}
	if few.add([]float32{0, 1}) != nil || few.Fresh() {
		t.Error("a row is not kept, but the others are fresh")
	}
	k.File = ""
	if got, want := k.Memory(sketch, z), bytesOf(100+partRows, 40); got != want {
		t.Errorf("without a file, the forecast is %d bytes, not %d", got, want)
	}
}

// TestKeptFileStops: the end of the context ends the writing, and a selection that uses the
// features keeps them to itself.
func TestKeptFileStops(t *testing.T) {
	t.Parallel()
	k := keptRows(2, 3, 5, rand.New(rand.NewPCG(7, 8)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Write(ctx, &bytes.Buffer{}); !errors.Is(err, context.Canceled) || !k.Fresh() {
		t.Errorf("%v, fresh: %v", err, k.Fresh())
	}
	k.take("key", 2, 3)
	if err := k.Write(t.Context(), &bytes.Buffer{}); err == nil || k.Fresh() {
		t.Errorf("in use: %v, fresh: %v", err, k.Fresh())
	}
}

// FuzzKeptFile reads any bytes, if sealed with the right checksum of the head: there are no more
// rows than the file is long, and a file that is read is written again as it was.
func FuzzKeptFile(f *testing.F) {
	k := keptRows(1, 2, 3, rand.New(rand.NewPCG(9, 10)))
	good, head := written(f, k), len(k.head())+8
	f.Add(good, false)
	f.Add(good[:len(good)-1], false)
	f.Add(append(k.head(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), true)
	f.Add(append(k.head(), 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0), true)
	f.Add(append(k.head(), 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0), true)
	f.Fuzz(func(t *testing.T, file []byte, seal bool) {
		if file = slices.Clone(file); seal && len(file) >= head+crc32.Size {
			binary.LittleEndian.PutUint32(file[head:], crc32.Checksum(file[:head], castagnoli))
		}
		got := &Features{Program: k.Program}
		got.reset(k.key, k.inputs, k.width)
		err := got.read(bytes.NewReader(file), int64(len(file)))
		if got.rows*got.width*numberBytes > len(file) || len(got.parts) > 1+len(file)/(partRows*got.width*numberBytes) {
			t.Fatalf("%d rows and %d parts of %d bytes", got.rows, len(got.parts), len(file))
		}
		if err == nil && !bytes.Equal(written(t, got), file) {
			t.Error("the file has changed")
		}
	})
}
