package formats

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// variable is written to a MATLAB file by matFile.
type variable struct {
	name     string
	class    uint32 // with flags
	shape    []int32
	kind     uint32 // of the numbers
	numbers  any
	compress bool
}

func (v variable) in(order byteOrder) []byte {
	flags := matElement(order, miUINT32, []uint32{v.class, 0})
	shape := matElement(order, miINT32, v.shape)
	name := matElement(order, miINT8, []byte(v.name))
	body := bytes.Join([][]byte{flags, shape, name, matElement(order, v.kind, v.numbers)}, nil)
	whole := matElement(order, miMATRIX, body)
	if !v.compress {
		return whole
	}
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(whole)
	w.Close()
	element := order.AppendUint32(order.AppendUint32(nil, miCOMPRESSED), uint32(z.Len()))
	return append(element, z.Bytes()...)
}

// matElement writes up to four bytes into the tag, as MATLAB does.
func matElement(order byteOrder, kind uint32, data any) []byte {
	var raw bytes.Buffer
	if err := binary.Write(&raw, order, data); err != nil {
		panic(err)
	}
	n := raw.Len()
	if n > 0 && n <= 4 {
		tag := order.AppendUint32(nil, uint32(n)<<16|kind)
		return append(tag, append(raw.Bytes(), make([]byte, 4-n)...)...)
	}
	tag := order.AppendUint32(order.AppendUint32(nil, kind), uint32(n))
	return append(append(tag, raw.Bytes()...), make([]byte, -n&7)...)
}

func matFile(order byteOrder, variables ...variable) []byte {
	file := append([]byte("MATLAB 5.0 MAT-file"), bytes.Repeat([]byte(" "), 105)...)
	file = order.AppendUint16(file, 0x100)
	file = order.AppendUint16(file, 'M'<<8|'I')
	for _, v := range variables {
		file = append(file, v.in(order)...)
	}
	return file
}

func matVariables(compress bool) []variable {
	return []variable{
		{"note", 4, []int32{1, 2}, 4, []uint16{'h', 'i'}, compress},
		{"sarcos_inv", mxDOUBLE, []int32{2, 3}, 9, []float64{1, 2, 3, 4, 5.5, -6}, compress},
		{"small", mxDOUBLE, []int32{2, 1}, 2, []uint8{7, 255}, compress},
		{"on", 9 | 0x200, []int32{1, 3}, 2, []uint8{1, 0, 1}, compress},
		{"z", mxDOUBLE | 0x800, []int32{1, 1}, 9, []float64{1}, compress},
	}
}

func TestReadMAT(t *testing.T) {
	for _, order := range []byteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, compress := range []bool{false, true} {
			file := matFile(order, matVariables(compress)...)
			for name, want := range map[string][][]float64{
				"sarcos_inv": {{1, 3, 5.5}, {2, 4, -6}}, "small": {{7}, {255}}, "on": {{1, 0, 1}},
			} {
				m, err := ReadMAT[float64](t.Context(), bytes.NewReader(file), sheets.Options{Array: name})
				if err != nil {
					t.Fatal(order, compress, name, err)
				}
				checkMatrix(t, name, m, want)
			}
			single := matFile(order, matVariables(compress)[:2]...)
			m, err := ReadMAT[float64](t.Context(), bytes.NewBuffer(single), sheets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkMatrix(t, "the only one", m, [][]float64{{1, 3, 5.5}, {2, 4, -6}})
		}
	}
	path := writeFile(t, t.TempDir(), "x.mat", matFile(binary.LittleEndian, matVariables(true)...))
	read, err := ReadFile(t.Context(), path, sheets.Options{Array: "sarcos_inv"})
	if err != nil {
		t.Fatal(err)
	}
	if got := show(read); got != "c0 numeric [1] [2]\nc1 numeric [3] [4]\nc2 numeric [5.5] [-6]\n" {
		t.Error(got)
	}
	m, err := ReadMatrix[float64](t.Context(), path, sheets.Options{Array: "small"})
	if err != nil {
		t.Fatal(err)
	}
	checkMatrix(t, "small", m, [][]float64{{7}, {255}})
}

// TestReadMATLarge exceeds one block, for every numeric type.
func TestReadMATLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	const rows, cols = 3000, 31
	data := make([]int16, rows*cols)
	want := matrix.New[float64](rows, cols)
	for k := range data {
		data[k] = int16(r.IntN(100))
		want.Set(k%rows, k/rows, float64(data[k]))
	}
	for kind, e := range matTypes {
		numbers := any(converted(data, e))
		file := matFile(binary.LittleEndian, variable{"x", mxDOUBLE, []int32{rows, cols}, kind, numbers, kind%2 == 0})
		m, err := ReadMAT[float64](t.Context(), bytes.NewReader(file), sheets.Options{Array: "x"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Data {
			if m.Data[i] != want.Data[i] {
				t.Fatalf("type %d: %v at %d, want %v", kind, m.Data[i], i, want.Data[i])
			}
		}
	}
}

func converted(data []int16, e element) any {
	switch {
	case e.kind == 'f' && e.size == 4:
		return as[float32](data)
	case e.kind == 'f':
		return as[float64](data)
	case e.size == 1:
		return as[uint8](data)
	case e.size == 2:
		return data
	case e.size == 4:
		return as[int32](data)
	default:
		return as[int64](data)
	}
}

func as[T uint8 | int32 | int64 | float32 | float64](data []int16) []T {
	to := make([]T, len(data))
	for i, v := range data {
		to[i] = T(v)
	}
	return to
}

func TestReadMATRefuses(t *testing.T) {
	le := binary.LittleEndian
	file := matFile(le, matVariables(false)...)
	zipped := matFile(le, matVariables(true)[1])
	damaged := bytes.Clone(zipped)
	damaged[len(damaged)-1] ^= 1
	one := func(v variable) []byte { return matFile(le, v) }
	for name, test := range map[string]struct {
		file  []byte
		array string
		kind  error
		says  string
	}{
		"empty":      {nil, "", sheets.ErrRead, "header"},
		"text":       {bytes.Repeat([]byte("a,b\n"), 99), "", sheets.ErrFormat, "-v7"},
		"HDF5":       {append([]byte("MATLAB 7.3 MAT-file"), make([]byte, 600)...), "", sheets.ErrFormat, "HDF5"},
		"no name":    {file, "", sheets.ErrArray, "name one of sarcos_inv, small, on, z"},
		"absent":     {file, "sarcos", sheets.ErrArray, "the arrays are sarcos_inv, small, on, z"},
		"complex":    {file, "z", sheets.ErrFormat, "complex"},
		"characters": {file, "note", sheets.ErrArray, ""},
		"nothing":    {matFile(le), "", sheets.ErrEmpty, ""},
		"cut":        {file[:len(file)-200], "z", sheets.ErrRead, ""},
		"cut header": {file[:100], "z", sheets.ErrRead, "header"},
		"cut zip":    {zipped[:len(zipped)-9], "", sheets.ErrRead, ""},
		"checksum":   {damaged, "", sheets.ErrRead, "checksum"},
		"cube": {one(variable{"x", mxDOUBLE, []int32{2, 1, 2}, 9, []float64{1, 2, 3, 4}, false}), "x",
			sheets.ErrShape, "3 dimensions"},
		"no rows":  {one(variable{"x", mxDOUBLE, []int32{0, 3}, 9, []float64{}, false}), "x", sheets.ErrEmpty, "0 x 3"},
		"negative": {one(variable{"x", mxDOUBLE, []int32{-1, 3}, 9, []float64{1}, false}), "x", sheets.ErrShape, ""},
		"short":    {one(variable{"x", mxDOUBLE, []int32{2, 2}, 9, []float64{1, 2, 3}, false}), "x", sheets.ErrRead, "2 x 2"},
		"huge": {one(variable{"x", mxDOUBLE, []int32{1 << 30, 1 << 29}, 9, []float64{1, 2, 3}, true}), "x", sheets.ErrRead,
			""},
		"type": {one(variable{"x", mxDOUBLE, []int32{1, 1}, 16, []float64{1}, true}), "x", sheets.ErrFormat, "type 16"},
	} {
		_, err := ReadMAT[float64](t.Context(), bytes.NewReader(test.file), sheets.Options{Array: test.array})
		if at := (*sheets.Error)(nil); !errors.As(err, &at) || !errors.Is(err, test.kind) ||
			!strings.Contains(err.Error(), test.says) || at.Advice == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadMAT(f *testing.F) {
	f.Add(matFile(binary.LittleEndian, matVariables(false)...))
	f.Add(matFile(binary.BigEndian, matVariables(false)[:2]...))
	f.Add(matFile(binary.LittleEndian, matVariables(true)...))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, name := range []string{"", "sarcos_inv"} {
			if _, err := ReadMAT[float32](t.Context(), bytes.NewReader(file), sheets.Options{Array: name}); err != nil {
				mustBeTyped(t, err)
			}
		}
	})
}
