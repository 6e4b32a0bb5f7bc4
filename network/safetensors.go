package network

// The safetensors format: the length of the header as 8 bytes, little-endian;
// the header, a JSON object; the data of the tensors. The header names each
// tensor with its element type, shape, and first and last byte + 1, counted
// from the end of the header; "__metadata__" holds texts by name. The tensors
// fill the data without gaps and do not overlap.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
)

// tensorFile is the contents of a safetensors file.
type tensorFile struct {
	metadata map[string]string
	tensors  map[string]tensor
}

type tensor struct {
	dtype string // F32 or F64 in files of our own
	shape []int
	data  []byte
}

// tensorEntry is the entry of the header about a tensor.
type tensorEntry struct {
	DType   string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

const metadataKey = "__metadata__"

func dtypeOf[T matrix.Float]() string {
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		return "F32"
	}
	return "F64"
}

func sizeOf(dtype string) (bytes uint64, ok bool) {
	switch dtype {
	case "F32", "I32", "U32":
		return 4, true
	case "F64", "I64", "U64":
		return 8, true
	case "BF16", "I16", "U16":
		return 2, true
	case "I8", "U8", "BOOL":
		return 1, true
	}
	return 0, false
}

// putTensor adds a tensor. The shape is that of the file; numbers are row-major.
func putTensor[T matrix.Float](f *tensorFile, name string, numbers []T, shape ...int) {
	t := tensor{dtype: dtypeOf[T](), shape: shape}
	for _, v := range numbers {
		if t.dtype == "F32" {
			t.data = binary.LittleEndian.AppendUint32(t.data, math.Float32bits(float32(v)))
		} else {
			t.data = binary.LittleEndian.AppendUint64(t.data, math.Float64bits(float64(v)))
		}
	}
	f.tensors[name] = t
}

// takeTensor writes the numbers of the named tensor to dst. Another element
// type, another shape and a number that is not finite are errors.
func takeTensor[T matrix.Float](f *tensorFile, dst []T, name string, shape ...int) error {
	if err := checkTensor[T](f, name, shape...); err != nil {
		return err
	}
	data := f.tensors[name].data
	for i := range dst {
		if dtypeOf[T]() == "F32" {
			dst[i] = T(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
		} else {
			dst[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:])))
		}
		if dst[i]-dst[i] != 0 {
			return fmt.Errorf("tensor %q: number %d is %v", name, i, dst[i])
		}
	}
	return nil
}

// checkTensor reports a tensor that is missing or of another kind.
func checkTensor[T matrix.Float](f *tensorFile, name string, shape ...int) error {
	t, ok := f.tensors[name]
	if !ok {
		return fmt.Errorf("there is no tensor %q", name)
	}
	if t.dtype != dtypeOf[T]() {
		return fmt.Errorf("tensor %q is of type %s, not %s", name, t.dtype, dtypeOf[T]())
	}
	if !slices.Equal(t.shape, shape) {
		return fmt.Errorf("tensor %q has shape %v, not %v", name, t.shape, shape)
	}
	return nil
}

// encode returns the file as bytes: tensors in the order of their names, the
// header padded with spaces so that the data is aligned.
func (f *tensorFile) encode() ([]byte, error) {
	header := map[string]any{metadataKey: f.metadata}
	var data []byte
	for _, name := range f.names() {
		t := f.tensors[name]
		header[name] = struct {
			DType   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}{t.dtype, t.shape, [2]int{len(data), len(data) + len(t.data)}}
		data = append(data, t.data...)
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	text = append(text, strings.Repeat(" ", -len(text)&7)...)
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return slices.Concat(out, text, data), nil
}

func (f *tensorFile) names() []string {
	var names []string
	for name := range f.tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// decodeTensors reads a file. The tensors are views of raw. It allocates no more
// than a fixed multiple of the header's length.
func decodeTensors(raw []byte) (*tensorFile, error) {
	if len(raw) < 8 {
		return nil, fmt.Errorf("%d bytes do not hold the length of a header", len(raw))
	}
	length, rest := binary.LittleEndian.Uint64(raw), raw[8:]
	if length > uint64(len(rest)) {
		return nil, fmt.Errorf("the header has %d bytes, the file %d after its length", length, len(rest))
	}
	f := &tensorFile{metadata: map[string]string{}, tensors: map[string]tensor{}}
	entries, err := f.decodeHeader(rest[:length])
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return f, f.placeTensors(entries, rest[length:])
}

// decodeHeader reads the JSON object key by key: a key that is there twice, which
// a map would swallow, is an error.
func (f *tensorFile) decodeHeader(text []byte) (map[string]tensorEntry, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, fmt.Errorf("it is no JSON object")
	}
	entries := map[string]tensorEntry{}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // keys of an object are nothing else
		if seen[name] {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		if name == metadataKey {
			err = d.Decode(&f.metadata)
		} else {
			var e tensorEntry
			err = d.Decode(&e)
			entries[name] = e
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more after the JSON object")
	}
	return entries, nil
}

// placeTensors finds the data of each tensor. Taken by their first byte, the
// tensors must follow each other from the start of the data to its end.
func (f *tensorFile) placeTensors(entries map[string]tensorEntry, data []byte) error {
	var order []string
	for name, e := range entries {
		if err := e.check(uint64(len(data))); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		order = append(order, name)
	}
	slices.SortFunc(order, func(a, b string) int {
		return slices.Compare(entries[a].Offsets, entries[b].Offsets)
	})
	end := uint64(0)
	for _, name := range order {
		e := entries[name]
		if e.Offsets[0] != end {
			return fmt.Errorf("tensor %q starts at byte %d of the data, not %d: tensors overlap or leave a gap",
				name, e.Offsets[0], end)
		}
		end = e.Offsets[1]
		f.tensors[name] = tensor{dtype: e.DType, shape: ints(e.Shape), data: data[e.Offsets[0]:end]}
	}
	if end != uint64(len(data)) {
		return fmt.Errorf("the tensors have %d bytes of data, the file %d", end, len(data))
	}
	return nil
}

// check reports an entry that does not describe a tensor within the available bytes.
func (e tensorEntry) check(available uint64) error {
	size, ok := sizeOf(e.DType)
	if !ok {
		return fmt.Errorf("element type %q is not supported", e.DType)
	}
	if len(e.Offsets) != 2 || e.Offsets[0] > e.Offsets[1] {
		return fmt.Errorf("data_offsets are %v", e.Offsets)
	}
	if e.Offsets[1] > available {
		return fmt.Errorf("its data ends at byte %d of %d: the file is truncated", e.Offsets[1], available)
	}
	want := size
	for _, n := range e.Shape {
		high, low := bits.Mul64(want, n)
		if high != 0 || low > math.MaxInt {
			return fmt.Errorf("shape %v is too large", e.Shape)
		}
		want = low
	}
	if got := e.Offsets[1] - e.Offsets[0]; got != want {
		return fmt.Errorf("shape %v of %s takes %d bytes, not %d", e.Shape, e.DType, want, got)
	}
	return nil
}

func ints(shape []uint64) []int {
	out := make([]int, len(shape))
	for i, n := range shape {
		out[i] = int(n)
	}
	return out
}
