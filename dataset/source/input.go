package source

import (
	"bytes"
	"fmt"
	"io"
)

const (
	bufferSize = 256 << 10
	maxRecord  = 64 << 20 // a quote that is never closed must not fill the memory
	mostIdle   = 100      // reads in a row that bring nothing
)

// input cuts what it reads into records, which lie in its buffer until the next
// call.
type input struct {
	from       io.Reader
	buffer     []byte
	start, end int // of what is read and not yet returned
	line       int // of the record at start
	done       bool
	allow      func(buffer int64) error // whether more may be read, with a buffer of so many bytes; nil always
}

// record is a piece of text with the line on which it starts.
type record struct {
	text  []byte
	line  int
	blank int // a blank line that was skipped before it, 0 for none
}

// newInput reads the first block and looks at how the text is encoded.
func newInput(from io.Reader) (*input, error) {
	in := &input{from: from, line: 1, buffer: make([]byte, bufferSize)}
	if err := in.fill(); err != nil {
		return nil, err
	}
	text := in.buffer[:in.end]
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, &Error{Kind: ErrEncoding, Detail: "it is UTF-16", Advice: "save it as UTF-8"}
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, &Error{Kind: ErrEncoding, Detail: "it holds zero bytes, as binary files do", Advice: "check the file's format"}
	}
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		in.start = 3
	}
	return in, nil
}

// next returns the record whose end the function finds: the index of its line
// feed in the text, or -1 if it lies beyond the text. The last record needs no
// line feed. After it comes io.EOF.
func (in *input) next(end func(text []byte) int) (record, error) {
	for {
		text := in.buffer[in.start:in.end]
		if n := end(text); n >= 0 {
			in.start += n + 1
			return in.take(text[:n]), nil
		}
		if in.done {
			if len(text) == 0 {
				return record{}, io.EOF
			}
			in.start = in.end
			return in.take(text), nil
		}
		if err := in.fill(); err != nil {
			return record{}, err
		}
	}
}

func (in *input) take(text []byte) record {
	r := record{text: bytes.TrimSuffix(text, []byte("\r")), line: in.line}
	in.line += 1 + bytes.Count(text, []byte("\n"))
	return r
}

// fill reads until the buffer is full, which is made larger if the record at
// hand takes most of it. So the search for the end of a record, which starts
// anew each time, stays linear in all.
func (in *input) fill() error {
	rest := in.buffer[in.start:in.end]
	if len(rest) > maxRecord {
		return &Error{Line: in.line, Kind: ErrTooLong, Detail: fmt.Sprintf("over %d MiB", maxRecord>>20),
			Advice: "look for a quote that is not closed"}
	}
	size := len(in.buffer)
	if 2*len(rest) > size {
		size *= 2
	}
	if in.allow != nil {
		if err := in.allow(int64(size)); err != nil {
			return err
		}
	}
	to := in.buffer
	if size > len(to) {
		to = make([]byte, size)
	}
	in.start, in.end = 0, copy(to, rest)
	in.buffer = to
	return in.read()
}

// read is io.ReadFull, but for the end of the file: there io.ReadFull answers
// with the error that a truncated gzip stream has.
func (in *input) read() error {
	for idle := 0; in.end < len(in.buffer); idle++ {
		n, err := in.from.Read(in.buffer[in.end:])
		in.end += n
		if n > 0 {
			idle = 0
		}
		if err == nil && idle == mostIdle {
			err = io.ErrNoProgress
		}
		if err == io.EOF {
			in.done = true
			return nil
		}
		if err != nil {
			return &Error{Line: in.line, Kind: ErrRead, Cause: err, Advice: "check that the file is whole"}
		}
	}
	return nil
}
