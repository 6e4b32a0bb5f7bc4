package formats

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/ctxio"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// A NumPy file, as numpy.lib.format describes it:
//
//	"\x93NUMPY", major and minor version
//	length of the header: 2 bytes in version 1, 4 in versions 2 and 3
//	header: a Python dictionary with the keys descr, fortran_order and shape
//	the numbers

const npyMagic = "\x93NUMPY"

// ReadNPY reads an array in NumPy's format, versions 1 to 3: floats of 2, 4 or 8 bytes, integers of 1 to 8 bytes,
// signed or not, and booleans, in either byte order, in row or column order.
func ReadNPY[T matrix.Float](ctx context.Context, r io.Reader, opts sheets.Options) (matrix.Dense[T], error) {
	if err := noName(opts.Array); err != nil {
		return matrix.Dense[T]{}, err
	}
	_, m, err := readNPY[T](ctxio.Reader(ctx, r), sizeOf(r), arrayUse{Options: opts})
	return m, ended(ctx, err)
}

// ReadNPYTable reads such an array as a table with the columns c0, c1, … Options for text files have no effect.
// Integers that float64 cannot represent are an error.
func ReadNPYTable(ctx context.Context, r io.Reader, opts sheets.Options) (*dataset.Table, error) {
	if err := noName(opts.Array); err != nil {
		return nil, err
	}
	a, m, err := readNPY[float64](ctxio.Reader(ctx, r), sizeOf(r), arrayUse{opts, true})
	if err != nil {
		return nil, ended(ctx, err)
	}
	return arrayTable(ctx, a, m, opts)
}

func readNPY[T matrix.Float](r io.Reader, size int64, use arrayUse) (array, matrix.Dense[T], error) {
	a, err := readNPYHeader(r)
	if err != nil {
		return array{}, matrix.Dense[T]{}, err
	}
	m, err := readArray[T](r, a, size, use)
	if err == nil {
		err = atEnd(r)
	}
	if err != nil {
		return array{}, matrix.Dense[T]{}, err
	}
	return a, m, nil
}

// ReadNPYShape reads the header of an array, but none of its numbers.
func ReadNPYShape(r io.Reader) (rows, cols int, err error) {
	a, err := readNPYHeader(r)
	return a.rows, a.cols, err
}

// sizeOf returns the total number of bytes of r, or -1.
func sizeOf(r io.Reader) int64 {
	if sized, ok := r.(interface{ Size() int64 }); ok {
		return sized.Size()
	}
	return -1
}

// atEnd makes sure that nothing follows. Readers of compressed data also verify the checksum then.
func atEnd(r io.Reader) error {
	switch _, err := io.ReadFull(r, make([]byte, 1)); err {
	case io.EOF:
		return nil
	case nil:
		return &sheets.Error{Kind: sheets.ErrFormat, Detail: "there are bytes after the array that the header describes",
			Advice: "check that the file is complete and holds one array"}
	default:
		return &sheets.Error{Kind: sheets.ErrRead, Cause: err, Advice: "check that the file is complete"}
	}
}

// mostHeader is far longer than the header of any array of numbers.
const mostHeader = 64 << 10

func readNPYHeader(r io.Reader) (array, error) {
	var start [12]byte
	if err := readStart(r, start[:10]); err != nil {
		return array{}, err
	}
	if string(start[:6]) != npyMagic {
		return array{}, &sheets.Error{Kind: sheets.ErrFormat, Detail: "it does not start as a NumPy file does: " +
			cells.QuoteShort(start[:6]),
			Advice: "write it with numpy.save"}
	}
	length := int64(binary.LittleEndian.Uint16(start[8:]))
	switch start[6] {
	case 1:
	case 2, 3:
		if err := readStart(r, start[10:]); err != nil {
			return array{}, err
		}
		length = int64(binary.LittleEndian.Uint32(start[8:]))
	default:
		return array{}, &sheets.Error{Kind: sheets.ErrFormat, Detail: fmt.Sprintf("version %d of NumPy's format", start[6]),
			Advice: "write it with numpy.save"}
	}
	if length > mostHeader {
		return array{}, &sheets.Error{Kind: sheets.ErrHeader, Detail: fmt.Sprintf("it has %d bytes", length),
			Advice: "check that the file is complete"}
	}
	header := make([]byte, length)
	if err := readStart(r, header); err != nil {
		return array{}, err
	}
	return parseNPYHeader(header)
}

func readStart(r io.Reader, to []byte) error {
	if _, err := io.ReadFull(r, to); err != nil {
		return &sheets.Error{Kind: sheets.ErrRead, Detail: "it ends in the header", Cause: err,
			Advice: "check that the file is complete"}
	}
	return nil
}

// parseNPYHeader reads a header such as
//
//	{'descr': '<f8', 'fortran_order': False, 'shape': (200, 3), }
func parseNPYHeader(header []byte) (array, error) {
	h := npyHeader{rest: header}
	if !h.dictionary() {
		return array{}, &sheets.Error{Kind: sheets.ErrHeader, Detail: cells.QuoteShort(header),
			Advice: "write the file with numpy.save"}
	}
	e, ok := parseElement(h.descr)
	if !ok {
		return array{}, &sheets.Error{Kind: sheets.ErrFormat, Detail: "the elements are of type " +
			cells.QuoteShort([]byte(h.descr)),
			Advice: "store floats, integers or booleans, as x.astype(float) does"}
	}
	return newArray(e, h.shape, h.fortran)
}

// parseElement reads a type such as <f8.
func parseElement(descr string) (element, bool) {
	if len(descr) != 3 || strings.IndexByte("<>|=", descr[0]) < 0 {
		return element{}, false
	}
	e := element{kind: descr[1], size: int(descr[2] - '0'), big: descr[0] == '>'}
	return e, e.known() && (descr[0] != '|' || e.size == 1)
}

// npyHeader parses the text of a header. Its methods report whether they found what they expect.
type npyHeader struct {
	rest    []byte
	descr   string
	fortran bool
	shape   []int
	seen    [3]bool
}

func (h *npyHeader) dictionary() bool {
	if !h.token("{") {
		return false
	}
	for !h.token("}") {
		if !h.entry() {
			return false
		}
		if !h.token(",") && !h.starts("}") {
			return false
		}
	}
	h.blanks()
	return len(h.rest) == 0 && h.seen == [3]bool{true, true, true}
}

func (h *npyHeader) entry() bool {
	key, ok := h.text()
	if !ok || !h.token(":") {
		return false
	}
	switch key {
	case "descr":
		return h.first(0) && h.typeOfElements()
	case "fortran_order":
		h.fortran = h.token("True")
		return h.first(1) && (h.fortran || h.token("False"))
	case "shape":
		return h.first(2) && h.tuple()
	}
	return false
}

// first reports whether the key occurs for the first time.
func (h *npyHeader) first(key int) bool {
	again := h.seen[key]
	h.seen[key] = true
	return !again
}

// typeOfElements reads a string, or the list of fields of a structured array,
// of which it keeps only the start for the message.
func (h *npyHeader) typeOfElements() (ok bool) {
	if !h.starts("[") {
		h.descr, ok = h.text()
		return ok
	}
	depth := 0
	for i, c := range h.rest {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth == 0 {
			h.descr, h.rest = string(h.rest[:i+1]), h.rest[i+1:]
			return true
		}
	}
	return false
}

func (h *npyHeader) tuple() bool {
	if !h.token("(") {
		return false
	}
	for !h.token(")") {
		n, ok := h.number()
		if !ok || len(h.shape) == 32 {
			return false
		}
		h.shape = append(h.shape, n)
		if !h.token(",") && !h.starts(")") {
			return false
		}
	}
	return true
}

func (h *npyHeader) number() (int, bool) {
	h.blanks()
	end := 0
	for end < len(h.rest) && isDigit(h.rest[end]) {
		end++
	}
	n, err := strconv.Atoi(string(h.rest[:end]))
	h.rest = bytes.TrimPrefix(h.rest[end:], []byte("L")) // of Python 2
	return n, err == nil && n < math.MaxInt
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// text reads a quoted string.
func (h *npyHeader) text() (string, bool) {
	h.blanks()
	if len(h.rest) == 0 || h.rest[0] != '\'' && h.rest[0] != '"' {
		return "", false
	}
	end := bytes.IndexByte(h.rest[1:], h.rest[0])
	if end < 0 {
		return "", false
	}
	text := string(h.rest[1 : end+1])
	h.rest = h.rest[end+2:]
	return text, true
}

func (h *npyHeader) token(t string) bool {
	if !h.starts(t) {
		return false
	}
	h.rest = h.rest[len(t):]
	return true
}

func (h *npyHeader) starts(t string) bool {
	h.blanks()
	return bytes.HasPrefix(h.rest, []byte(t))
}

func (h *npyHeader) blanks() { h.rest = bytes.TrimLeft(h.rest, " \t\r\n") }

// WriteNPY writes the matrix in NumPy's format, which ReadNPY and numpy.load read.
func WriteNPY[T matrix.Float](w io.Writer, m matrix.Dense[T]) error {
	if err := writeNPYHeader(w, fmt.Sprintf("<f%d", sizeOfNumber[T]()), m.Rows, m.Cols); err != nil {
		return err
	}
	return writeNumbers(w, m)
}

// sizeOfNumber is the number of bytes of a T.
func sizeOfNumber[T matrix.Float]() int {
	var number T
	return int(unsafe.Sizeof(number))
}

// NPYRows is an array that is being written in NumPy's format (WriteMatrixRows): in
// float32, by Write, or in float64, by WriteDouble.
type NPYRows struct {
	w       io.Writer
	rows    int // in total
	started bool
}

// Write adds rows in float32.
func (n *NPYRows) Write(m matrix.Dense[float32]) error { return writeNPYRows(n, m) }

// WriteDouble adds rows in float64.
func (n *NPYRows) WriteDouble(m matrix.Dense[float64]) error { return writeNPYRows(n, m) }

func writeNPYRows[T matrix.Float](n *NPYRows, m matrix.Dense[T]) error {
	if !n.started {
		n.started = true
		if err := writeNPYHeader(n.w, fmt.Sprintf("<f%d", sizeOfNumber[T]()), n.rows, m.Cols); err != nil {
			return err
		}
	}
	return writeNumbers(n.w, m)
}

// writeNumbers writes the numbers of a matrix, row by row.
func writeNumbers[T matrix.Float](w io.Writer, m matrix.Dense[T]) error {
	size := sizeOfNumber[T]()
	raw := make([]byte, 0, arrayBlock)
	for i := range m.Rows {
		for _, v := range m.Row(i) {
			if len(raw)+size > cap(raw) {
				if _, err := w.Write(raw); err != nil {
					return err
				}
				raw = raw[:0]
			}
			if size == 4 {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
			} else {
				raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(float64(v)))
			}
		}
	}
	_, err := w.Write(raw)
	return err
}

// WriteNPYInts writes the numbers in NumPy's format, as one column of int64.
func WriteNPYInts(w io.Writer, values []int) error {
	if err := writeNPYHeader(w, "<i8", len(values), 1); err != nil {
		return err
	}
	raw := make([]byte, 0, 8*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	_, err := w.Write(raw)
	return err
}

// writeNPYHeader pads the header so that the numbers start at a multiple of 64.
func writeNPYHeader(w io.Writer, descr string, rows, cols int) error {
	const start = len(npyMagic) + 4
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", descr, rows, cols)
	header += strings.Repeat(" ", 63-(start+len(header))%64) + "\n"
	raw := append([]byte(npyMagic), 1, 0)
	raw = binary.LittleEndian.AppendUint16(raw, uint16(len(header)))
	_, err := w.Write(append(raw, header...))
	return err
}

// noName rejects a name where arrays have none.
func noName(name string) error {
	if name == "" {
		return nil
	}
	return &sheets.Error{Kind: sheets.ErrArray, Detail: name, Advice: "a .npy file holds one array, which has no name"}
}

// writeNPYTable writes the columns, all of which must be numeric.
func writeNPYTable(w io.Writer, t *dataset.Table) error {
	m := matrix.New[float64](t.Rows(), len(t.Columns()))
	for j, c := range t.Columns() {
		numbers, ok := c.(*dataset.Numeric)
		if !ok {
			return &sheets.Error{Column: j + 1, Name: c.Name(), Kind: sheets.ErrNumber, Detail: "the column is " +
				c.Kind().String(),
				Advice: "leave it out, or write CSV or Parquet"}
		}
		for row := range t.Rows() {
			m.Set(row, j, numbers.Float(row))
		}
	}
	return WriteNPY(w, m)
}
