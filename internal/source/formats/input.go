package formats

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

const (
	bufferSize = 256 << 10
	maxRecord  = 64 << 20 // an unclosed quote must not fill the memory
	mostIdle   = 100      // consecutive reads without bytes
)

// input splits what it reads into records, which stay in its buffer until the next call.
type input struct {
	from       io.Reader
	buffer     []byte
	start, end int // of the bytes read but not yet returned
	line       int // of the record at start
	done       bool
	allow      func(buffer int64) error // refuses a buffer of that many bytes; nil allows any
}

// newInput reads the first block and finds out how the text is encoded.
func newInput(from io.Reader, encoding string) (*input, error) {
	in, err := startInput(from)
	if err != nil {
		return nil, err
	}
	return in, in.decodeAs(encoding)
}

// startInput reads the first block.
func startInput(from io.Reader) (*input, error) {
	in := &input{from: from, line: 1, buffer: make([]byte, bufferSize)}
	return in, in.fill()
}

// decodeAs decodes the first block and what follows.
func (in *input) decodeAs(encoding string) error {
	text := in.buffer[:in.end]
	decode, mark, err := decodingOf(text, encoding)
	if err != nil {
		return err
	}
	in.start = mark
	if decode != nil {
		raw := io.MultiReader(bytes.NewReader(slices.Clone(text[mark:])), in.from)
		in.from, in.start, in.end, in.done = &decoder{from: bufio.NewReaderSize(raw, bufferSize), decode: decode}, 0, 0, false
		if err := in.fill(); err != nil {
			return err
		}
	}
	return checkText(in.buffer[in.start:in.end])
}

// newGuessedInput is newInput for a text whose encoding may be guessed from its first block, and whose lines
// may end with CR alone. It adds what it finds to the style.
func newGuessedInput(from io.Reader, encoding string, style *dataset.Style) (*input, error) {
	in, err := startInput(from)
	if err != nil {
		return nil, err
	}
	first := in.buffer[:in.end]
	style.Mark = hasMark(string(first[:min(len(first), 3)]))
	if style.Encoding = encoding; encoding == "" && !style.Mark {
		style.Encoding = guessEncoding(first, !in.done)
	}
	if err := in.decodeAs(style.Encoding); err != nil {
		return nil, err
	}
	text := in.buffer[in.start:in.end]
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') >= 0 {
		withLineFeeds(text)
		in.from = carriageReturns{in.from}
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	style.CRLF = bytes.HasSuffix(line, []byte("\r"))
	return in, nil
}

// carriageReturns reads a text whose lines end with CR as one whose lines end with LF.
type carriageReturns struct{ from io.Reader }

func (c carriageReturns) Read(to []byte) (int, error) {
	n, err := c.from.Read(to)
	withLineFeeds(to[:n])
	return n, err
}

func withLineFeeds(text []byte) {
	for i, c := range text {
		if c == '\r' {
			text[i] = '\n'
		}
	}
}

// checkText rejects what is not text.
func checkText(text []byte) error {
	if bytes.IndexByte(text, 0) < 0 {
		return nil
	}
	e := &sheets.Error{Kind: sheets.ErrEncoding, Detail: "it contains zero bytes, as binary files do",
		Advice: "check the file's format"}
	give := func(detail, option, value string) {
		e.Detail, e.Advice = detail, ""
		e.Hints = []options.Hint{{Before: "give ", Option: option, Value: []string{value}}}
	}
	if format := sniff(text); format != "" {
		give("it looks like "+formatName[format], "Format", format[1:])
	} else if bytes.HasPrefix(text, []byte(oleMagic)) {
		e.Detail, e.Advice = "it looks like an old Excel workbook", hints[".xls"]
	} else if len(text) > 3 && text[0] != 0 && text[1] == 0 && text[3] == 0 {
		give("it looks like UTF-16", "Encoding", "utf-16le")
	} else if len(text) > 3 && text[1] != 0 && text[0] == 0 && text[2] == 0 {
		give("it looks like UTF-16", "Encoding", "utf-16be")
	}
	return e
}

// next returns the next record, whose end the function finds: the index of its line feed in the text, or -1 if it is
// beyond the text. The last record needs no line feed. After it comes io.EOF.
func (in *input) next(end func(text []byte) int) (cells.Record, error) {
	for {
		text := in.buffer[in.start:in.end]
		if n := end(text); n >= 0 {
			in.start += n + 1
			return in.take(text[:n]), nil
		}
		if in.done {
			if len(text) == 0 {
				return cells.Record{}, io.EOF
			}
			in.start = in.end
			return in.take(text), nil
		}
		if err := in.fill(); err != nil {
			return cells.Record{}, err
		}
	}
}

func (in *input) take(text []byte) cells.Record {
	r := cells.Record{Text: bytes.TrimSuffix(text, []byte("\r")), Line: in.line}
	in.line += 1 + bytes.Count(text, []byte("\n"))
	return r
}

// fill reads until the buffer is full, and enlarges it first if the current record takes up most of it. The search
// for the end of a record, which starts over each time, so stays linear overall.
func (in *input) fill() error {
	rest := in.buffer[in.start:in.end]
	if len(rest) > maxRecord {
		return &sheets.Error{Line: in.line, Kind: sheets.ErrTooLong, Detail: fmt.Sprintf("over %d MiB", maxRecord>>20),
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

// read is io.ReadFull except at the end of the file, where io.ReadFull returns
// the same error as a truncated gzip stream.
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
		if at := (*sheets.Error)(nil); errors.As(err, &at) {
			return &sheets.Error{Line: in.line, Kind: at.Kind, Detail: at.Detail, Advice: at.Advice, Hints: at.Hints}
		}
		if err != nil {
			return &sheets.Error{Line: in.line, Kind: sheets.ErrRead, Cause: err, Advice: "check that the file is complete"}
		}
	}
	return nil
}
