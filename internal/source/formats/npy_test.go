package formats

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// npyFile assembles a file from its parts: version, header and numbers.
func npyFile(version byte, header string, data ...any) []byte {
	b := append([]byte(npyMagic), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	b = append(b, header...)
	order := binary.ByteOrder(binary.LittleEndian)
	if strings.Contains(header, "'>") {
		order = binary.BigEndian
	}
	w := bytes.NewBuffer(b)
	for _, d := range data {
		if err := binary.Write(w, order, d); err != nil {
			panic(err)
		}
	}
	return w.Bytes()
}

func npyHeaderText(descr, fortran, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }  \n", descr, fortran, shape)
}

func checkMatrix(t *testing.T, what string, got matrix.Dense[float64], want [][]float64) {
	t.Helper()
	if m := matrix.FromRows(want); got.Rows != m.Rows || got.Cols != m.Cols || !slices.Equal(got.Clone().Data, m.Data) {
		t.Errorf("%s: %v %v, want %v", what, got.Shape(), got.Data, want)
	}
}

func TestReadNPYElements(t *testing.T) {
	for _, order := range []string{"<", ">", "="} {
		for descr, data := range map[string]any{
			"f4": []float32{1, 2, 3, -4, 5.5, 6}, "f8": []float64{1, 2, 3, -4, 5.5, 6},
			"i1": []int8{1, 2, 3, -4, 5, 6}, "i2": []int16{1, 2, 3, -4, 5, 6}, "i4": []int32{1, 2, 3, -4, 5, 6},
			"i8": []int64{1, 2, 3, -4, 5, 6},
			"u1": []uint8{1, 2, 3, 255, 5, 6}, "u2": []uint16{1, 2, 3, 65535, 5, 6}, "u4": []uint32{1, 2, 3, 1 << 31, 5, 6},
			"u8": []uint64{1, 2, 3, 1 << 63, 5, 6},
			"b1": []uint8{1, 0, 2, 1, 0, 0},
		} {
			v := valuesOf(descr, data)
			for fortran, want := range map[string][][]float64{
				"False": {{v[0], v[1], v[2]}, {v[3], v[4], v[5]}},
				"True":  {{v[0], v[2], v[4]}, {v[1], v[3], v[5]}},
			} {
				for version := byte(1); version <= 3; version++ {
					file := npyFile(version, npyHeaderText(order+descr, fortran, "(2, 3)"), data)
					got, err := ReadNPY[float64](t.Context(), bytes.NewReader(file), sheets.Options{})
					if err != nil {
						t.Fatal(order, descr, err)
					}
					checkMatrix(t, order+descr+fortran, got, want)
					single, err := ReadNPY[float32](t.Context(), iotest.OneByteReader(bytes.NewReader(file)), sheets.Options{})
					if err != nil {
						t.Fatal(order, descr, err)
					}
					checkMatrix(t, order+descr+fortran, matrix.Converted[float64](single), want)
				}
			}
		}
	}
}

func valuesOf(descr string, data any) (values []float64) {
	for _, word := range strings.Fields(strings.Trim(fmt.Sprint(data), "[]")) {
		v, _ := cells.WholeNumber([]byte(word))
		if descr == "b1" {
			v = min(v, 1)
		}
		values = append(values, v)
	}
	return values
}

func TestReadNPYTable(t *testing.T) {
	file := npyFile(1, npyHeaderText("<f8", "False", "(2, 2)"), []float64{1, math.NaN(), 0.5, 3})
	read, err := ReadNPYTable(t.Context(), bytes.NewReader(file), sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := show(read); got != "c0 numeric [1] [0.5]\nc1 numeric [] [3]\n" {
		t.Error(got)
	}
	read,
		err = ReadNPYTable(t.Context(), bytes.NewReader(npyFile(1, npyHeaderText("<i8", "False", "(2L,)"), []int64{7, 5})),
		sheets.Options{Kinds: map[string]dataset.Kind{"c0": dataset.KindText}})
	if err != nil {
		t.Fatal(err)
	}
	if got := show(read); got != "c0 text [7] [5]\n" {
		t.Error(got)
	}
}

func TestReadNPYRefuses(t *testing.T) {
	plain := npyHeaderText("<f8", "False", "(2, 2)")
	numbers := []float64{1, 2, 3, 4}
	for name, test := range map[string]struct {
		file []byte
		kind error
		says string
	}{
		"empty":       {nil, sheets.ErrRead, "header"},
		"text":        {[]byte("a,b\n1,2\n3,4\n"), sheets.ErrFormat, "numpy.save"},
		"version":     {npyFile(4, plain, numbers), sheets.ErrFormat, "version 4"},
		"long header": {npyFile(2, plain+strings.Repeat(" ", 1<<20), numbers), sheets.ErrHeader, "bytes"},
		"cut header":  {npyFile(1, plain, numbers)[:40], sheets.ErrRead, "header"},
		"cut": {npyFile(1, plain, numbers[:3]), sheets.ErrRead,
			"row 1 (from 0), column 2: the file cannot be read completely: it ends after 3 of 2 x 2"},
		"more":          {npyFile(1, plain, numbers, numbers), sheets.ErrFormat, "bytes after"},
		"no dictionary": {npyFile(1, "[]", numbers), sheets.ErrHeader, "numpy.save"},
		"no shape":      {npyFile(1, "{'descr': '<f8', 'fortran_order': False}", numbers), sheets.ErrHeader, ""},
		"shape twice": {npyFile(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), 'shape': (2, 2)}",
			numbers), sheets.ErrHeader, ""},
		"other key": {npyFile(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), 'x': 1}",
			numbers), sheets.ErrHeader, ""},
		"negative": {npyFile(1, npyHeaderText("<f8", "False", "(-2, 2)"), numbers), sheets.ErrHeader, ""},
		"objects":  {npyFile(1, npyHeaderText("|O", "False", "(2, 2)"), numbers), sheets.ErrFormat, `"|O"`},
		"texts":    {npyFile(1, npyHeaderText("<U5", "False", "(2, 2)"), numbers), sheets.ErrFormat, "astype"},
		"complex":  {npyFile(1, npyHeaderText("<c8", "False", "(2, 2)"), numbers), sheets.ErrFormat, "astype"},
		"structured": {npyFile(1, "{'descr': [('a', '<f8'), ('b', '<i4', (3,))], 'fortran_order': False, 'shape': (2,), }",
			numbers), sheets.ErrFormat, "'a'"},
		"scalar":     {npyFile(1, npyHeaderText("<f8", "False", "()"), numbers), sheets.ErrShape, "0 dimensions"},
		"cube":       {npyFile(1, npyHeaderText("<f8", "False", "(2, 1, 2)"), numbers), sheets.ErrShape, "3 dimensions"},
		"no rows":    {npyFile(1, npyHeaderText("<f8", "False", "(0, 9)")), sheets.ErrEmpty, "0 x 9"},
		"no columns": {npyFile(1, npyHeaderText("<f8", "False", "(1000000000000, 0)")), sheets.ErrEmpty, "x 0"},
		"huge": {npyFile(1, npyHeaderText("<f8", "False", "(99999999999, 99)"), numbers),
			sheets.ErrRead, "it ends after 4"},
		"huge, u1": {npyFile(1, npyHeaderText("|u1", "True", "(1152921504606846975, 1)"), numbers),
			sheets.ErrRead, "it ends after 32"},
		"overflow": {npyFile(1, npyHeaderText("<f8", "False", "(9999999999, 9999999999)"), numbers), sheets.ErrShape,
			""},
		"overflow of a": {npyFile(1, npyHeaderText("<f8", "False", "(99999999999999999999, 1)"), numbers), sheets.ErrHeader,
			""},
	} {
		for how, r := range map[string]func() (matrix.Dense[float64], error){
			"sized": func() (matrix.Dense[float64], error) {
				return ReadNPY[float64](t.Context(), bytes.NewReader(test.file), sheets.Options{})
			},
			"unsized": func() (matrix.Dense[float64], error) {
				return ReadNPY[float64](t.Context(), bytes.NewBuffer(test.file), sheets.Options{})
			},
		} {
			_, err := r()
			if at := (*sheets.Error)(nil); !errors.As(err, &at) || !errors.Is(err, test.kind) ||
				!strings.Contains(err.Error(), test.says) || at.Advice == "" {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
	}
	_, err := ReadNPY[float32](t.Context(), bytes.NewReader(npyFile(1, plain, []float64{1, 2, 1e300, 4})),
		sheets.Options{})
	if at := (*sheets.Error)(nil); !errors.As(err, &at) || !errors.Is(err, sheets.ErrRange) || at.Row != 2 ||
		at.Column != 1 {
		t.Error(err)
	}
	_,
		err = ReadNPYTable(t.Context(), bytes.NewReader(npyFile(1, npyHeaderText("<i8", "True", "(2, 2)"),
		[]int64{1, 2, 3, 1<<53 + 1})), sheets.Options{})
	if at := (*sheets.Error)(nil); !errors.As(err, &at) || !errors.Is(err, sheets.ErrRange) || at.Row != 2 ||
		at.Column != 2 || at.Name != "c1" {
		t.Error(err)
	}
	_, err = ReadNPYTable(t.Context(), bytes.NewReader(npyFile(1, plain, numbers)), sheets.Options{Ignore: []string{"c7"}})
	if !errors.Is(err, sheets.ErrColumn) {
		t.Error(err)
	}
}

func randomMatrix[T matrix.Float](r *rand.Rand) matrix.Dense[T] {
	rows, cols := 1+r.IntN(300), 1+r.IntN(300)
	wide := matrix.New[T](rows, cols+3)
	for i := range wide.Data {
		wide.Data[i] = T(r.NormFloat64())
	}
	wide.Data[0], wide.Data[1] = T(math.Inf(-1)), T(math.NaN())
	return wide.Block(0, rows, 0, cols)
}

func TestWrittenMatricesReadBack(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		checkReadsBack(t, randomMatrix[float32](r))
		checkReadsBack(t, randomMatrix[float64](r))
	}
}

func checkReadsBack[T matrix.Float](t *testing.T, m matrix.Dense[T]) {
	t.Helper()
	var file bytes.Buffer
	if err := WriteNPY(&file, m); err != nil {
		t.Fatal(err)
	}
	if start := 10 + int(binary.LittleEndian.Uint16(file.Bytes()[8:])); start%64 != 0 {
		t.Errorf("the numbers start at %d", start)
	}
	back, err := ReadNPY[T](t.Context(), &file, sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b T) bool { return a == b || a != a && b != b }
	if back.Shape() != m.Shape() || !slices.EqualFunc(back.Data, m.Clone().Data, same) {
		t.Errorf("%v reads back as %v", m.Shape(), back.Shape())
	}
}

func TestWriteNPYReportsErrors(t *testing.T) {
	want := errors.New("full")
	if err := WriteNPY(failing{want}, matrix.New[float32](1, 1)); !errors.Is(err, want) {
		t.Error(err)
	}
}

func TestReadMatrix(t *testing.T) {
	dir := t.TempDir()
	file := npyFile(1, npyHeaderText("<i4", "False", "(2,)"), []int32{1, 2})
	for name, content := range map[string][]byte{"x.npy": file, "x.NPY.gz": compressed(t, string(file))} {
		m, err := ReadMatrix[float64](t.Context(), writeFile(t, dir, name, content), sheets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkMatrix(t, name, m, [][]float64{{1}, {2}})
	}
	bad := writeFile(t, dir, "bad.npy", file[:len(file)-1])
	if _, err := ReadMatrix[float64](t.Context(), bad, sheets.Options{}); !errors.Is(err, sheets.ErrRead) ||
		!strings.Contains(err.Error(), bad) {
		t.Error(err)
	}
	if _, err := ReadMatrix[float64](t.Context(), bad, sheets.Options{Array: "x"}); !errors.Is(err, sheets.ErrArray) {
		t.Error(err)
	}
	if _, err := ReadMatrix[float64](t.Context(), "x.csv", sheets.Options{}); !errors.Is(err, sheets.ErrFormat) {
		t.Error(err)
	}
}

func FuzzReadNPY(f *testing.F) {
	f.Add(npyFile(1, npyHeaderText("<f8", "False", "(2, 2)"), []float64{1, 2, 3, 4}))
	f.Add(npyFile(2, npyHeaderText(">i2", "True", "(3,)"), []int16{1, 2, 3}))
	f.Add(npyFile(3, npyHeaderText("|b1", "True", "(99999999999, 9)"), []uint8{1, 2, 3}))
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := ReadNPY[float32](t.Context(), bytes.NewBuffer(file), sheets.Options{})
		if err != nil {
			mustBeTyped(t, err)
			return
		}
		checkReadsBack(t, m)
		if _, err := ReadNPYTable(t.Context(), bytes.NewReader(file), sheets.Options{}); err != nil {
			mustBeTyped(t, err)
		}
	})
}

func mustBeTyped(t *testing.T, err error) {
	t.Helper()
	if at := (*sheets.Error)(nil); !errors.As(err, &at) || at.Kind == nil {
		t.Fatalf("%T: %v", err, err)
	}
}
