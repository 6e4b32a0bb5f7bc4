package golden

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// array is the content of an NPY file. Depending on the element type, either
// floats or ints is set.
type array struct {
	dtype  string
	shape  []int
	floats []float64
	ints   []int
}

// elementSize lists the supported element types with their sizes in bytes.
var elementSize = map[string]int{"<f8": 8, "<f4": 4, "<i8": 8, "<i4": 4, "|b1": 1}

// The header is a Python dictionary with exactly these three keys; NumPy writes
// them in this order, sorted by name.
var headerPattern = regexp.MustCompile(
	`^\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \}\s*$`)

const (
	npyMagic      = "\x93NUMPY\x01\x00"
	npyHeaderFrom = len(npyMagic) + 2
)

// parseNPY reads NPY version 1.0, little-endian, in C order, which covers the
// golden folder. It never reads beyond raw, whatever the header claims.
func parseNPY(raw []byte) (array, error) {
	if !bytes.HasPrefix(raw, []byte(npyMagic)) || len(raw) < npyHeaderFrom {
		return array{}, errors.New("not an NPY file of version 1.0")
	}
	body := npyHeaderFrom + int(binary.LittleEndian.Uint16(raw[len(npyMagic):]))
	if body > len(raw) {
		return array{}, fmt.Errorf("the header ends at byte %d, but the file at byte %d", body, len(raw))
	}
	a, err := parseHeader(string(raw[npyHeaderFrom:body]))
	if err != nil {
		return array{}, err
	}
	return a, a.decode(raw[body:])
}

func parseHeader(header string) (array, error) {
	found := headerPattern.FindStringSubmatch(header)
	if found == nil {
		return array{}, fmt.Errorf("cannot read the header %q", header)
	}
	if elementSize[found[1]] == 0 {
		return array{}, fmt.Errorf("element type %q is not supported", found[1])
	}
	if found[2] == "True" {
		return array{}, errors.New("arrays in Fortran order are not supported")
	}
	shape, err := parseShape(found[3])
	return array{dtype: found[1], shape: shape}, err
}

func parseShape(text string) ([]int, error) {
	var shape []int
	for field := range strings.SplitSeq(text, ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("shape (%s): %w", text, err)
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// decode fills floats or ints from the bytes after the header, of which there must
// be exactly as many as the shape needs.
func (a *array) decode(body []byte) error {
	size := elementSize[a.dtype]
	count := len(body) / size
	if len(body)%size != 0 || !a.holds(count) {
		return fmt.Errorf("%d bytes do not hold shape %v of %s", len(body), a.shape, a.dtype)
	}
	if strings.HasPrefix(a.dtype, "<f") {
		a.floats = make([]float64, count)
	} else {
		a.ints = make([]int, count)
	}
	for i := range count {
		a.decodeOne(i, body[i*size:])
	}
	return nil
}

// holds reports whether the shape has count elements, without computing a product
// that could overflow.
func (a *array) holds(count int) bool {
	left := count
	for _, n := range a.shape {
		if n == 0 {
			return count == 0
		}
		if left%n != 0 {
			return false
		}
		left /= n
	}
	return left == 1
}

func (a *array) decodeOne(i int, b []byte) {
	switch a.dtype {
	case "<f8":
		a.floats[i] = math.Float64frombits(binary.LittleEndian.Uint64(b))
	case "<f4":
		a.floats[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case "<i8":
		a.ints[i] = int(int64(binary.LittleEndian.Uint64(b)))
	case "<i4":
		a.ints[i] = int(int32(binary.LittleEndian.Uint32(b)))
	case "|b1":
		a.ints[i] = int(b[0])
	}
}
