package formats

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unsafe"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// array describes consecutive numbers in a binary file.
type array struct {
	element
	rows, cols  int
	columnMajor bool // the numbers of a column are adjacent, not those of a row
}

// element is how one number is stored.
type element struct {
	kind byte // 'f', 'i', 'u' or 'b', NumPy's names
	size int  // in bytes
	big  bool // the most significant byte comes first
}

func (e element) known() bool {
	switch e.kind {
	case 'f':
		return e.size == 2 || e.size == 4 || e.size == 8
	case 'i', 'u':
		return e.size == 1 || e.size == 2 || e.size == 4 || e.size == 8
	}
	return e.kind == 'b' && e.size == 1
}

// newArray takes the lengths of the dimensions: one for a column, otherwise two.
func newArray(e element, shape []int, columnMajor bool) (array, error) {
	a := array{element: e, columnMajor: columnMajor, cols: 1}
	switch len(shape) {
	case 1:
		a.rows = shape[0]
	case 2:
		a.rows, a.cols = shape[0], shape[1]
	default:
		return array{}, &sheets.Error{Kind: sheets.ErrShape, Detail: fmt.Sprintf("the array has %d dimensions", len(shape)),
			Advice: "store it as rows and columns, as x.reshape(len(x), -1) does"}
	}
	if a.rows == 0 || a.cols == 0 {
		return array{}, &sheets.Error{Kind: sheets.ErrEmpty, Detail: fmt.Sprintf("the shape is %d x %d", a.rows, a.cols),
			Advice: "check that it is the right file"}
	}
	const widest = 8 // bytes, stored or in memory
	if high, n := bits.Mul64(uint64(a.rows), uint64(a.cols)); a.rows < 0 || a.cols < 0 || high != 0 ||
		n > math.MaxInt/widest {
		return array{}, &sheets.Error{Kind: sheets.ErrShape, Detail: fmt.Sprintf("%d x %d numbers do not fit into memory",
			a.rows, a.cols),
			Advice: "check that the file is complete"}
	}
	return a, nil
}

// place returns the row and the column of the k-th number, from 0.
func (a array) place(k int) (row, col int) {
	if a.columnMajor {
		return k % a.rows, k / a.rows
	}
	return k / a.cols, k % a.cols
}

// at returns an error at the k-th number.
func (a array) at(k int, e sheets.Error) *sheets.Error {
	row, col := a.place(k)
	e.Row, e.Column = row+1, col+1
	return &e
}

// arrayBlock is how many elements are read at a time, and for how many memory is allocated in advance if the number
// of bytes is unknown: a header that promises more than follows costs nothing.
const arrayBlock = 32 << 10

// arrayUse is what an array is read for.
type arrayUse struct {
	sheets.Options
	table bool // it becomes a table, not a matrix
}

// check rejects an array that would take too much memory, before any is allocated.
func (u arrayUse) check(a array, element int64, known bool) error {
	if u.table && a.cols > sheets.MostColumns {
		return &sheets.Error{Kind: sheets.ErrShape, Detail: fmt.Sprintf("%d x %d numbers would become as many columns",
			a.rows, a.cols),
			Advice: "transpose the array"}
	}
	return sheets.Allow(u.Options, a.arrayBytes(element, known, u.table), fmt.Sprintf("an array of %d x %d numbers",
		a.rows, a.cols))
}

// readArray reads the numbers of an array, each rounded to T. A number out of T's range is an error. size is how many
// bytes r holds, or -1 if that is unknown; no memory is allocated for more.
func readArray[T matrix.Float](r io.Reader, a array, size int64, use arrayUse) (matrix.Dense[T], error) {
	var number T
	if err := use.check(a, int64(unsafe.Sizeof(number)), size >= 0); err != nil {
		return matrix.Dense[T]{}, err
	}
	n := a.rows * a.cols
	room := arrayBlock
	if size >= 0 {
		room = max(room, int(min(size/int64(a.size), math.MaxInt/16)))
	}
	data := matrix.Alloc[T](min(n, room))
	raw := make([]byte, min(n, arrayBlock)*a.size)
	for at := 0; at < n; {
		if at == len(data) {
			more := matrix.Alloc[T](int(min(uint(n), 2*uint(at))))
			copy(more, data)
			data = more
		}
		block := data[at:min(at+arrayBlock, len(data))]
		bytes := raw[:len(block)*a.size]
		if got, err := io.ReadFull(r, bytes); err != nil {
			return matrix.Dense[T]{}, a.truncated(at+got/a.size, err)
		}
		if bad := convert(block, bytes, a.element); bad >= 0 {
			return matrix.Dense[T]{}, a.at(at+bad, sheets.Error{Kind: sheets.ErrRange, Detail: "it exceeds the largest float32",
				Advice: "scale the column"})
		}
		at += len(block)
	}
	if a.columnMajor {
		return transposed(matrix.View(a.cols, a.rows, data)), nil
	}
	return matrix.View(a.rows, a.cols, data), nil
}

func (a array) truncated(k int, err error) error {
	e := sheets.Error{Kind: sheets.ErrRead, Advice: "check that the file is complete"}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Detail = fmt.Sprintf("it ends after %d of %d x %d numbers", k, a.rows, a.cols)
	} else {
		e.Cause = err
	}
	return a.at(k, e)
}

// transposed returns the transpose, in blocks that stay in the cache.
func transposed[T matrix.Float](m matrix.Dense[T]) matrix.Dense[T] {
	if m.Rows == 1 || m.Cols == 1 {
		return matrix.View(m.Cols, m.Rows, m.Data)
	}
	const block = 64
	t := matrix.New[T](m.Cols, m.Rows)
	for r := 0; r < m.Rows; r += block {
		for c := 0; c < m.Cols; c += block {
			for i := r; i < min(r+block, m.Rows); i++ {
				for j, v := range m.Row(i)[c:min(c+block, m.Cols)] {
					t.Data[(c+j)*t.Stride+i] = v
				}
			}
		}
	}
	return t
}

// convert turns stored numbers into T. It returns the index of the first one
// out of T's range, or -1. It may reorder the bytes.
func convert[T matrix.Float](dst []T, raw []byte, e element) int {
	if e.big {
		for at := 0; e.size > 1 && at < len(raw); at += e.size {
			slices.Reverse(raw[at : at+e.size])
		}
	}
	order := binary.LittleEndian
	switch {
	case e.kind == 'f' && e.size == 2:
		for i := range dst {
			dst[i] = T(half(order.Uint16(raw[2*i:])))
		}
	case e.kind == 'f' && e.size == 4:
		for i := range dst {
			dst[i] = T(math.Float32frombits(order.Uint32(raw[4*i:])))
		}
	case e.kind == 'f':
		for i := range dst {
			v := math.Float64frombits(order.Uint64(raw[8*i:]))
			dst[i] = T(v)
			if math.IsInf(float64(dst[i]), 0) && !math.IsInf(v, 0) {
				return i
			}
		}
	case e.kind == 'b':
		for i := range dst {
			dst[i] = T(min(raw[i], 1))
		}
	case e.kind == 'i' && e.size == 1:
		for i := range dst {
			dst[i] = T(int8(raw[i]))
		}
	case e.kind == 'i' && e.size == 2:
		for i := range dst {
			dst[i] = T(int16(order.Uint16(raw[2*i:])))
		}
	case e.kind == 'i' && e.size == 4:
		for i := range dst {
			dst[i] = T(int32(order.Uint32(raw[4*i:])))
		}
	case e.kind == 'i':
		for i := range dst {
			dst[i] = T(int64(order.Uint64(raw[8*i:])))
		}
	case e.size == 1:
		for i := range dst {
			dst[i] = T(raw[i])
		}
	case e.size == 2:
		for i := range dst {
			dst[i] = T(order.Uint16(raw[2*i:]))
		}
	case e.size == 4:
		for i := range dst {
			dst[i] = T(order.Uint32(raw[4*i:]))
		}
	default:
		for i := range dst {
			dst[i] = T(order.Uint64(raw[8*i:]))
		}
	}
	return -1
}

// half returns the number whose IEEE 754 binary16 representation is bits: a
// sign, five bits of exponent and ten of fraction.
func half(bits uint16) float32 {
	fraction, exponent := float64(bits&0x3ff), int(bits>>10&0x1f)
	v := 0.0
	switch exponent {
	case 0:
		v = math.Ldexp(fraction, -24)
	case 0x1f:
		if v = math.Inf(1); fraction != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(fraction+1024, exponent-25)
	}
	if bits>>15 != 0 {
		v = -v
	}
	return float32(v)
}

// exactBelow is the number up to which float64 holds every integer.
const exactBelow = 1 << 53

// arrayTable turns an array into a table with the columns c0, c1, …
func arrayTable(ctx context.Context, a array, m matrix.Dense[float64], opts sheets.Options) (*dataset.Table, error) {
	names := make([]string, m.Cols)
	for j := range names {
		names[j] = "c" + strconv.Itoa(j)
	}
	if err := sheets.CheckNames(opts, names); err != nil {
		return nil, err
	}
	whole := a.kind != 'f' && a.size == 8
	var columns []dataset.Column
	ignored := sheets.IgnoredSet(opts)
	for j, name := range names {
		if ignored[name] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := dataset.NewNumeric(name)
		if a.kind == 'f' && a.size < 8 {
			c.FromSingle = true
		}
		for i := range m.Rows {
			v := m.Data[i*m.Stride+j]
			if whole && math.Abs(v) >= exactBelow {
				return nil, &sheets.Error{Row: i + 1, Column: j + 1, Name: name, Kind: sheets.ErrRange,
					Detail: "float64 cannot represent every integer of 2^53 or more",
					Advice: "store such ids as text, in a CSV or Parquet file"}
			}
			c.Append(v)
		}
		columns = append(columns, asKind(c, opts))
	}
	t, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, err
	}
	return sheets.WithIDs(opts, t)
}

// asKind returns the numbers as a column of the kind that the options declare.
func asKind(c *dataset.Numeric, opts sheets.Options) dataset.Column {
	switch kind, _ := sheets.DeclaredKind(opts, c.Name()); kind {
	case dataset.KindCategorical:
		return c.Categorical()
	case dataset.KindText:
		text := dataset.NewText(c.Name())
		for row := range c.Len() {
			text.Append([]byte(c.Format(row)))
		}
		return text
	}
	return c
}

// arrayBytes is the peak memory of reading an array of the shape: the numbers, a second copy while they are
// transposed or the first grows to its size, and the columns if they become a table.
func (a array) arrayBytes(element int64, known, table bool) int64 {
	numbers := int64(a.rows) * int64(a.cols) * element // newArray has ruled out an overflow
	copies := numbers
	if a.columnMajor && a.rows > 1 && a.cols > 1 || table || !known {
		copies += numbers
	}
	if table {
		copies += int64(a.cols) * int64(dataset.NewNumeric("").Bytes())
	}
	return copies
}
