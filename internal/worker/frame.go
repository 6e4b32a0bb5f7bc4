package worker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/words"
)

// mostHeader is longer than any header that a client writes: texts of categories are
// the only part of it that grows with a table.
const mostHeader = 256 << 20

// Header is the JSON part of a frame.
type Header struct {
	ID     uint64          `json:"id"`   // of the request; an answer repeats it
	Kind   string          `json:"kind"` // of the request or of the answer
	Body   json.RawMessage `json:"body,omitempty"`
	Arrays []Shape         `json:"arrays,omitempty"`
}

// Shape describes an array that follows the header.
type Shape struct {
	Type string `json:"type"` // float32, float64, int32, int64 or uint8
	Dims []int  `json:"shape"`
}

// Frame is a header with its arrays.
type Frame struct {
	Header
	Data []Array
}

// FrameError reports bytes that are not a frame. What follows them cannot be read.
type FrameError struct{ Reason string }

func (e *FrameError) Error() string { return "the frame " + e.Reason }

// SizeError reports arrays that are larger than the limit. They have been skipped, so
// that the next frame can be read.
type SizeError struct {
	ID          uint64 // of the request
	Need, Limit int64  // bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("the arrays take %s, but %s are available", words.Memory(e.Need), words.Memory(e.Limit))
}

// readFrame reads a frame whose arrays take at most limit() bytes; limit is called only
// if there are arrays. At the end of the stream the error is io.EOF; within a frame it
// is io.ErrUnexpectedEOF.
func readFrame(r io.Reader, limit func() int64) (f Frame, err error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return f, err
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > mostHeader {
		return f, &FrameError{fmt.Sprintf("has a header of %d bytes, more than %d", n, mostHeader)}
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(n))) // grows with what arrives, not with what was announced
	if err == nil && len(text) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(text, &f.Header); err != nil {
		return f, &FrameError{"has a header that is not JSON: " + err.Error()}
	}
	return f, f.readArrays(r, limit)
}

func (f *Frame) readArrays(r io.Reader, limit func() int64) error {
	need := int64(0)
	for i, s := range f.Arrays {
		n, err := s.bytes()
		if err != nil {
			return &FrameError{fmt.Sprintf("has an array %d that %v", i, err)}
		}
		if need += n + int64(unsafe.Sizeof(Array{})); need < 0 {
			return &FrameError{"has arrays of more bytes than can be counted"}
		}
	}
	if len(f.Arrays) == 0 {
		return nil
	}
	if most := limit(); need > most {
		follow := need - int64(len(f.Arrays))*int64(unsafe.Sizeof(Array{}))
		if _, err := io.CopyN(io.Discard, r, follow); err != nil {
			return unexpected(err)
		}
		return &SizeError{f.ID, need, most}
	}
	f.Data = make([]Array, len(f.Arrays))
	for i, s := range f.Arrays {
		f.Data[i] = newArray(s)
		if _, err := io.ReadFull(r, f.Data[i].bytes()); err != nil {
			return unexpected(err)
		}
	}
	return nil
}

// unexpected is for streams that end within a frame.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// writeFrame writes a frame. The header's list of arrays is made from the data.
func writeFrame(w io.Writer, f Frame) error {
	f.Arrays = nil
	for _, a := range f.Data {
		f.Arrays = append(f.Arrays, a.Shape)
	}
	text, err := json.Marshal(f.Header)
	if err != nil {
		return err
	}
	if len(text) > mostHeader {
		return &FrameError{fmt.Sprintf("has a header of %d bytes, more than %d", len(text), mostHeader)}
	}
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text)))
	if _, err := w.Write(append(frame, text...)); err != nil {
		return err
	}
	for _, a := range f.Data {
		elements := a.bytes()
		if len(elements) == 0 {
			continue
		}
		if _, err := w.Write(elements); err != nil {
			return err
		}
	}
	return nil
}

// elements returns how many elements an array has.
func (s Shape) elements() (int64, error) {
	n := uint64(1)
	for _, d := range s.Dims {
		if d < 0 {
			return 0, fmt.Errorf("has the shape %v", s.Dims)
		}
		high, low := bits.Mul64(n, uint64(d))
		if high > 0 || low > math.MaxInt64/8 {
			return 0, fmt.Errorf("has the shape %v, which is too large", s.Dims)
		}
		n = low
	}
	return int64(n), nil
}

func (s Shape) bytes() (int64, error) {
	n, err := s.elements()
	if err != nil {
		return 0, err
	}
	size, known := elementBytes[s.Type]
	if !known {
		return 0, fmt.Errorf("has elements of the unknown type %q", s.Type)
	}
	return n * size, nil
}
