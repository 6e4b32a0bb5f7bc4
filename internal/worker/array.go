package worker

import (
	"fmt"
	"unsafe"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/matrix"
)

// elementBytes are the types of elements, with their sizes.
var elementBytes = map[string]int64{"float32": 4, "float64": 8, "int32": 4, "int64": 8, "uint8": 1}

// Array is an array of a frame, in one of the slices.
type Array struct {
	Shape
	Float32 []float32
	Float64 []float64
	Int32   []int32
	Int64   []int64
	Uint8   []uint8
}

// newArray allocates an array of a shape that has been checked.
func newArray(s Shape) Array {
	a := Array{Shape: s}
	n, _ := s.elements()
	switch s.Type {
	case "float32":
		a.Float32 = matrix.Alloc[float32](int(n))
	case "float64":
		a.Float64 = matrix.Alloc[float64](int(n))
	case "int32":
		a.Int32 = make([]int32, n)
	case "int64":
		a.Int64 = make([]int64, n)
	case "uint8":
		a.Uint8 = make([]uint8, n)
	}
	return a
}

// bytes returns the memory of the elements. Both sides of a pipe are processes of one
// machine, and all that the program is built for are little-endian.
func (a Array) bytes() []byte {
	switch {
	case len(a.Float32) > 0:
		return memory(a.Float32)
	case len(a.Float64) > 0:
		return memory(a.Float64)
	case len(a.Int32) > 0:
		return memory(a.Int32)
	case len(a.Int64) > 0:
		return memory(a.Int64)
	}
	return a.Uint8
}

func memory[T any](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}

// numbers returns an array of one dimension as float64.
func (a Array) numbers() ([]float64, error) {
	if len(a.Dims) != 1 {
		return nil, fmt.Errorf("has the shape %v where a list is expected", a.Dims)
	}
	return a.floats()
}

// labels returns an array of labels, one row after the other, and how many targets they
// are of: one for a list, otherwise one for each column.
func (a Array) labels() (values []float64, targets int, err error) {
	if targets = 1; len(a.Dims) == 2 {
		targets = a.Dims[1]
	}
	if len(a.Dims) < 1 || len(a.Dims) > 2 || targets < 1 {
		return nil, 0, fmt.Errorf("has the shape %v where a list is expected, or a column for each target", a.Dims)
	}
	if a.Dims[0] == 0 { // and so any number of targets
		return nil, 0, fmt.Errorf("has no labels")
	}
	values, err = a.floats()
	return values, targets, err
}

// floats returns the elements as float64.
func (a Array) floats() ([]float64, error) {
	switch a.Type {
	case "float64":
		return a.Float64, nil
	case "float32":
		values := make([]float64, len(a.Float32))
		for i, v := range a.Float32 {
			values[i] = float64(v)
		}
		return values, nil
	}
	return nil, fmt.Errorf("has elements of type %s where numbers are expected", a.Type)
}

// matrixOf returns an array of two dimensions as a matrix, without a copy if it has
// the elements already. Rows without columns are rejected: an array without elements may
// claim any number of them.
func matrixOf[T matrix.Float](a Array) (m matrix.Dense[T], err error) {
	if len(a.Dims) != 2 {
		return m, fmt.Errorf("has the shape %v where rows and columns are expected", a.Dims)
	}
	if a.Dims[0] > 0 && a.Dims[1] == 0 {
		return m, fmt.Errorf("has the shape %v, which is rows without columns", a.Dims)
	}
	switch a.Type {
	case "float32":
		return converted[T](matrix.View(a.Dims[0], a.Dims[1], a.Float32)), nil
	case "float64":
		return converted[T](matrix.View(a.Dims[0], a.Dims[1], a.Float64)), nil
	}
	return m, fmt.Errorf("has elements of type %s where numbers are expected", a.Type)
}

// centred returns an array of two dimensions as rows in float32 minus the centres of its columns,
// these centres, and warnings about columns that lost digits before. An array of float32 is overwritten.
// Without rows, nothing bounds the number of columns, and there is nothing to learn from.
func centred(a Array) (x matrix.Dense[float32], centres []float64, warnings []string, err error) {
	if len(a.Dims) == 2 && a.Dims[0] == 0 {
		return x, nil, nil, fmt.Errorf("has the shape %v, which has no rows to learn from", a.Dims)
	}
	var lost []dataset.Coarse
	if a.Type == "float32" {
		if x, err = matrixOf[float32](a); err != nil {
			return x, nil, nil, err
		}
		lost, centres = dataset.CoarseColumns(x), dataset.Centres(x)
		dataset.Centre(x, x, centres)
	} else {
		raw, err := matrixOf[float64](a)
		if err != nil {
			return x, nil, nil, err
		}
		lost, centres = dataset.CoarseColumns(raw), dataset.Centres(raw)
		x = matrix.New[float32](raw.Rows, raw.Cols)
		dataset.Centre(x, raw, centres)
	}
	for _, c := range lost {
		//warning:lost-digits
		warnings = append(warnings,
			fmt.Sprintf("column %s (from 0) of X may have lost digits: %v; subtract an offset from it, such as %.4g, before "+
				"it is rounded to that", c.Column, c, c.Around))
	}
	return x, centres, warnings, nil
}

func converted[To, From matrix.Float](m matrix.Dense[From]) matrix.Dense[To] {
	if same, ok := any(m).(matrix.Dense[To]); ok {
		return same
	}
	return matrix.Converted[To](m)
}

// list wraps numbers as an array.
func list(values []float64) Array {
	return Array{Shape: Shape{"float64", []int{len(values)}}, Float64: values}
}
