package formats

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/ctxio"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// A MATLAB file of version 5, as "MAT-File Format" describes it, is a header of 128 bytes followed by elements. An
// element is a tag, which holds its type and its number of bytes, and those bytes. A variable is an element of type
// miMATRIX or, compressed with zlib, miCOMPRESSED, and consists of elements itself: flags with the class of the
// variable, dimensions, name, and the numbers, in column order and in whichever type takes the least space.
const (
	miINT8       = 1
	miINT32      = 5
	miUINT32     = 6
	miMATRIX     = 14
	miCOMPRESSED = 15

	mxDOUBLE = 6  // the first class of numbers
	mxUINT64 = 15 // the last
)

// matTypes are the element types that hold numbers.
var matTypes = map[uint32]element{
	miINT8: {kind: 'i', size: 1}, 2: {kind: 'u', size: 1}, 3: {kind: 'i', size: 2}, 4: {kind: 'u', size: 2},
	miINT32: {kind: 'i', size: 4}, miUINT32: {kind: 'u', size: 4}, 7: {kind: 'f', size: 4}, 9: {kind: 'f', size: 8},
	12: {kind: 'i', size: 8}, 13: {kind: 'u', size: 8},
}

// ReadMAT reads one variable of a MATLAB file of version 5, which save writes by default and with -v6 or -v7: a real
// matrix of any numeric class, named by Options.Array. Numbers are rounded to T; one out of T's range is an error.
func ReadMAT[T matrix.Float](ctx context.Context, r io.Reader, opts sheets.Options) (matrix.Dense[T], error) {
	_, m, err := readMAT[T](ctxio.Reader(ctx, r), sizeOf(r), arrayUse{Options: opts})
	return m, ended(ctx, err)
}

// ReadMATTable reads the variable named by the options as a table with the columns c0, c1, …
func ReadMATTable(ctx context.Context, r io.Reader, opts sheets.Options) (*dataset.Table, error) {
	a, m, err := readMAT[float64](ctxio.Reader(ctx, r), sizeOf(r), arrayUse{opts, true})
	if err != nil {
		return nil, ended(ctx, err)
	}
	return arrayTable(ctx, a, m, opts)
}

func readMAT[T matrix.Float](r io.Reader, size int64, use arrayUse) (array, matrix.Dense[T], error) {
	f := &matReader[T]{r: r, size: size, use: use}
	err := f.readHeader()
	for err == nil {
		err = f.readVariable()
	}
	if err == io.EOF {
		err = oneOf(f.names, use.Array)
	}
	if err != nil {
		return array{}, matrix.Dense[T]{}, err
	}
	return f.shape, f.found, nil
}

type matReader[T matrix.Float] struct {
	r     io.Reader
	size  int64 // of the file, or -1
	order binary.ByteOrder
	use   arrayUse // with the name of the variable to read
	names []string // of all variables that hold numbers
	shape array
	found matrix.Dense[T]
}

func (f *matReader[T]) readHeader() error {
	var header [128]byte
	n, err := io.ReadFull(f.r, header[:])
	if bytes.HasPrefix(header[:], []byte("MATLAB 7.3")) || bytes.HasPrefix(header[:], []byte("\x89HDF")) {
		return &sheets.Error{Kind: sheets.ErrFormat, Detail: "it is of version 7.3, which is HDF5",
			Advice: "save it with -v7"}
	}
	if n >= 4 && bytes.IndexByte(header[:4], 0) >= 0 { // version 5 starts with text
		return &sheets.Error{Kind: sheets.ErrFormat, Detail: "it is of version 4, or not a MATLAB file",
			Advice: "save it with -v7"}
	}
	if err != nil {
		return &sheets.Error{Kind: sheets.ErrRead, Detail: fmt.Sprintf("it ends in the header, after %d bytes", n),
			Cause:  err,
			Advice: "check that the file is complete"}
	}
	switch string(header[126:]) {
	case "IM":
		f.order = binary.LittleEndian
	case "MI":
		f.order = binary.BigEndian
	}
	if f.order == nil || f.order.Uint16(header[124:])>>8 != 1 {
		return &sheets.Error{Kind: sheets.ErrFormat, Detail: "it does not start as a MATLAB file of version 5 does: " +
			cells.QuoteShort(header[:16]), Advice: "save it with -v7"}
	}
	return nil
}

// readVariable reads the next variable, or skips it. After the last comes io.EOF.
func (f *matReader[T]) readVariable() error {
	var tag [8]byte
	if _, err := io.ReadFull(f.r, tag[:]); err == io.EOF {
		return io.EOF
	} else if err != nil {
		return damaged(err)
	}
	kind, size := f.order.Uint32(tag[:]), int64(f.order.Uint32(tag[4:]))
	body := &io.LimitedReader{R: f.r, N: size}
	var err error
	switch kind {
	case miMATRIX:
		err = f.readMatrix(body, f.size)
	case miCOMPRESSED:
		err = f.readCompressed(body)
	}
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return damaged(err)
	}
	if body.N > 0 {
		return damaged(io.ErrUnexpectedEOF)
	}
	return nil
}

func (f *matReader[T]) readCompressed(body io.Reader) error {
	z, err := zlib.NewReader(body)
	if err != nil {
		return damaged(err)
	}
	var tag [8]byte
	if _, err := io.ReadFull(z, tag[:]); err != nil {
		return damaged(err)
	}
	if f.order.Uint32(tag[:]) != miMATRIX {
		return nil
	}
	before := f.found.Rows
	if err := f.readMatrix(&io.LimitedReader{R: z, N: int64(f.order.Uint32(tag[4:]))}, -1); err != nil {
		return err
	}
	if f.found.Rows == before {
		return nil // a skipped variable need not be complete
	}
	if _, err := io.Copy(io.Discard, z); err != nil { // which verifies the checksum
		return damaged(err)
	}
	return nil
}

// readMatrix reads the elements of a variable, and its numbers if it is the
// requested one. The body has at most size bytes, unless size is -1.
func (f *matReader[T]) readMatrix(body *io.LimitedReader, size int64) error {
	if body.N == 0 {
		return nil // an empty variable
	}
	flags, err := f.readSmall(body, miUINT32)
	if err != nil {
		return err
	}
	if len(flags) < 8 {
		return damaged(errors.New("the flags of a variable are too short"))
	}
	const complexFlag = 0x800
	word := f.order.Uint32(flags)
	if class := word & 0xff; class < mxDOUBLE || class > mxUINT64 {
		return nil
	}
	dimensions, err := f.readSmall(body, miINT32)
	if err != nil {
		return err
	}
	name, err := f.readSmall(body, miINT8)
	if err != nil {
		return err
	}
	f.names = append(f.names, string(name))
	if wanted := f.use.Array; wanted != "" && string(name) != wanted || wanted == "" && len(f.names) > 1 {
		return nil
	}
	if word&complexFlag != 0 {
		return &sheets.Error{Kind: sheets.ErrFormat, Detail: string(name) + " holds complex numbers",
			Advice: "save the real part"}
	}
	shape := make([]int, len(dimensions)/4)
	for i := range shape {
		shape[i] = int(int32(f.order.Uint32(dimensions[4*i:])))
	}
	return f.readNumbers(body, shape, size)
}

func (f *matReader[T]) readNumbers(body *io.LimitedReader, shape []int, size int64) error {
	kind, length, data, err := f.readTag(body)
	if err != nil {
		return err
	}
	e, ok := matTypes[kind]
	if !ok {
		return &sheets.Error{Kind: sheets.ErrFormat, Detail: fmt.Sprintf("the numbers are of type %d", kind),
			Advice: "save it with -v7"}
	}
	e.big = f.order == binary.BigEndian
	a, err := newArray(e, shape, true)
	if err != nil {
		return err
	}
	if want := int64(a.rows) * int64(a.cols); want > math.MaxInt64/8 || want*int64(e.size) != length {
		return damaged(fmt.Errorf("%d x %d numbers of %d bytes do not take %d bytes", a.rows, a.cols, e.size, length))
	}
	f.shape = a
	f.found, err = readArray[T](data, a, size, f.use)
	return err
}

// readSmall returns the bytes of an element that is always small.
func (f *matReader[T]) readSmall(body *io.LimitedReader, want uint32) ([]byte, error) {
	kind, length, data, err := f.readTag(body)
	if err != nil {
		return nil, err
	}
	const most = 4096
	if kind != want || length > most {
		return nil,
			damaged(fmt.Errorf("an element of type %d and %d bytes, where one of type %d is expected", kind, length, want))
	}
	padded := make([]byte, length)
	if _, err := io.ReadFull(data, padded); err != nil {
		return nil, damaged(err)
	}
	if data == io.Reader(body) {
		if _, err := io.CopyN(io.Discard, body, -length&7); err != nil { // elements start at multiples of 8
			return nil, damaged(err)
		}
	}
	return padded, nil
}

// readTag reads the tag of an element. Its bytes follow in data, which is body
// itself, or the tag if there are at most four.
func (f *matReader[T]) readTag(body *io.LimitedReader) (kind uint32, length int64, data io.Reader, err error) {
	var tag [8]byte
	if _, err := io.ReadFull(body, tag[:]); err != nil {
		return 0, 0, nil, damaged(err)
	}
	kind = f.order.Uint32(tag[:])
	if small := kind >> 16; small != 0 {
		if small > 4 {
			return 0, 0, nil, damaged(fmt.Errorf("an element of %d bytes in its tag", small))
		}
		return kind & 0xffff, int64(small), strings.NewReader(string(tag[4 : 4+small])), nil
	}
	return kind, int64(f.order.Uint32(tag[4:])), body, nil
}
